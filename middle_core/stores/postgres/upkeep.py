"""What a Postgres needs every hour, of any one replica: partitions of the events ahead of time, and what is old dropped.

All events of a run lie in the partition of the week in which the run started, so retention drops whole partitions: no row is visited, and
the disk gets its space back at once. Conversations stay; of an old run its row goes as well, so that nobody follows what is not there.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Self

import psycopg
from psycopg import sql

from middle_core.errors import StoreUnavailable
from middle_core.stores.postgres.database import Connection, PostgresDatabase

logger = logging.getLogger(__name__)

WEEK_MS: Final = 7 * 24 * 3600 * 1000
AHEAD: Final = 4
"""Partitions that are there before their week begins."""
EVERY_S: Final = 3600.0
LOCK: Final = 0x75706B656570
"""The key of the advisory lock under which one replica at a time does it: "upkeep" in ASCII."""
STALE_FOLLOWERS_MS: Final = 3600 * 1000
_PATIENCE: Final = "SET LOCAL lock_timeout = '2s'"
"""A partition comes and goes under a lock that stops every append. It is short, and nobody waits long to get it: the next hour tries again."""


class Upkeep:
    """See the module. Use as an async context manager: the first round is done when it is entered.

    Args:
        run_ttl_s: seconds after its start when a run that is over may go; 0 keeps all. A whole week goes at once, so it is up to a week
            longer.
    """

    def __init__(self, database: PostgresDatabase, *, run_ttl_s: float) -> None:
        self._database = database
        self._run_ttl_ms = round(run_ttl_s * 1000)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._round()
        self._task = asyncio.create_task(self._every_hour(), name="upkeep")  # noqa: TID251 - owned here: it ends in `__aexit__`
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _every_hour(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            await self._round()

    async def _round(self) -> None:
        """Do what is due. What fails is tried again an hour later: partitions are there for weeks, and the default one takes the rest."""
        for step in (self.make_partitions, self.drop_old, self.forget_followers):
            try:
                await step()
            except (StoreUnavailable, psycopg.Error) as error:
                logger.warning("upkeep of the database: a step is tried again in an hour", extra={"step": step.__name__}, exc_info=error)

    async def make_partitions(self) -> None:
        """This week's partition and the next ones'."""

        async def work(db: Connection) -> None:
            known, now_ms = await self._begin(db)
            for week in range(now_ms // WEEK_MS, now_ms // WEEK_MS + 1 + AHEAD):
                if week not in known:
                    name = sql.Identifier(_name(week))
                    # Made first and attached then: appends go on meanwhile, which CREATE TABLE ... PARTITION OF would stop.
                    await db.execute(sql.SQL("CREATE TABLE {} (LIKE run_events INCLUDING ALL)").format(name))
                    bounds = (sql.Literal(week * WEEK_MS), sql.Literal((week + 1) * WEEK_MS))
                    attach = sql.SQL("ALTER TABLE run_events ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})")
                    await db.execute(attach.format(name, *bounds))

        await self._database.write(work)

    async def drop_old(self) -> None:
        """Drop the partitions whose runs are all older than their time and over, and the rows of these runs."""
        if not self._run_ttl_ms:
            return

        async def work(db: Connection) -> list[int]:
            known, now_ms = await self._begin(db)
            due = [week for week in sorted(known) if (week + 1) * WEEK_MS <= now_ms - self._run_ttl_ms]
            dropped = []
            for week in due:
                params = {"from": week * WEEK_MS, "to": (week + 1) * WEEK_MS}
                if await self._database.run(db, "running_in", params):
                    continue
                await self._database.run(db, "delete_runs_in", params)
                await db.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(_name(week))))
                dropped.append(week)
            return dropped

        for week in await self._database.write(work):
            logger.info("the events of a week were dropped", extra={"partition": _name(week)})

    async def forget_followers(self) -> None:
        """The rows of replicas that died."""
        await self._database.rows("forget_followers", {"older_ms": STALE_FOLLOWERS_MS})

    async def _begin(self, db: Connection) -> tuple[set[int], int]:
        """Wait for no lock for long; one replica at a time. Returns the weeks that have a partition, and the database's time."""
        await db.execute(_PATIENCE)
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        names = [str(row["name"]) for row in await self._database.run(db, "partitions", {})]
        [now] = await self._database.run(db, "ping", {})
        return {int(name.removeprefix(_PREFIX)) for name in names if name.removeprefix(_PREFIX).isdigit()}, int(now["ms"])


_PREFIX: Final = "run_events_"


def _name(week: int) -> str:
    """The table of the week, which is counted from the epoch on."""
    return f"{_PREFIX}{week}"
