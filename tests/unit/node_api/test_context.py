"""The run's context: inherited by what the run starts, gone outside of it, and the only context variable that the engine sets."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from pathlib import Path

import middle_core
from middle_core.node_api.context import RunContext, current_claim, enter, in_run, run_context, within
from tests.fakes.ledger import MemoryLedger


async def test_tasks_and_threads_of_a_run_have_its_context_and_others_have_none() -> None:
    inside = RunContext(page_tools=frozenset({"draw"}), ledger=MemoryLedger())

    async def run() -> None:
        enter(inside)
        async with asyncio.TaskGroup() as group:
            child = group.create_task(named())
        assert child.result() is inside
        assert await asyncio.to_thread(run_context) is inside
        assert in_run(copy_context())

    async def named() -> RunContext:
        return run_context()

    async with asyncio.TaskGroup() as group:
        group.create_task(run())
    assert run_context() == RunContext()
    assert current_claim() is None
    assert not in_run(copy_context())


def test_a_change_holds_inside_of_its_block_alone() -> None:
    with within(idempotency_key="one"):
        with within(page_tools=frozenset({"draw"})):
            assert run_context() == RunContext(idempotency_key="one", page_tools=frozenset({"draw"}))
        assert run_context() == RunContext(idempotency_key="one")
    assert run_context() == RunContext()


def test_no_other_context_variable_belongs_to_a_run() -> None:
    # Two belong to one call of a tool, one to one HTTP request.
    root = Path(middle_core.__file__).parent
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "ContextVar(" in path.read_text(encoding="utf-8")}
    assert found == {"agents/guard.py", "agents/sync_tools.py", "node_api/context.py", "transports/http/correlation.py"}
