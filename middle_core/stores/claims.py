"""The claim under which the code of a run writes checkpoints, for the savers of all adapters.

A saver is called from inside of a graph and gets no claim from LangGraph, so whoever opens a store says how the current claim is found.
Knows no database and no run.
"""

from __future__ import annotations

from collections.abc import Callable

from middle_core.errors import Unclaimed
from middle_core.eventlog.records import Claim

ClaimSource = Callable[[], Claim | None]
"""Gives the claim of the code that calls it; None where that code works for no run."""


def no_claim() -> None:
    """A `ClaimSource` for a store whose checkpoints nobody writes."""


def claim_on(thread_id: str, source: ClaimSource) -> Claim:
    """The claim that allows writing this thread's checkpoints.

    Args:
        thread_id: of the thread.
        source: gives the current claim.

    Raises:
        Unclaimed: the code runs outside of a run, or the run's claim is on another thread.
    """
    claim = source()
    if claim is None:
        raise Unclaimed
    if claim.thread_id != thread_id:
        raise Unclaimed("A run may write the checkpoints of its own thread only.")
    return claim
