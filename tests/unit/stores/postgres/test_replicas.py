"""Two replicas on one Postgres: what one writes the other follows, and a claim that is lost writes nothing any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from middle_core.errors import StoreUnavailable, Superseded
from middle_core.eventlog.follow import follow
from middle_core.eventlog.records import Claim, Ending, RunStatus
from middle_core.events import ClientThreadId, Record, RunId
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import ALICE, FINISHED, end, everything, start, text


@pytest.fixture
async def here(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as store:
        yield store


@pytest.fixture
async def there(here: Store, url: str) -> AsyncIterator[Store]:
    async with open_store(url) as store:
        yield store


async def follow_to_the_end(store: Store, run_id: RunId) -> list[Record]:
    return [record async for batch in follow(store.log, run_id, after=0, tick=lambda: 5.0) for record in batch]


async def write(store: Store, claim: Claim, count: int) -> None:
    for number in range(count):
        await store.log.append(claim, [text(f"{number} ")])
    await end(store.log, claim)


async def test_a_follower_on_another_replica_gets_exactly_the_log(here: Store, there: Store) -> None:
    started = await start(here.log)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        followers = [group.create_task(follow_to_the_end(there, started.run.run_id)) for _ in range(5)]
        group.create_task(write(here, started.claim, 200))
    expected = await everything(here.log, started.run.run_id)
    assert [record.seq for record in expected] == list(range(1, 203))
    for follower in followers:
        assert follower.result() == expected


async def test_a_hint_wakes_the_other_replica_long_before_it_looks_by_itself(here: Store, there: Store) -> None:
    started = await start(here.log)
    loop = asyncio.get_running_loop()
    waiting = [loop.create_task(there.log.changed(started.run.run_id, after=1, within_s=60.0)) for _ in range(2)]
    # The wish to follow travels as a hint itself: write until it has arrived.
    async with asyncio.timeout(30):
        while not all(task.done() for task in waiting):
            await here.log.append(started.claim, [text("x")])
            await asyncio.wait(waiting, timeout=0.05)
    assert all(task.result() for task in waiting)


async def test_an_attempt_that_was_taken_over_writes_nothing_any_more(here: Store, there: Store) -> None:
    started = await start(here.log)
    await here.log.append(started.claim, [text("a")])
    await here.log.release(started.claim)
    taken = await there.log.claim(started.run.run_id, attempt=1, replica="replica-2", lease_s=15.0)
    assert taken.attempt == 2
    for late in (
        here.log.append(started.claim, [text("late")]),
        here.log.append(started.claim, [FINISHED], ending=Ending(RunStatus.FINISHED)),
        here.log.tool_begin(started.claim, "call", "tool"),
    ):
        with pytest.raises(Superseded):
            await late
    await write(there, taken, 3)
    # What the first replica has in memory is not the log's end any more; it shows what the second one wrote.
    assert await everything(here.log, started.run.run_id) == await everything(there.log, started.run.run_id)
    assert (await here.log.beat([started.claim], lease_s=15.0)).superseded == {started.run.run_id}


async def test_the_connection_that_listens_comes_back(here: Store, there: Store, url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'")
    started = await start(here.log)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        following = group.create_task(follow_to_the_end(there, started.run.run_id))
        group.create_task(write(here, started.claim, 50))
    assert following.result() == await everything(here.log, started.run.run_id)


async def test_after_the_database_broke_every_connection_the_next_call_works(here: Store, url: str) -> None:
    thread = await here.log.open_thread(ALICE, ClientThreadId("t"), "agent")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert await here.log.get_thread(ALICE, ClientThreadId("t")) == thread


async def test_followers_that_wait_hold_no_connection(here: Store, there: Store, url: str) -> None:
    started = await start(here.log)
    loop = asyncio.get_running_loop()
    waiting = [loop.create_task(there.log.changed(started.run.run_id, after=1, within_s=60.0)) for _ in range(500)]
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        [(used,)] = await (await admin.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")).fetchall()
        assert used <= 2 * (8 + 1) + 1, "two pools, two listeners, and this one"
        await write(here, started.claim, 1)
        assert all(await asyncio.gather(*waiting))


async def test_what_postgres_does_not_take_ends_its_own_run_alone(here: Store) -> None:
    """Appends of many runs share a statement. A text with U+0000 fails on its own, and those beside it are written."""
    runs = [await start(here.log) for _ in range(10)]
    odd = {"type": "ODD\x00"}
    appends = [here.log.append(one.claim, [odd if number == 4 else text("x")]) for number, one in enumerate(runs)]
    done = await asyncio.gather(*appends, return_exceptions=True)
    assert [isinstance(one, StoreUnavailable) for one in done] == [number == 4 for number in range(10)]
    await asyncio.gather(*(write(here, one.claim, 2) for one in runs))
