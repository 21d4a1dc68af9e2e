"""Where a run and a tool call may go from where they stand: one table each; an illegal move raises.

It stands beside the log because the log enforces it: state and event commit together. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from middle_core.eventlog.base import RunStatus

RUN_MOVES: Final[Mapping[RunStatus, frozenset[RunStatus]]] = {
    RunStatus.RUNNING: frozenset({RunStatus.FINISHED, RunStatus.INTERRUPTED, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.FINISHED: frozenset(),
    RunStatus.INTERRUPTED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.FAILED: frozenset(),
}
"""An interrupted run is over: its answer is a new run, whose parent it is."""

TOOL_MOVES: Final[Mapping[str, frozenset[str]]] = {
    "running": frozenset({"paused", "done", "failed"}),
    "paused": frozenset({"running", "failed"}),
    "done": frozenset(),
    "failed": frozenset(),
}
"""A paused call stopped at an interrupt: its resume runs it again, or its question is withdrawn and it failed."""


class IllegalMove(Exception):
    """A state was asked to go where its table has no way: a fault of the caller."""


def check_run_move(before: RunStatus, after: RunStatus) -> None:
    """Raise `IllegalMove` unless a run may go from `before` to `after`."""
    if after not in RUN_MOVES[before]:
        raise IllegalMove(f"A run cannot go from {before} to {after}.")


def check_tool_move(before: str, after: str) -> None:
    """Raise `IllegalMove` unless a tool call may go from `before` to `after`."""
    if after not in TOOL_MOVES[before]:
        raise IllegalMove(f"A tool call cannot go from {before} to {after}.")
