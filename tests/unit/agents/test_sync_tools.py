"""Synchronous work in bounded threads of its own."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from middle_core.agents.sync_tools import SyncToolPool, ToolsBusy, stop_requested

COLOUR: ContextVar[str] = ContextVar("colour", default="none")


async def test_the_work_runs_in_a_thread_with_the_callers_context() -> None:
    COLOUR.set("red")
    thread, colour = await SyncToolPool().run(lambda: (threading.current_thread(), COLOUR.get()))
    assert thread is not threading.main_thread()
    assert thread.daemon, "a hung tool does not hold up the exit of the process"
    assert colour == "red"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
async def test_what_the_work_raises_arrives(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        await SyncToolPool().run(work)


async def test_no_more_than_the_limit_run_at_once_and_waiting_is_bounded() -> None:
    threads, release, entered = SyncToolPool(limit=1, wait_s=0.01), threading.Event(), threading.Event()

    def block() -> bool:
        entered.set()
        return release.wait(10)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        first = group.create_task(threads.run(block))
        assert await asyncio.to_thread(entered.wait, 5)
        with pytest.raises(ToolsBusy):
            await threads.run(lambda: True)
        release.set()
        assert await first
        assert await threads.run(lambda: "free again") == "free again"


async def test_a_cancelled_caller_is_free_at_once_but_the_slot_only_when_the_thread_ends() -> None:
    threads, release, entered = SyncToolPool(limit=1, wait_s=0.01), threading.Event(), threading.Event()
    told: list[bool] = []

    def block() -> None:
        entered.set()
        assert release.wait(10)
        told.append(stop_requested())

    async with asyncio.timeout(10):
        async with asyncio.TaskGroup() as group:
            caller = group.create_task(threads.run(block))
            assert await asyncio.to_thread(entered.wait, 5)
            caller.cancel()
        assert caller.cancelled()
        assert not told, "the thread still runs"
        with pytest.raises(ToolsBusy):
            await threads.run(lambda: True)
        release.set()
        patient = SyncToolPool(limit=1)
        patient._slots = threads._slots
        assert await patient.run(stop_requested) is False
    assert told == [True]


def test_outside_a_tool_nothing_is_stopped() -> None:
    assert stop_requested() is False


def test_a_thread_that_outlives_its_loop_is_harmless() -> None:
    release, entered, over = threading.Event(), threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        assert release.wait(10)
        over.set()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            caller = group.create_task(SyncToolPool().run(block))
            assert await asyncio.to_thread(entered.wait, 5)
            caller.cancel()

    asyncio.run(main())
    (thread,) = [t for t in threading.enumerate() if t.name == "middle-core-tool"]
    release.set()
    assert over.wait(5)
    thread.join(5)
    assert not thread.is_alive()
