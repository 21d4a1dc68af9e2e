"""What code inside a run knows of that run: the one context variable of the project's runs.

The engine enters a `RunContext` in the run's own task, and every task and thread that the run starts inherits it. It is a context
variable because LangGraph copies what stands in `configurable` into checkpoint metadata, where a token must not be. Outside of a run
every field has its default. Knows no graph and no database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from middle_core.auth.principal import Principal
from middle_core.eventlog.records import Claim

if TYPE_CHECKING:  # these modules ask for the context
    from middle_core.node_api.approvals import Approvals
    from middle_core.node_api.tool_ledger import ToolLedger


@dataclass(frozen=True, slots=True)
class RunContext:
    """What one run hands to the code that works for it.

    Args:
        claim: the right to write the thread's checkpoints. It holds until the run's end is appended.
        caller: the principal for whom the run works, with the token that backend-core is sent.
        ledger: of the run's tool calls; None where a graph runs without the engine.
        approvals: of what a person has to allow; None likewise.
        page_tools: names of the browser's tools in this run. No server tool's name is among them.
        idempotency_key: of the approved action that is being carried out, the same at every try of it; None outside of one.
    """

    claim: Claim | None = None
    caller: Principal | None = None
    ledger: ToolLedger | None = None
    approvals: Approvals | None = None
    page_tools: frozenset[str] = frozenset()
    idempotency_key: str | None = None


_NO_RUN = RunContext()
_RUN: ContextVar[RunContext] = ContextVar("middle_core_run", default=_NO_RUN)


def run_context() -> RunContext:
    """The context of the run that this code works for; one of defaults outside of a run."""
    return _RUN.get()


def current_claim() -> Claim | None:
    """The claim under which this code may write checkpoints. `stores.urls.open_store` takes this function."""
    return _RUN.get().claim


def enter(context: RunContext) -> None:
    """Make this the context of the current task and of all that it starts from now on."""
    _RUN.set(context)


@contextmanager
def within(**changes: Any) -> Iterator[None]:
    """Inside of this block the context has these fields.

    Args:
        changes: fields of `RunContext`.
    """
    token = _RUN.set(replace(_RUN.get(), **changes))
    try:
        yield
    finally:
        _RUN.reset(token)


def in_run(where: Context) -> bool:
    """Whether tasks with this `contextvars` context work for a run that the engine drives."""
    return where.get(_RUN, _NO_RUN).ledger is not None
