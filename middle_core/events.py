"""The vocabulary: ids, the record, and every event name that may stand in the log.

AG-UI 1.x is the vocabulary (https://docs.ag-ui.com/concepts/events). What AG-UI lacks is a CUSTOM
event whose name is listed here and nowhere else. An event is a plain JSON object with AG-UI's
camelCase keys (`dict[str, Any]`); it is encoded once, when it enters the log.

This module knows no transport, no database and no agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NewType, cast

import orjson

RunId = NewType("RunId", str)
"""Ours: a UUIDv7 as text. What a client calls `runId` is a `ClientRunId`."""
ClientRunId = NewType("ClientRunId", str)
ThreadId = NewType("ThreadId", str)
"""Ours: a UUID as text, used for checkpoints. What a client calls `threadId` is a `ClientThreadId`."""
ClientThreadId = NewType("ClientThreadId", str)
Owner = NewType("Owner", str)
"""Issuer and subject of a verified token, joined; see `auth.principal`."""

Event = dict[str, Any]


class EventType(StrEnum):
    """The AG-UI event types that may stand in the log."""

    RUN_STARTED = "RUN_STARTED"
    RUN_FINISHED = "RUN_FINISHED"
    RUN_ERROR = "RUN_ERROR"
    STEP_STARTED = "STEP_STARTED"
    STEP_FINISHED = "STEP_FINISHED"
    TEXT_MESSAGE_START = "TEXT_MESSAGE_START"
    TEXT_MESSAGE_CONTENT = "TEXT_MESSAGE_CONTENT"
    TEXT_MESSAGE_END = "TEXT_MESSAGE_END"
    TOOL_CALL_START = "TOOL_CALL_START"
    TOOL_CALL_ARGS = "TOOL_CALL_ARGS"
    TOOL_CALL_END = "TOOL_CALL_END"
    TOOL_CALL_RESULT = "TOOL_CALL_RESULT"
    STATE_SNAPSHOT = "STATE_SNAPSHOT"
    STATE_DELTA = "STATE_DELTA"
    MESSAGES_SNAPSHOT = "MESSAGES_SNAPSHOT"
    ACTIVITY_SNAPSHOT = "ACTIVITY_SNAPSHOT"
    ACTIVITY_DELTA = "ACTIVITY_DELTA"
    REASONING_START = "REASONING_START"
    REASONING_MESSAGE_START = "REASONING_MESSAGE_START"
    REASONING_MESSAGE_CONTENT = "REASONING_MESSAGE_CONTENT"
    REASONING_MESSAGE_END = "REASONING_MESSAGE_END"
    REASONING_END = "REASONING_END"
    REASONING_ENCRYPTED_VALUE = "REASONING_ENCRYPTED_VALUE"
    CUSTOM = "CUSTOM"


TERMINAL: Final = frozenset({EventType.RUN_FINISHED, EventType.RUN_ERROR})
"""Exactly one of these ends a run in the log, and nothing follows it."""


class Custom(StrEnum):
    """Our CUSTOM names. The model of each value is in `contract.custom`; docs/http-api.md says when each is sent."""

    RUN = "middle_core.run"
    TURN = "middle_core.turn"
    TOPOLOGY = "middle_core.topology"
    NODE_STARTED = "middle_core.node_started"
    NODE_COMPLETED = "middle_core.node_completed"
    ATTEMPT = "middle_core.attempt"
    GAP = "middle_core.gap"
    RUN_CANCELLED = "middle_core.run_cancelled"
    REATTACH = "middle_core.reattach"
    INTERRUPT_RESOLVED = "middle_core.interrupt_resolved"
    WAITING = "middle_core.waiting"
    REFUSED = "middle_core.refused"
    STATE_IGNORED = "middle_core.state_ignored"
    CUT_OFF = "middle_core.cut_off"
    CHUNK = "middle_core.chunk"
    OMITTED = "middle_core.omitted"
    PROGRESS = "middle_core.progress"


QUESTION_ACTIVITY: Final = "middle_core.question"
"""`activityType` of a graph's own question that is over. The model of its content is `contract.cards.QuestionOver`."""

OUTCOME: Final = "middleCoreOutcome"
"""Where the outcome of a tool call stands in `metadata` of its result: in TOOL_CALL_RESULT, in snapshots, and in the thread's own
message. The model of it is `contract.outcomes.CallOutcome`."""


class ToolOutcome(StrEnum):
    """What became of a tool call."""

    DONE = "done"
    """The tool returned."""
    FAILED = "failed"
    """It ran and could not do its work."""
    REFUSED = "refused"
    """Somebody said no: a role is missing, or the person rejected it. Nothing was done."""
    NOT_RUN = "not_run"
    """It was never begun: it was cut off, invalid, unknown, or nobody waits for it any more."""
    CANCELLED = "cancelled"
    """The run ended before it was begun."""
    UNKNOWN = "unknown"
    """It was begun and cut off, so it may have taken effect."""


def custom(name: Custom, **value: Any) -> Event:
    """A CUSTOM event of ours."""
    return {"type": EventType.CUSTOM.value, "name": name.value, "value": value}


class Outcome(StrEnum):
    """`outcome.type` of RUN_FINISHED in the log. Absent means success.

    `cancelled` is ours: @ag-ui/client 0.0.59 rejects it, so `transports.agui.frames` downgrades it.
    """

    INTERRUPT = "interrupt"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Record:
    """One event at its place in a run's log.

    seq: from 1, dense within an attempt. at: milliseconds since the epoch, database clock.
    data: the event as UTF-8 JSON, encoded once; every transport sends these bytes or a projection.
    """

    run_id: RunId
    seq: int
    attempt: int
    at: int
    type: str
    data: bytes

    @property
    def event(self) -> Event:
        """The event, decoded anew at each call."""
        return cast("Event", orjson.loads(self.data))

    @property
    def cursor(self) -> str:
        """What a client sends back as `Last-Event-ID`."""
        return f"{self.run_id}:{self.seq}"

    @property
    def terminal(self) -> bool:
        """Whether the run ends with this record."""
        return self.type in TERMINAL
