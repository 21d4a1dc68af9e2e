"""Partitions are there before their week, a run's events lie in one of them, and retention drops whole ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from middle_core.events import RunId
from middle_core.stores.postgres.address import address_of
from middle_core.stores.postgres.database import PostgresDatabase
from middle_core.stores.postgres.upkeep import AHEAD, WEEK_MS, Upkeep
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import end, everything, start, text

DAY_S = 86_400.0


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as store:
        yield store


@pytest.fixture
async def admin(url: str) -> AsyncIterator[psycopg.AsyncConnection[tuple[object, ...]]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        yield db


Admin = psycopg.AsyncConnection[tuple[object, ...]]


async def partitions(db: Admin) -> list[str]:
    query = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'run_events'::regclass ORDER BY 1"
    return [str(name) for (name,) in await (await db.execute(query)).fetchall()]


async def age(db: Admin, run_id: RunId, weeks: int) -> None:
    """Make the run older, as if it had been written then: its events go to another partition."""
    by = weeks * WEEK_MS
    [(started_at,)] = await (await db.execute("SELECT started_at FROM runs WHERE run_id = %s", (run_id,))).fetchall()
    assert isinstance(started_at, int)
    week = (started_at - by) // WEEK_MS
    await db.execute(
        f"CREATE TABLE IF NOT EXISTS run_events_{week} PARTITION OF run_events FOR VALUES FROM ({week * WEEK_MS}) TO ({(week + 1) * WEEK_MS})"
    )
    await db.execute("UPDATE runs SET started_at = started_at - %s WHERE run_id = %s", (by, run_id))
    await db.execute("UPDATE run_events SET run_started_at = run_started_at - %s WHERE run_id = %s", (by, run_id))


@asynccontextmanager
async def upkeep(url: str, *, days: float) -> AsyncIterator[Upkeep]:
    async with PostgresDatabase.open(address_of(url)) as database, Upkeep(database, run_ttl_s=days * DAY_S) as upkeep:
        yield upkeep


async def test_partitions_are_made_ahead_and_take_what_is_written(store: Store, admin: Admin) -> None:
    assert len(await partitions(admin)) == 1 + AHEAD + 1, "this week's, those ahead, and the rest"
    await start(store.log)
    assert await (await admin.execute("SELECT count(*) FROM run_events_rest")).fetchall() == [(0,)]


async def test_replicas_that_do_it_at_once_do_it_once(url: str, store: Store, admin: Admin) -> None:
    for name in await partitions(admin):
        await admin.execute(f"DROP TABLE {name}") if name != "run_events_rest" else None
    async with PostgresDatabase.open(address_of(url)) as database:
        await asyncio.gather(*(Upkeep(database, run_ttl_s=0).make_partitions() for _ in range(5)))
    assert len(await partitions(admin)) == 1 + AHEAD + 1


async def test_retention_drops_whole_weeks_of_runs_that_are_over(url: str, store: Store, admin: Admin) -> None:
    old, running, young = [await start(store.log) for _ in range(3)]
    for started in (old, young):
        await store.log.append(started.claim, [text("x")])
        await end(store.log, started.claim)
    await age(admin, old.run.run_id, 20)
    await age(admin, running.run.run_id, 30)
    before = await partitions(admin)
    async with upkeep(url, days=90):
        after = await partitions(admin)
    assert len(set(before) - set(after)) == 1
    assert await store.log.get_run(old.run.run_id) is None, "nobody follows what is not there"
    assert await store.log.get_run(running.run.run_id) is not None
    assert len(await everything(store.log, young.run.run_id)) == 3
    thread = await store.log.list_threads(old.run.owner, limit=10)
    assert len(thread) == 3, "conversations stay"


async def test_without_a_time_nothing_goes(url: str, store: Store, admin: Admin) -> None:
    old = await start(store.log)
    await end(store.log, old.claim)
    await age(admin, old.run.run_id, 500)
    async with upkeep(url, days=0):
        assert await store.log.get_run(old.run.run_id) is not None


async def test_a_lock_is_not_waited_for_for_long_and_appends_go_on(url: str, store: Store, admin: Admin) -> None:
    """A reader that holds the oldest partition for long (a backup) must not make every append wait behind the drop."""
    old, young = await start(store.log), await start(store.log)
    await end(store.log, old.claim)
    await age(admin, old.run.run_id, 20)
    async with admin.transaction():
        await admin.execute("SELECT count(*) FROM run_events")
        async with upkeep(url, days=90), asyncio.timeout(10):
            await store.log.append(young.claim, [text("x")])
        assert await store.log.get_run(old.run.run_id) is not None, "tried again an hour later"
