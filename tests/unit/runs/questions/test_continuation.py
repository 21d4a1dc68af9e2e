"""Which run follows one that stopped at a question, according to the rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from middle_core.eventlog.interrupts import InterruptStatus
from middle_core.eventlog.records import Run, RunStatus, Started, Thread
from middle_core.events import ClientThreadId, RunId
from middle_core.runs.questions import continuation
from middle_core.runs.questions.continuation import Continuations
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import ALICE, end, start
from tests.contracts.interrupts_contract import NOTHING, question, yes

S = InterruptStatus


class Asked:
    """A thread whose first run has ended with questions."""

    def __init__(self, store: Store, thread: Thread, run: Run) -> None:
        self.log = store.log
        self.questions = store.questions
        self.thread = thread
        self.run = run
        self.leaving = False
        self.continuations = Continuations(store.log, store.questions, leaving=lambda: self.leaving)

    async def next(self) -> RunId | None:
        return await self.continuations.find(self.run)

    async def begin(self) -> Started:
        return await start(self.log, self.thread)


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    async with open_store(f"sqlite:///{tmp_path}/log.db") as store:
        log = store.log
        thread = await log.open_thread(ALICE, ClientThreadId("t"), "agent")
        first = await start(log, thread)
        await store.questions.open(first.claim, [question("i1", call_key="c1"), question("i2", call_key="c2")])
        await end(log, first.claim, RunStatus.INTERRUPTED)
        ended = await log.get_run(first.run.run_id)
        assert ended is not None
        yield Asked(store, thread, ended)


async def test_nobody_has_answered(asked: Asked) -> None:
    assert await asked.next() is None


async def test_the_run_that_brings_an_answer_even_to_one_of_two(asked: Asked) -> None:
    answering = await asked.begin()
    assert await asked.next() is None, "it has not answered yet"
    await asked.questions.answer(answering.claim, yes("i1"))
    assert await asked.next() == answering.run.run_id
    await end(asked.log, answering.claim, RunStatus.INTERRUPTED)
    second = await asked.begin()
    await asked.questions.answer(second.claim, yes("i2"))
    assert await asked.next() == answering.run.run_id, "the first one, however late it is looked for"


async def test_a_run_that_could_not_answer_is_not_meant(asked: Asked) -> None:
    failing = await asked.begin()
    await end(asked.log, failing.claim, RunStatus.FAILED)
    assert await asked.next() is None


async def test_a_message_that_takes_back_what_is_asked(asked: Asked) -> None:
    message = await asked.begin()
    await asked.questions.close(message.claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING)
    assert await asked.next() == message.run.run_id


async def test_a_message_that_asks_again_at_once(asked: Asked) -> None:
    message = await asked.begin()
    await asked.questions.close(message.claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING)
    await asked.questions.open(message.claim, [question("i3", call_key="c3")])
    await end(asked.log, message.claim, RunStatus.INTERRUPTED)
    assert await asked.next() == message.run.run_id
    await asked.begin()
    assert await asked.next() == message.run.run_id, "it asked, so the rows know it"


async def test_a_wait_ticks_and_ends_with_the_run(asked: Asked) -> None:
    async with aclosing(asked.continuations.wait(asked.run, tick=lambda: 0.02)) as ticks, asyncio.timeout(10):
        assert [await anext(ticks) for _ in range(3)] == [None] * 3
        answering = await asked.begin()
        asked.continuations.run_began(asked.thread.thread_id)
        await asked.questions.answer(answering.claim, yes("i1"))
        found = [one async for one in ticks]
    assert found[-1] == answering.run.run_id
    assert set(found[:-1]) <= {None}


async def test_a_run_on_another_replica_is_seen_without_a_hint(asked: Asked) -> None:
    async with aclosing(asked.continuations.wait(asked.run, tick=lambda: 60)) as ticks, asyncio.timeout(10 * continuation.LOOK_S):

        async def elsewhere() -> RunId:
            answering = await asked.begin()
            await asked.questions.answer(answering.claim, yes("i1"))
            return answering.run.run_id

        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(anext(ticks))
            answered = group.create_task(elsewhere())
    assert waiting.result() == answered.result()


async def test_a_process_that_ends_looks_around_at_once(asked: Asked) -> None:
    asked.leaving = True
    async with aclosing(asked.continuations.wait(asked.run, tick=lambda: 60)) as ticks, asyncio.timeout(5):
        assert await anext(ticks) is None


async def test_a_thread_that_is_deleted_has_no_next_run(asked: Asked) -> None:
    async with aclosing(asked.continuations.wait(asked.run, tick=lambda: 0.01)) as ticks, asyncio.timeout(10):
        assert await anext(ticks) is None
        await asked.log.delete_thread(asked.thread.thread_id)
        assert {one async for one in ticks} <= {None}
