"""The grammar of a legal AG-UI run, as one table: which move a thing may make in which state, and what repairs it.

Things are text messages, tool calls, reasoning blocks with their messages, and steps. Pure data:
`agui.gate` acts on it. Events that stand alone (results, snapshots, CUSTOM) have no state and no row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from middle_core.agui.jsonable import text
from middle_core.events import EventType as T


class Malformed(Exception):
    """An event beyond repair. The text names the field and the type found, never a value."""


def string(event: Mapping[str, Any], key: str) -> str:
    """A field that must be a string, with every code point encodable. Raises `Malformed`."""
    return text(raw_string(event, key))


def raw_string(event: Mapping[str, Any], key: str) -> str:
    """A field that must be a string, as it came. Raises `Malformed`."""
    value = event.get(key)
    if not isinstance(value, str):
        raise Malformed(f"{event['type']}.{key} is a {type(value).__name__}, not a string")
    return str.__str__(value)


class Move(Enum):
    """What an event does to the thing it names."""

    START = "start"
    PART = "part"
    END = "end"


class State(Enum):
    """Where the thing stands when the event comes. STARTED: open and still empty."""

    ABSENT = "absent"
    STARTED = "started"
    FILLED = "filled"
    ENDED = "ended"


class Act(Enum):
    """What the gate does."""

    GO_ON = "pass it"
    OPEN = "open it first, then pass"
    RESTART = "end it, open it anew under a unique id, then pass"
    DROP = "drop the event, count it"
    NEST = "count one level deeper, drop the event"


@dataclass(frozen=True, eq=False)
class Kind:
    """A thing with a beginning and an end."""

    name: str
    key: str
    start: T
    end: T
    part: T | None = None
    space: str = "message"


TEXT = Kind("text", "messageId", T.TEXT_MESSAGE_START, T.TEXT_MESSAGE_END, T.TEXT_MESSAGE_CONTENT)
CALL = Kind("call", "toolCallId", T.TOOL_CALL_START, T.TOOL_CALL_END, T.TOOL_CALL_ARGS, space="call")
THOUGHT = Kind("thought", "messageId", T.REASONING_MESSAGE_START, T.REASONING_MESSAGE_END, T.REASONING_MESSAGE_CONTENT)
REASONING = Kind("reasoning", "messageId", T.REASONING_START, T.REASONING_END, space="reasoning")
STEP = Kind("step", "stepName", T.STEP_STARTED, T.STEP_FINISHED, space="step")
KINDS: Final = (TEXT, CALL, THOUGHT, REASONING, STEP)

RULES: Final[dict[tuple[Move, State], Act]] = {
    (Move.START, State.ABSENT): Act.OPEN,
    (Move.START, State.STARTED): Act.DROP,  # said twice
    (Move.START, State.FILLED): Act.RESTART,  # two things under one id: providers repeat ids (ag-ui-protocol/ag-ui#1016)
    (Move.START, State.ENDED): Act.OPEN,
    (Move.PART, State.ABSENT): Act.OPEN,
    (Move.PART, State.STARTED): Act.GO_ON,
    (Move.PART, State.FILLED): Act.GO_ON,
    (Move.PART, State.ENDED): Act.OPEN,  # text is never lost
    (Move.END, State.ABSENT): Act.DROP,
    (Move.END, State.STARTED): Act.GO_ON,
    (Move.END, State.FILLED): Act.GO_ON,
    (Move.END, State.ENDED): Act.DROP,
}
EXCEPTIONS: Final[dict[tuple[Kind, Move, State], Act]] = {
    # Arguments that come after their call was complete would make a call that the model never made.
    (CALL, Move.PART, State.ENDED): Act.DROP,
    # A fan-out runs one node many times: the step lasts from the first start to the last end.
    (STEP, Move.START, State.STARTED): Act.NEST,
}
MOVES: Final[dict[str, tuple[Move, Kind]]] = {
    **{kind.start.value: (Move.START, kind) for kind in KINDS},
    **{kind.part.value: (Move.PART, kind) for kind in KINDS if kind.part},
    **{kind.end.value: (Move.END, kind) for kind in KINDS},
    # AG-UI's short forms: a part that may open its message. Not in the log's vocabulary, so they are spelt out.
    "TEXT_MESSAGE_CHUNK": (Move.PART, TEXT),
    "TOOL_CALL_CHUNK": (Move.PART, CALL),
    "REASONING_MESSAGE_CHUNK": (Move.PART, THOUGHT),
}
