"""What a run's logged events amount to, message by message: for threads whose run did not end well.

Pure: events in, messages out. A run that was stopped, failed or lost has shown things that the checkpoint does
not hold; `GraphSource.settle` writes them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from middle_core.events import OUTCOME, Custom, Event

REASONING: Final = "-reasoning-"
"""Between the id of an answer and the number of a reasoning of it, in the id of that reasoning."""

_TEXT: Final = frozenset({"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"})
_CALL: Final = frozenset({"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"})


@dataclass(slots=True)
class PartialCall:
    """A tool call.

    Args:
        call_id: its id.
        name: the tool's.
        arguments: as far as they came, as JSON.
        closed: whether its end was seen, so that the arguments are all there.
        result: the text of its result; None before that is known.
        outcome: what became of it, as JSON; None before that is known.
    """

    call_id: str
    name: str
    arguments: str = ""
    closed: bool = False
    result: str | None = None
    outcome: Mapping[str, Any] | None = None


@dataclass(slots=True)
class PartialMessage:
    """An assistant message, or one of the person's.

    Args:
        message_id: its id.
        said: the person's message as it was sent; None for an assistant's.
        text: as far as it came.
        reasoning: what the model thought before it.
        text_closed: whether the text's end was seen, or there is no text.
        calls: the tool calls in it.
    """

    message_id: str
    said: Mapping[str, Any] | None = None
    text: str = ""
    reasoning: str = ""
    text_closed: bool = True
    calls: list[PartialCall] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        """Whether the model was done with it."""
        return self.text_closed and all(one.closed for one in self.calls)


def fold(events: Iterable[Event]) -> list[PartialMessage]:
    """The messages of a run, in order, with what became of the calls in them."""
    messages: dict[str, PartialMessage] = {}
    calls: dict[str, PartialCall] = {}
    deltas: dict[str, list[str]] = {}
    for event in events:
        kind = str(event.get("type"))
        if kind in _TEXT:
            _text(event, messages, deltas)
        elif kind in _CALL:
            _call(event, messages, calls, deltas)
        elif kind == "REASONING_MESSAGE_CONTENT":
            owner_id = event["messageId"].rpartition(REASONING)[0] or event["messageId"]
            messages.setdefault(owner_id, PartialMessage(owner_id))
            deltas.setdefault(f"reasoning {owner_id}", []).append(event["delta"])
        elif kind == "CUSTOM" and event.get("name") == Custom.TURN:
            for said in event["value"]["messages"]:
                messages.setdefault(said["id"], PartialMessage(said["id"], said=said))
        elif kind == "CUSTOM" and event.get("name") == Custom.ATTEMPT:
            # What the attempt before had finished stands in the checkpoint. What it had begun is said anew.
            messages = {one.message_id: one for one in messages.values() if one.said is not None}
            calls.clear()
            deltas.clear()
    for message_id, message in messages.items():
        message.text = "".join(deltas.get(f"text {message_id}", ()))
        message.reasoning = "".join(deltas.get(f"reasoning {message_id}", ()))
    for call_id, call in calls.items():
        call.arguments = "".join(deltas.get(f"call {call_id}", ()))
    return list(messages.values())


def _text(event: Event, messages: dict[str, PartialMessage], deltas: dict[str, list[str]]) -> None:
    message_id = event["messageId"]
    if event["type"] == "TEXT_MESSAGE_START":
        messages.setdefault(message_id, PartialMessage(message_id)).text_closed = False
    elif message_id in messages and event["type"] == "TEXT_MESSAGE_CONTENT":
        deltas.setdefault(f"text {message_id}", []).append(event["delta"])
    elif message_id in messages:
        messages[message_id].text_closed = True


def _call(event: Event, messages: dict[str, PartialMessage], calls: dict[str, PartialCall], deltas: dict[str, list[str]]) -> None:
    call_id = event["toolCallId"]
    if event["type"] == "TOOL_CALL_START":
        owner_id = event.get("parentMessageId") or call_id
        owner = messages.setdefault(owner_id, PartialMessage(owner_id))
        call = calls[call_id] = PartialCall(call_id, event["toolCallName"])
        owner.calls.append(call)
    elif (known := calls.get(call_id)) is None:
        return  # called in an earlier run
    elif event["type"] == "TOOL_CALL_ARGS":
        deltas.setdefault(f"call {call_id}", []).append(event["delta"])
    elif event["type"] == "TOOL_CALL_END":
        known.closed = True
    else:
        known.result = event["content"]
        known.outcome = (event.get("metadata") or {}).get(OUTCOME)
