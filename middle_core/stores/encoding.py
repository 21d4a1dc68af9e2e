"""What every adapter does with runs and events before it stores them: check, encode, and say which must reach the disk at once.

Pure. Knows no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from middle_core.eventlog.lifecycle import check_run_move
from middle_core.eventlog.records import Ending, NewRun, RunStatus
from middle_core.events import TERMINAL, Event, EventType, ThreadId

ATTEMPT_GAP: Final = 1_000
"""A new attempt's first seq lies this far beyond the last one: beyond anything a client can have seen."""

READ_BYTES: Final = 1024 * 1024
"""Read at once, about: a follower holds what was read until its client has taken it."""

KEPT_AT_ONCE: Final = frozenset({EventType.TEXT_MESSAGE_END, EventType.TOOL_CALL_END, EventType.TOOL_CALL_RESULT})
"""Events that wait for the disk before anybody sees them, as a run's start and end do. A delta does not: waiting for the disk
would cost each first token some milliseconds, and the next of these takes it along."""

Encoded = Sequence[tuple[str, bytes]]
"""Type and UTF-8 JSON of each event."""


def encode_first(events: Sequence[Event]) -> Encoded:
    """The first events of a run. Raises ValueError where they are none, or end the run."""
    encoded = _encode(events)
    if not encoded or any(type_ in TERMINAL for type_, _ in encoded):
        raise ValueError("A run starts with RUN_STARTED and does not end in the same breath.")
    return encoded


def run_row(new: NewRun, *, thread_id: ThreadId, token: str, last_seq: int) -> dict[str, Any]:
    """The parameters of each adapter's statement `insert_run`.

    Args:
        new: the run.
        thread_id: of its thread. A thread that its owner has already keeps its id, whatever `new.thread_id` says.
        token: of the claim.
        last_seq: the seq of the last of the run's first events.
    """
    return {
        "run_id": new.run_id,
        "thread_id": thread_id,
        "client_run_id": new.client_run_id,
        "input_digest": new.input_digest,
        "idempotency_key": new.idempotency_key,
        "agent": new.agent,
        "parent_run_id": new.parent_run_id,
        "replica": new.replica,
        "token": token,
        "lease_ms": round(new.lease_s * 1000),
        "last_seq": last_seq,
        "input": new.input,
    }


def encode(events: Sequence[Event], ending: Ending | None) -> Encoded:
    """Events to append. Raises ValueError unless they end the run exactly where `ending` says so, `IllegalMove` for a status that is no end."""
    encoded = _encode(events)
    ends = [index for index, (type_, _) in enumerate(encoded) if type_ in TERMINAL]
    if ends != ([] if ending is None else [len(encoded) - 1]):
        raise ValueError("A run ends with one terminal event, the last one, together with its ending.")
    if ending is not None:
        check_run_move(RunStatus.RUNNING, ending.status)
    return encoded


def waits_for_disk(encoded: Encoded, ending: Ending | None) -> bool:
    """Whether the append must have reached the disk before it returns."""
    return ending is not None or any(type_ in KEPT_AT_ONCE for type_, _ in encoded)


def usage_text(ending: Ending) -> str | None:
    """The usage as the database keeps it."""
    return None if ending.usage is None else orjson.dumps(list(ending.usage)).decode()


def _encode(events: Sequence[Event]) -> Encoded:
    # Copied: what orjson 3.13 returns occupies at least 4 kB, however short it is, and these bytes stay in memory.
    return [(str(event["type"]), memoryview(orjson.dumps(event)).tobytes()) for event in events]
