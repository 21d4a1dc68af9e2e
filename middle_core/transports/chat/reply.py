"""What the assistant said and did in a turn, gathered event by event. Pure; knows AG-UI's message events and nothing of a graph.

A snapshot of the thread replaces what was streamed: where a graph rewrites its messages, the thread is the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from middle_core.contract.cards import CARD_TOOL
from middle_core.contract.outcomes import DONE, CallOutcome
from middle_core.events import OUTCOME, Custom, Event
from middle_core.node_api.outcomes import of_json
from middle_core.transports.chat.response import Citation, Part, Reply, TextPart, ToolCallPart, ToolResultPart

MAX_CHARS: Final = 2_000_000
"""Of all parts together; what is beyond is cut, and `truncated` says so."""
MAX_CITATIONS: Final = 200
EXCERPT_CHARS: Final = 300


@dataclass(slots=True)
class _Message:
    """role: assistant | tool. For a tool's message `call_id` is what it answers."""

    role: str
    call_id: str = ""
    text: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    outcome: CallOutcome = DONE


class ReplyBuilder:
    """Of one run: `feed` its events in order; `reply` is what they amount to so far."""

    def __init__(self) -> None:
        self._messages: dict[str, _Message] = {}
        self._names: dict[str, str] = {}
        self._arguments: dict[str, list[str]] = {}
        self._asked: set[str] = set()
        """Ids of the messages that the turn took in."""
        self._not_said: set[str] = set()
        """Ids of streamed messages that are not the assistant's, and of calls of the card tool."""

    def feed(self, event: Event) -> None:
        """Take in one event; those that are no message are nothing to it."""
        match event["type"]:
            case "TEXT_MESSAGE_CONTENT":
                self.said(event["messageId"], event["delta"])
            case "TEXT_MESSAGE_START":
                if event.get("role", "assistant") != "assistant":
                    self._not_said.add(event["messageId"])
                self.said(event["messageId"], "")
            case "TOOL_CALL_START":
                self._called(event.get("parentMessageId") or event["toolCallId"], event["toolCallId"], event["toolCallName"])
            case "TOOL_CALL_ARGS":
                self._arguments.get(event["toolCallId"], []).append(event["delta"])
            case "TOOL_CALL_RESULT":
                self._answered(event["messageId"], event)
            case "MESSAGES_SNAPSHOT":
                self._replace(event["messages"])
            case "CUSTOM" if event["name"] == Custom.TURN:
                self._asked.update(one["id"] for one in event["value"]["messages"])

    def said(self, message_id: str, delta: str) -> None:
        """A piece of a message's text."""
        message = self._messages.get(message_id)
        if message is not None:
            message.text.append(delta)
        elif message_id not in self._not_said:
            self._messages[message_id] = _Message("assistant", text=[delta])

    def is_said(self, message_id: str) -> bool:
        """Whether the message is the assistant's."""
        return message_id not in self._not_said

    def texts(self) -> list[TextPart]:
        """What the assistant has said so far, message by message."""
        return [one for one in _within(self._parts())[0] if isinstance(one, TextPart)]

    def reply(self, *, is_cut_off: bool = False) -> Reply | None:
        """None where nothing was said or done. is_cut_off: the model did not come to its end."""
        parts, truncated = _within(self._parts())
        if not parts:
            return None
        spoken = [one.message_id for one in parts if isinstance(one, TextPart)]
        return Reply(message_id=spoken[-1] if spoken else None, parts=parts, citations=self._citations(), truncated=truncated or is_cut_off)

    def _called(self, message_id: str, call_id: str, name: str) -> None:
        if name == CARD_TOOL:
            self._not_said.add(call_id)
            return
        self._messages.setdefault(message_id, _Message("assistant")).calls.append(call_id)
        self._names[call_id] = name
        self._arguments[call_id] = []

    def _answered(self, message_id: str, told: Mapping[str, Any]) -> None:
        """told: TOOL_CALL_RESULT, or a snapshot's message of role `tool`."""
        call_id = told["toolCallId"]
        if call_id not in self._not_said:
            outcome = of_json((told.get("metadata") or {}).get(OUTCOME)) or DONE  # a log of an older version tells none
            self._messages[message_id] = _Message("tool", call_id, [told["content"]], outcome=outcome)

    def _replace(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """The part of the thread that is this turn's: what stands behind the words it took in, or from its first message on."""
        known = [at for at, one in enumerate(messages) if one["id"] in self._messages]
        asked = [at for at, one in enumerate(messages) if one["id"] in self._asked]
        start = asked[-1] + 1 if asked else known[0] if known else len(messages)
        self._messages, self._names, self._arguments = {}, {}, {}
        for one in messages[start:]:
            if one["role"] == "assistant":
                if one.get("content"):
                    self.said(one["id"], one["content"])
                for call in one.get("toolCalls") or ():
                    self._called(one["id"], call["id"], call["function"]["name"])
                    if call["id"] in self._arguments:
                        self._arguments[call["id"]] = [call["function"]["arguments"]]
            elif one["role"] == "tool":
                self._answered(one["id"], one)

    def _parts(self) -> Iterator[Part]:
        for message_id, message in self._messages.items():
            text = "".join(message.text)
            if message.role == "tool":
                came_of_it = message.outcome
                yield ToolResultPart(
                    tool_call_id=message.call_id,
                    content=text,
                    outcome=came_of_it.outcome,
                    code=came_of_it.code,
                    message=came_of_it.message,
                )
                continue
            if text:
                yield TextPart(message_id=message_id, text=text)
            for call_id in message.calls:
                arguments = _object("".join(self._arguments[call_id]))
                yield ToolCallPart(tool_call_id=call_id, name=self._names[call_id], arguments=arguments)

    def _citations(self) -> list[Citation]:
        """Of every result that is a JSON object with `passages`, as `search_knowledge` gives it; each passage once."""
        found: dict[tuple[str, str, str], Citation] = {}
        for message in self._messages.values():
            if message.role == "tool":
                for one in _passages(message.call_id, "".join(message.text)):
                    found.setdefault((one.source, one.location, one.excerpt), one)
        return list(found.values())[:MAX_CITATIONS]


def _object(text: str) -> dict[str, Any] | str:
    try:
        found = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return text
    return found if isinstance(found, dict) else text


def _passages(call_id: str, text: str) -> Iterator[Citation]:
    result = _object(text)
    passages = result.get("passages") if isinstance(result, dict) else None
    for one in passages if isinstance(passages, list) else ():
        if isinstance(one, dict) and isinstance(one.get("title"), str):
            score = one.get("score")
            yield Citation(
                tool_call_id=call_id,
                source=str(one.get("source") or ""),
                title=one["title"],
                location=str(one.get("location") or ""),
                excerpt=str(one.get("text") or "")[:EXCERPT_CHARS],
                score=float(score) if isinstance(score, int | float) else None,
            )


def _within(parts: Iterator[Part]) -> tuple[list[Part], bool]:
    """As many characters as may be told; what is cut keeps its place."""
    room, kept, truncated = MAX_CHARS, list[Part](), False
    for part in parts:
        name = {"text": "text", "tool_call": "arguments", "tool_result": "content"}[part.type]
        whole = getattr(part, name)
        text = whole if isinstance(whole, str) else orjson.dumps(whole).decode()
        if len(text) > room:
            truncated = True
            kept.append(part.model_copy(update={name: text[:room]}))
        else:
            kept.append(part)
        room = max(0, room - len(text))
    return kept, truncated
