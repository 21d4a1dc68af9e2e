"""The AG-UI projection: a log record as the SSE frame that one kind of client can parse.

The log holds AG-UI 1.x. An older client ends its run at the first event or field that it does not know. So each profile says
what a line of clients can parse, and only the rest is removed. A terminal event is never dropped. Pure: records in, bytes out;
no request, no connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from middle_core.events import Event, EventType, Outcome, Record
from middle_core.transports.sse.frames import encode_frame


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """What one line of AG-UI clients can parse.

    Args:
        event_types: events of other types are dropped.
        outcomes: other types of `RUN_FINISHED.outcome` are removed.
        keeps_expiry: whether an interrupt's `expiresAt` does no harm.
    """

    event_types: frozenset[str]
    outcomes: frozenset[str]
    keeps_expiry: bool


_SINCE_0_0_59: Final = frozenset(
    [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "MESSAGES_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
        "CUSTOM",
        "RUN_STARTED",
        "RUN_FINISHED",
        "RUN_ERROR",
        "STEP_STARTED",
        "STEP_FINISHED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "REASONING_ENCRYPTED_VALUE",
    ]
)
"""A list of its own, so that a type that the log gets later does not reach an old browser."""

CLIENT_1_0: Final = ClientProfile(
    event_types=frozenset(EventType), outcomes=frozenset({"success", Outcome.INTERRUPT, Outcome.CANCELLED}), keeps_expiry=True
)
"""Clients of AG-UI 1.x."""

CLIENT_0_0_59: Final = ClientProfile(
    event_types=_SINCE_0_0_59,
    # `cancelled` fails to parse and the text of the run is lost with it.
    outcomes=frozenset({"success", Outcome.INTERRUPT}),
    # A past `expiresAt` makes every further run of the thread throw before it is sent.
    keeps_expiry=False,
)
"""@ag-ui/client 0.0.59, which the browser's CopilotKit 1.7x carries."""


def frames(record: Record, profile: ClientProfile = CLIENT_0_0_59) -> bytes:
    """The record's frame with its cursor as `id:`, or b"" if the client does not know the event.

    If the client does not know the outcome `cancelled`, a cancelled run ends plainly with `result: {"status": "cancelled"}`.
    The CUSTOM `middle_core.run_cancelled` before it says who cancelled it, and why.
    """
    if record.type not in profile.event_types:
        return b""
    data = record.data
    if record.type == EventType.RUN_FINISHED:
        data = orjson.dumps(_finished(record.event, profile))
    return encode_frame(data, id=record.cursor)


def synthetic(event: Event, profile: ClientProfile = CLIENT_0_0_59) -> bytes:
    """The frame of an event that is not in the log (a snapshot at connect, its closing events): the same projection, without an id."""
    if event["type"] not in profile.event_types:
        return b""
    if event["type"] == EventType.RUN_FINISHED:
        event = _finished(event, profile)
    return encode_frame(orjson.dumps(event))


def _finished(event: Event, profile: ClientProfile) -> Event:
    """A copy of the event without what the client cannot parse."""
    outcome = event.get("outcome")
    if not isinstance(outcome, dict):
        return event
    if outcome.get("type") not in profile.outcomes:
        plain = {key: value for key, value in event.items() if key != "outcome"}
        return plain | {"result": {"status": Outcome.CANCELLED.value}} if outcome.get("type") == Outcome.CANCELLED else plain
    if profile.keeps_expiry or "interrupts" not in outcome:
        return event
    interrupts = [{key: value for key, value in one.items() if key != "expiresAt"} for one in outcome["interrupts"]]
    return event | {"outcome": outcome | {"interrupts": interrupts}}
