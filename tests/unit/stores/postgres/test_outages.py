"""The database goes away, comes back, or crashes: appends wait, readers go on, and nothing that was read is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from middle_core.errors import StoreUnavailable
from middle_core.eventlog.follow import follow
from middle_core.eventlog.records import Ending, RunStatus
from middle_core.events import Record, RunId
from middle_core.stores.postgres import database as module
from middle_core.stores.postgres.address import address_of
from middle_core.stores.postgres.database import Connection, PostgresDatabase
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import FINISHED, end, everything, start, text
from tests.fakes.postgres import PostgresServer


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as store:
        yield store


@pytest.fixture
async def there(store: Store, url: str) -> AsyncIterator[Store]:
    async with open_store(url) as there:
        yield there


@pytest.fixture
def lazy_disk(postgres: PostgresServer) -> Iterator[None]:
    """What does not wait for the disk does not get there for ten seconds."""

    def say(command: str) -> None:
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute(command)
            db.execute("SELECT pg_reload_conf()")

    say("ALTER SYSTEM SET wal_writer_delay = '10s'")
    yield
    say("ALTER SYSTEM RESET wal_writer_delay")


async def followed(store: Store, run_id: RunId) -> list[Record]:
    return [record async for batch in follow(store.log, run_id, after=0, tick=lambda: 5.0) for record in batch]


async def test_appends_wait_and_readers_go_on(postgres: PostgresServer, store: Store, there: Store) -> None:
    started = await start(store.log)
    writer = store.log.writer(started.claim)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        followers = [group.create_task(followed(one, started.run.run_id)) for one in (store, there)]
        await writer.append([text("before ")])
        with postgres.away():
            waiting = [group.create_task(writer.append([text(f"{number} ")])) for number in range(20)]
            done, _ = await asyncio.wait(waiting, timeout=1)
            assert not done
        await asyncio.wait(waiting)
        await writer.append([text("after ")])
        await writer.append([FINISHED], ending=Ending(RunStatus.FINISHED))
    records = await everything(store.log, started.run.run_id)
    assert [record.seq for record in records] == list(range(1, 25))
    for follower in followers:
        assert follower.result() == records


async def test_a_crash_takes_back_nothing_that_was_read(postgres: PostgresServer, lazy_disk: None, store: Store, there: Store) -> None:
    """Deltas do not wait for the disk. Those that a crash of the database took come back under the same numbers."""
    started = await start(store.log)
    writer = store.log.writer(started.claim)
    read: list[Record] = []
    for number in range(50):
        read += await writer.append([text(f"{number} ")])
    with postgres.away():
        pass
    run = await there.log.get_run(started.run.run_id)
    assert run is not None
    assert run.last_seq < 51, "the crash took something, or this shows nothing"
    read += await writer.append([text("after ")])
    assert (await everything(there.log, started.run.run_id))[1:] == read


async def test_a_crash_right_before_the_end(postgres: PostgresServer, lazy_disk: None, store: Store, there: Store) -> None:
    started = await start(store.log)
    writer = store.log.writer(started.claim)
    read = [record for number in range(50) for record in await writer.append([text(f"{number} ")])]
    with postgres.away():
        pass
    read += await writer.append([FINISHED], ending=Ending(RunStatus.FINISHED))
    assert (await everything(there.log, started.run.run_id))[1:] == read


async def test_the_wait_for_a_database_is_bounded(postgres: PostgresServer, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.5)
    started = await start(store.log)
    with postgres.away():
        with pytest.raises(StoreUnavailable):
            await store.log.append(started.claim, [text("x")])
        with pytest.raises(StoreUnavailable):
            await store.log.get_run(started.run.run_id)
    monkeypatch.undo()
    await end(store.log, started.claim)


@pytest.mark.parametrize("committed", [True, False])
async def test_a_connection_that_breaks_in_the_commit_writes_once(url: str, *, committed: bool) -> None:
    """The commit reached the database or not: this side sees the same error, and asks."""
    address = address_of(url)
    calls = 0
    async with PostgresDatabase.open(address) as database, await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        await admin.execute("CREATE TABLE written (at integer)")

        async def work(db: Connection) -> int:
            nonlocal calls
            calls += 1
            await db.execute("INSERT INTO written VALUES (1)")
            if calls == 1:
                if committed:
                    await db.execute("COMMIT")
                await admin.execute("SELECT pg_terminate_backend(%s)", (db.info.backend_pid,))
            return calls

        async with asyncio.timeout(20):
            assert await database.write(work) == (1 if committed else 2)
        assert await (await admin.execute("SELECT count(*) FROM written")).fetchall() == [(1,)]


async def test_after_an_outage_no_lease_counts_as_over_before_its_owner_could_extend_it(
    postgres: PostgresServer, store: Store, there: Store
) -> None:
    started = await start(store.log, lease_s=0.001)
    while not await there.log.orphans("replica-2", for_s=0):
        await there.log.ping()
    with postgres.away():
        pass
    with pytest.raises(StoreUnavailable):
        await there.log.ping()  # it learns of the outage
    assert await there.log.orphans("replica-2", for_s=0) == []
    assert not (await store.log.beat([started.claim], lease_s=60)).superseded
