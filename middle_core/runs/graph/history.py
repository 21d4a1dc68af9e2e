"""A thread's messages as the client sees them, and what a stream has shown of them.

`history` turns the graph's messages into AG-UI messages with the ids that were streamed. `Shown` is what a client has made of a run's
events. Where the two differ at the end of a run, a snapshot is due. System messages are the server's prompts, so no client gets them.
Knows messages by duck typing, and neither graphs nor the SDK.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from middle_core.agui.fold import REASONING
from middle_core.agui.jsonable import TooBig, jsonable
from middle_core.events import Event
from middle_core.models.finish_reasons import CUT, Ending, ending_of
from middle_core.node_api.outcomes import metadata, outcome_of
from middle_core.runs.graph.content import pieces, tool_text

STOPPED: Final = "stopped"
"""The key under which a message that was cut short is marked: in the graph's response_metadata and in the client's `metadata`."""
INTERRUPTED: Final = "interrupted"
"""The value under STOPPED where nobody stopped it: the run failed, or its server went away. The client gets this key as well."""

CUT_OFF: Final = "cutOff"
"""The key in the client's `metadata` of an answer that is not whole."""

_MAX_ARGUMENTS: Final = 1_000_000

Message = dict[str, Any]


def history(messages: Iterable[Any], user_parts: Callable[[Any], Any]) -> list[Message]:
    """The messages as AG-UI has them.

    Args:
        messages: LangChain's.
        user_parts: turns a user message whose content is a list into AG-UI's parts.
    """
    shown: list[Message] = []
    asked = False
    for message in messages:
        match getattr(message, "type", None):
            case "human":
                content = message.content if isinstance(message.content, str) else user_parts(message)
                shown.append({"id": str(message.id), "role": "user", "content": content})
            case "ai" | "AIMessageChunk":
                shown.extend(_assistant(message, asked=asked))
            case "tool":
                shown.append(_tool(message))
            case _:
                continue
        asked = message.type == "human"
    return shown


def _assistant(message: Any, *, asked: bool) -> list[Message]:
    message_id = str(message.id)
    text = ""
    reasonings: list[Message] = []
    within: Any = None
    thinking = False
    for piece in pieces(message.content, message.additional_kwargs):
        if piece.kind == "text":
            text += piece.text
            thinking = False
            continue
        if not thinking:
            reasonings.append({"id": f"{message_id}{REASONING}{len(reasonings)}", "role": "reasoning", "content": ""})
            thinking, within = True, piece.part
        if piece.kind == "encrypted":
            reasonings[-1]["encryptedValue"] = piece.text
        else:
            reasonings[-1]["content"] += piece.text if piece.part == within else f"\n\n{piece.text}"
            within = piece.part
    calls = [
        {
            "id": str(one.get("id")),
            "type": "function",
            "function": {"name": one.get("name") or "tool", "arguments": _arguments(one.get("args"))},
        }
        for one in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    reason = None if calls else _cut_off(message, is_empty=asked and not text)  # a call tells itself that it was cut
    if not text and not calls and not reason:
        return reasonings
    shown: Message = {"id": message_id, "role": "assistant"}
    if text or reason:
        shown["content"] = text
    if calls:
        shown["toolCalls"] = calls
    if message.response_metadata.get(STOPPED):
        shown["metadata"] = {STOPPED: True, **({INTERRUPTED: True} if message.response_metadata[STOPPED] == INTERRUPTED else {})}
    elif reason:
        shown["metadata"] = {CUT_OFF: reason}
    return [*reasonings, shown]


def _cut_off(message: Any, *, is_empty: bool) -> str | None:
    """Why the answer is not whole, as a `CutOffReason`. is_empty: it is the answer to a person, and has no text."""
    ending = ending_of(message.response_metadata)
    if ending in CUT:
        return ending.value
    return "empty" if is_empty and message.response_metadata and ending is Ending.DONE else None


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments or {}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        pass  # a graph may put anything there; below it is made to fit
    try:
        return json.dumps(jsonable(arguments, budget=_MAX_ARGUMENTS), ensure_ascii=False)
    except TooBig:
        return "{}"


def _tool(message: Any) -> Message:
    outcome = outcome_of(message)
    shown: Message = {"id": str(message.id), "role": "tool", "toolCallId": str(message.tool_call_id), "content": tool_text(message.content)}
    if message.status == "error":
        shown["error"] = outcome.message or "error"
    return {**shown, "metadata": metadata(outcome)}


class Shown:
    """The messages that a client has after a run's events, as @ag-ui/client folds them."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[str, list[str]] = {}
        self._owners: dict[str, Message] = {}

    def feed(self, event: Event) -> None:
        """Take in one event; those that are no message are nothing to it."""
        match event["type"]:
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                self._texts[event["messageId"]].append(event["delta"])
            case "TEXT_MESSAGE_START":
                self._open(event["messageId"], "assistant")
            case "REASONING_MESSAGE_START":
                self._open(event["messageId"], "reasoning")
            case "REASONING_ENCRYPTED_VALUE":
                self._messages[event["entityId"]]["encryptedValue"] = event["encryptedValue"]
            case "TOOL_CALL_START":
                self._start_call(event)
            case "TOOL_CALL_ARGS":
                self._calls[event["toolCallId"]].append(event["delta"])
            case "TOOL_CALL_RESULT":
                message_id = event["messageId"]
                result: Message = {"id": message_id, "role": "tool", "toolCallId": event["toolCallId"], "content": event["content"]}
                if (told := event.get("metadata")) is not None:
                    result["metadata"] = told
                self._messages[message_id] = result
            case _:
                return

    def _open(self, message_id: str, role: str) -> Message:
        self._texts.setdefault(message_id, [])
        return self._messages.setdefault(message_id, {"id": message_id, "role": role})

    def _start_call(self, event: Event) -> None:
        call_id = event["toolCallId"]
        owner = self._open(event.get("parentMessageId") or call_id, "assistant")
        self._calls[call_id] = []
        owner.setdefault("toolCalls", []).append({"id": call_id, "type": "function", "function": {"name": event["toolCallName"]}})

    def messages(self) -> list[Message]:
        """The folded messages, in the order of their first event."""
        folded = []
        for message_id, message in self._messages.items():
            whole = dict(message)
            if text := "".join(self._texts.get(message_id, ())):
                whole["content"] = text
            if calls := message.get("toolCalls"):
                whole["toolCalls"] = [
                    {**one, "function": {"name": one["function"]["name"], "arguments": "".join(self._calls[one["id"]])}} for one in calls
                ]
            folded.append(whole)
        return folded


def same(shown: Sequence[Message], stored: Sequence[Message]) -> bool:
    """Whether a client that has `shown` would see anything else in `stored`."""
    return len(shown) == len(stored) and all(_essence(one) == _essence(other) for one, other in zip(shown, stored, strict=True))


def _essence(message: Mapping[str, Any]) -> tuple[Any, ...]:
    calls = [(one["id"], one["function"]["name"], _parsed(one["function"]["arguments"])) for one in message.get("toolCalls") or ()]
    return (
        message["id"],
        message["role"],
        message.get("content") or "",
        message.get("toolCallId"),
        message.get("encryptedValue"),
        message.get("metadata"),
        sorted(calls, key=lambda call: str(call[0])),
    )


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments
