"""The claim under which the code of a run writes checkpoints, for the savers of all adapters.

A saver is called from inside of a graph and gets no claim from LangGraph, so the claim stands in a context variable of the run's task.
Knows no database.
"""

from __future__ import annotations

from contextvars import ContextVar

from middle_core.errors import Unclaimed
from middle_core.eventlog.records import Claim

CLAIM: ContextVar[Claim | None] = ContextVar("middle_core_claim", default=None)
"""The claim under which the current task may write checkpoints; set by the engine in the run's own task.

It stays valid until the run's ending is appended, so what settles a stopped run writes under it too.
"""


def claim_on(thread_id: str) -> Claim:
    """The claim that allows writing this thread's checkpoints.

    Raises:
        Unclaimed: the code runs outside of a run, or the run's claim is on another thread.
    """
    claim = CLAIM.get()
    if claim is None:
        raise Unclaimed
    if claim.thread_id != thread_id:
        raise Unclaimed("A run may write the checkpoints of its own thread only.")
    return claim
