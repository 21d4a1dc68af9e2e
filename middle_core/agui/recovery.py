"""What another attempt of a run finds in the log: what is to be closed, what the run took in, and from where on its text is void.

Pure: records in, events out. Knows no checkpoint but the ids of the messages in it, and no agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from middle_core.events import Custom, Event, Record, custom

_STARTS: Final = frozenset({"TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT"})


@dataclass(frozen=True, slots=True)
class Recovered:
    """The attempts before this one, as the log has them.

    Args:
        nodes: the ends of the nodes that they left at work.
        said: the messages that the run took in; None where it died before it wrote that down.
        discard_after_seq: what stands behind it in the log is not in the checkpoint, so the next attempt says it anew.
    """

    nodes: Sequence[Event]
    said: Sequence[Event] | None
    discard_after_seq: int


def recover(records: Iterable[Record], *, kept: Collection[str]) -> Recovered:
    """Read the log of the attempts before this one.

    Args:
        records: of the run, from its first one.
        kept: ids of the messages that the checkpoint holds.
    """
    said: Sequence[Event] | None = None
    void: int | None = None
    last = 0
    nodes: dict[str, dict[str, Any]] = {}
    for record in records:
        event, last = record.event, record.seq
        if void is None and event["type"] in _STARTS and _message_of(event) not in kept:
            void = record.seq - 1
        if event["type"] != "CUSTOM":
            continue
        match event["name"]:
            case Custom.TURN:
                said = event["value"]["messages"]
            case Custom.NODE_STARTED:
                nodes[event["value"]["taskId"]] = event["value"]
            case Custom.NODE_COMPLETED:
                nodes.pop(event["value"]["taskId"], None)
            case Custom.ATTEMPT:
                void = None  # it was declared by that attempt
    ends = [custom(Custom.NODE_COMPLETED, **value, latencyMs=0, outcome="cancelled") for value in reversed(nodes.values())]
    return Recovered(ends, said, last if void is None else void)


def boundary(recovered: Recovered, *, attempt: int, reason: str, messages: Sequence[Event], state: Event) -> list[Event]:
    """What follows the ends of the attempt before: CUSTOM `middle_core.attempt`, and the thread as it stands.

    Args:
        recovered: see `Recovered`.
        attempt: the number of the attempt that begins.
        reason: for people.
        messages: the thread's messages, those that the run took in included.
        state: what the client may see of the graph's state.
    """
    told = [custom(Custom.ATTEMPT, attempt=attempt, reason=reason, discardAfterSeq=recovered.discard_after_seq)]
    if state:
        told.append({"type": "STATE_SNAPSHOT", "snapshot": state})
    return [*told, {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}]


def _message_of(event: Event) -> str:
    """The id under which the thread knows what this event begins: the message itself, or the one that makes the call."""
    return str(event.get("parentMessageId") or event.get("messageId") or event.get("toolCallId"))
