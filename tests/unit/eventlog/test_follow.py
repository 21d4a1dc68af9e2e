"""Following a run when hints are late, false or lost. What holds for every adapter is in the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from middle_core.errors import NotFound
from middle_core.eventlog.follow import BATCH, follow, replay
from middle_core.events import Record, RunId
from middle_core.stores.sqlite.database import SqliteDatabase
from middle_core.stores.sqlite.log import SqliteEventLog
from middle_core.stores.tail import Tails
from tests.contracts.eventlog_contract import drain, end, everything, start, text


class Hintless(SqliteEventLog):
    """A log whose hints are wrong half of the time and never come in time."""

    lies = 0

    async def changed(self, run_id: RunId, *, after: int, within_s: float) -> bool:
        self.lies += 1
        await asyncio.sleep(0)
        return self.lies % 2 == 0


@pytest.fixture
async def hintless(tmp_path: Path) -> AsyncIterator[Hintless]:
    async with SqliteDatabase.open(f"sqlite:///{tmp_path}/log.db") as database:
        yield Hintless(database, Tails())


async def test_rows_are_the_truth_where_hints_lie(hintless: Hintless) -> None:
    started = await start(hintless)

    async def write() -> None:
        for n in range(50):
            await hintless.append(started.claim, [text(str(n))])
        await end(hintless, started.claim)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        reader = group.create_task(drain(hintless, started.run.run_id))
        group.create_task(write())
    assert reader.result() == await everything(hintless, started.run.run_id)


async def test_a_false_hint_is_an_empty_batch_and_nothing_worse(hintless: Hintless) -> None:
    started = await start(hintless)
    stream = follow(hintless, started.run.run_id, after=1, tick=lambda: 60)
    assert [await anext(stream) for _ in range(3)] == [[]] * 3
    await end(hintless, started.claim)
    rest = [record async for batch in stream for record in batch]
    assert [record.seq for record in rest] == [2]


async def test_batches_are_bounded_and_a_slow_reader_holds_one(hintless: Hintless) -> None:
    started = await start(hintless)
    stream = follow(hintless, started.run.run_id, after=0, tick=lambda: 5)
    first: list[Record] = await anext(stream)
    await hintless.append(started.claim, [text(str(n)) for n in range(3 * BATCH)])
    await end(hintless, started.claim)
    sizes = [len(batch) async for batch in stream]
    assert len(first) == 1
    assert sizes == [BATCH, BATCH, BATCH, 1]


async def test_a_run_that_is_over_is_followed_to_its_end_and_from_there_to_nothing(hintless: Hintless) -> None:
    started = await start(hintless)
    await end(hintless, started.claim)
    last = (await everything(hintless, started.run.run_id))[-1].seq
    for after, left in ((last, []), (last - 1, [last])):
        stream = follow(hintless, started.run.run_id, after=after, tick=lambda: 60)
        assert [record.seq async for batch in stream for record in batch] == left


async def test_a_run_that_nobody_knows_cannot_be_followed(hintless: Hintless) -> None:
    with pytest.raises(NotFound):
        await anext(follow(hintless, RunId("none"), after=0, tick=lambda: 60))


async def test_a_replay_is_what_the_log_has_now_however_long_it_is(hintless: Hintless) -> None:
    started = await start(hintless)
    assert [record.seq async for record in replay(hintless, started.run.run_id)] == [1], "and it waits for nothing"
    await hintless.append(started.claim, [text(str(n)) for n in range(2 * BATCH)])
    assert [record async for record in replay(hintless, started.run.run_id)] == await everything(hintless, started.run.run_id)
