"""What a run's logged events amount to, message by message: for threads whose run did not end well.

Pure: events in, messages out. A run that was stopped, failed or lost has shown things that the checkpoint does
not hold; `AguiSource.settle` writes them there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from middle_core.events import Event


@dataclass(slots=True)
class PartialCall:
    """A tool call. closed: TOOL_CALL_END was seen, so the arguments are all there. result: its text, once known."""

    call_id: str
    name: str
    arguments: str = ""
    closed: bool = False
    result: str | None = None


@dataclass(slots=True)
class PartialMessage:
    """An assistant message. closed: its text ended, and every call in it is closed."""

    message_id: str
    text: str = ""
    text_closed: bool = True
    calls: list[PartialCall] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        """Whether the model was done with it."""
        return self.text_closed and all(one.closed for one in self.calls)


def fold(events: Iterable[Event]) -> list[PartialMessage]:
    """The assistant messages of a run, in order, with what became of their calls."""
    messages: dict[str, PartialMessage] = {}
    calls: dict[str, PartialCall] = {}
    texts: dict[str, list[str]] = {}
    arguments: dict[str, list[str]] = {}
    for event in events:
        match event.get("type"):
            case "TEXT_MESSAGE_START":
                message = messages.setdefault(event["messageId"], PartialMessage(event["messageId"]))
                message.text_closed = False
            case "TEXT_MESSAGE_CONTENT" if event["messageId"] in messages:
                texts.setdefault(event["messageId"], []).append(event["delta"])
            case "TEXT_MESSAGE_END" if event["messageId"] in messages:
                messages[event["messageId"]].text_closed = True
            case "TOOL_CALL_START":
                owner_id = event.get("parentMessageId") or event["toolCallId"]
                owner = messages.setdefault(owner_id, PartialMessage(owner_id))
                call = calls[event["toolCallId"]] = PartialCall(event["toolCallId"], event["toolCallName"])
                owner.calls.append(call)
            case "TOOL_CALL_ARGS" if event["toolCallId"] in calls:
                arguments.setdefault(event["toolCallId"], []).append(event["delta"])
            case "TOOL_CALL_END" if event["toolCallId"] in calls:
                calls[event["toolCallId"]].closed = True
            case "TOOL_CALL_RESULT" if event["toolCallId"] in calls:
                calls[event["toolCallId"]].result = event["content"]
            case _:
                continue
    for message_id, parts in texts.items():
        messages[message_id].text = "".join(parts)
    for call_id, parts in arguments.items():
        calls[call_id].arguments = "".join(parts)
    return list(messages.values())
