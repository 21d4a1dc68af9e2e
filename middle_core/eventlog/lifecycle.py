"""Where a run, a tool call and a question may go from where they stand: one table each; an illegal move raises.

It stands beside the log because the log enforces it: state and event commit together. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from middle_core.eventlog.interrupts import InterruptStatus
from middle_core.eventlog.records import RunStatus, ToolCallStatus

RUN_MOVES: Final[Mapping[RunStatus, frozenset[RunStatus]]] = {
    RunStatus.RUNNING: frozenset({RunStatus.FINISHED, RunStatus.INTERRUPTED, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.FINISHED: frozenset(),
    RunStatus.INTERRUPTED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.FAILED: frozenset(),
}
"""An interrupted run is over: its answer is a new run, whose parent it is."""

TOOL_MOVES: Final[Mapping[ToolCallStatus, frozenset[ToolCallStatus]]] = {
    ToolCallStatus.RUNNING: frozenset({ToolCallStatus.PAUSED, ToolCallStatus.DONE, ToolCallStatus.FAILED}),
    ToolCallStatus.PAUSED: frozenset({ToolCallStatus.RUNNING, ToolCallStatus.FAILED}),
    ToolCallStatus.DONE: frozenset(),
    ToolCallStatus.FAILED: frozenset(),
}
"""A paused call stopped at an interrupt: its resume runs it again, or its question is withdrawn and it failed."""

INTERRUPT_MOVES: Final[Mapping[InterruptStatus, frozenset[InterruptStatus]]] = {
    InterruptStatus.PENDING: frozenset(
        {
            InterruptStatus.ANSWERED,
            InterruptStatus.APPROVED,
            InterruptStatus.EDITED,
            InterruptStatus.REJECTED,
            InterruptStatus.WITHDRAWN,
            InterruptStatus.EXPIRED,
        }
    ),
    InterruptStatus.APPROVED: frozenset({InterruptStatus.EXECUTING, InterruptStatus.WITHDRAWN, InterruptStatus.EXPIRED}),
    InterruptStatus.EDITED: frozenset({InterruptStatus.EXECUTING, InterruptStatus.WITHDRAWN, InterruptStatus.EXPIRED}),
    InterruptStatus.EXECUTING: frozenset({InterruptStatus.EXECUTED, InterruptStatus.INDETERMINATE}),
    InterruptStatus.INDETERMINATE: frozenset({InterruptStatus.EXECUTING}),
    InterruptStatus.ANSWERED: frozenset(),
    InterruptStatus.REJECTED: frozenset(),
    InterruptStatus.WITHDRAWN: frozenset(),
    InterruptStatus.EXPIRED: frozenset(),
    InterruptStatus.EXECUTED: frozenset(),
}
"""Approved and not begun: it can still be taken back, and its time can still end. An action whose outcome is unknown may be
tried again, under the key of the first try."""


class IllegalMove(Exception):
    """A state was asked to go where its table has no way: a fault of the caller."""


def check_run_move(before: RunStatus, after: RunStatus) -> None:
    """Raise `IllegalMove` unless a run may go from `before` to `after`."""
    if after not in RUN_MOVES[before]:
        raise IllegalMove(f"A run cannot go from {before} to {after}.")


def check_tool_move(before: ToolCallStatus, after: ToolCallStatus) -> None:
    """Raise `IllegalMove` unless a tool call may go from `before` to `after`."""
    if after not in TOOL_MOVES[before]:
        raise IllegalMove(f"A tool call cannot go from {before} to {after}.")


def check_interrupt_move(before: InterruptStatus, after: InterruptStatus) -> None:
    """Raise `IllegalMove` unless a question may go from `before` to `after`."""
    if after not in INTERRUPT_MOVES[before]:
        raise IllegalMove(f"A question cannot go from {before} to {after}.")
