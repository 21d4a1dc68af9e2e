"""Behind a PgBouncer in transaction mode: every statement works, and the direct way beside it brings the hints."""

from __future__ import annotations

import asyncio

from middle_core.eventlog.follow import follow
from middle_core.events import Record, RunId
from middle_core.stores.store import Store
from middle_core.stores.urls import migrate, open_store
from tests.contracts.eventlog_contract import end, everything, start, text
from tests.fakes.pgbouncer import pgbouncer
from tests.fakes.postgres import PostgresServer


async def followed(store: Store, run_id: RunId) -> list[Record]:
    return [record async for batch in follow(store.log, run_id, after=0, tick=lambda: 5.0) for record in batch]


async def test_twenty_runs_at_once_share_three_connections(postgres: PostgresServer, url: str) -> None:
    """Each statement is run often enough that psycopg would prepare it, which a PgBouncer does not carry to the next connection."""
    async with pgbouncer(postgres, url) as through, open_store(through) as here, open_store(through) as there, asyncio.timeout(50):

        async def run() -> None:
            started = await start(here.log)
            async with asyncio.TaskGroup() as group:
                following = group.create_task(followed(there, started.run.run_id))
                for number in range(20):
                    await here.log.append(started.claim, [text(f"{number} ")])
                await end(here.log, started.claim)
            records = await everything(here.log, started.run.run_id)
            assert [record.seq for record in records] == list(range(1, 23))
            assert following.result() == records

        await asyncio.gather(*(run() for _ in range(20)))


async def test_the_direct_way_brings_hints(postgres: PostgresServer, url: str) -> None:
    async with (
        pgbouncer(postgres, url) as through,
        open_store(through, direct_url=url) as here,
        open_store(through, direct_url=url) as there,
    ):
        started = await start(here.log)
        loop = asyncio.get_running_loop()
        waiting = loop.create_task(there.log.changed(started.run.run_id, after=1, within_s=60.0))
        stopped: asyncio.Future[RunId] = loop.create_future()
        here.replicas.on_stop(stopped.set_result)
        async with asyncio.timeout(30):
            while not waiting.done():  # the wish to follow travels as a hint itself
                await here.log.append(started.claim, [text("x")])
                await asyncio.wait([waiting], timeout=0.05)
            assert await there.log.request_cancel(started.run.run_id, "stopped")
            assert await stopped == started.run.run_id


async def test_the_schema_is_made_through_it_where_there_is_no_other_way(postgres: PostgresServer) -> None:
    url = postgres.empty("bounced")
    async with pgbouncer(postgres, url) as through, asyncio.timeout(30):
        first, second = await asyncio.gather(migrate(through), migrate(through))
        assert first[1] == second[1] > 0
