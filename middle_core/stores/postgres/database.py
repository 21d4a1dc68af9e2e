"""One Postgres database: its pool, the named statements, and transactions under a claim.

What the tables mean is for `log`, `interrupts` and `checkpoints`, which share the pool. No connection is held while nothing is asked:
a thousand idle streams need none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString, Self, TypeVar

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from middle_core.errors import StoreUnavailable, Superseded
from middle_core.eventlog.records import Claim
from middle_core.stores.postgres.address import Address
from middle_core.stores.statements import load_statements

T = TypeVar("T")
Connection = psycopg.AsyncConnection[DictRow]
Work = Callable[[Connection], Awaitable[T]]
Params = Mapping[str, Any]

WAIT_S: Final = 10.0
"""How long an operation waits for a connection before it fails: as long as a restart of the database may take."""
PING_S: Final = 2.0
"""How soon a database must answer to count as there: sooner than a platform gives up its question for readiness."""
RETRY_S: Final = 0.05
"""The pause before a statement is tried again after its connection broke; each further pause is twice as long."""


class PostgresDatabase:
    """The database of one replica. Make it with `open`."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._sql = load_statements("postgres")

    @classmethod
    @asynccontextmanager
    async def open(cls, address: Address) -> AsyncIterator[Self]:
        """The database, which has this version's schema (`schema.migrate`), closed at the end."""
        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            address.pooled,
            connection_class=Connection,
            # Prepared statements live in one server connection, which PgBouncer changes under us.
            kwargs={"autocommit": True, "row_factory": dict_row, "prepare_threshold": None if address.bouncer else 5},
            min_size=1,
            max_size=address.pool_size,
            timeout=WAIT_S,
            open=False,
            name="middle-core",
        )
        async with pool:
            yield cls(pool)

    def statement(self, name: str) -> LiteralString:
        """The text of a named statement."""
        return self._sql[name]

    async def run(self, db: Connection, name: str, params: Params) -> list[DictRow]:
        """Run a named statement on this connection and read it out."""
        cursor = await db.execute(self.statement(name), params)
        return await cursor.fetchall() if cursor.description else []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection of the pool. Raises `StoreUnavailable` where the database fails or none is free in time."""
        try:
            async with self._pool.connection() as db:
                yield db
        except (psycopg.Error, PoolTimeout) as error:
            raise StoreUnavailable from error

    async def rows(self, name: str, params: Params) -> list[DictRow]:
        """The rows of one named statement, which may be run twice: where a connection breaks, it is tried again for `WAIT_S` seconds."""
        loop = asyncio.get_running_loop()
        due = loop.time() + WAIT_S
        pause = RETRY_S
        while True:
            try:
                async with self.connection() as db:
                    return await self.run(db, name, params)
            except StoreUnavailable as error:
                if not _passes(error) or loop.time() + pause > due:
                    raise
            await asyncio.sleep(pause)
            pause *= 2

    async def write(self, work: Work[T], *, to_disk: bool = True) -> T:
        """Run `work` in a transaction, without a claim.

        Args:
            to_disk: wait until the disk has it. Without, only the death of the database's machine could take it back, and never
                something later without something earlier.
        """
        async with self.connection() as db, db.transaction():
            if not to_disk:
                await db.execute("SET LOCAL synchronous_commit = off")
            return await work(db)

    async def transact(self, claim: Claim, work: Work[T], *, to_disk: bool = True, alone: bool = False) -> T:
        """Run `work` in a transaction in which the claim holds to its end. Raises `Superseded` if it does not.

        Args:
            to_disk: see `write`.
            alone: one such transaction of the thread after another, for work that decides by what it has read.
        """

        async def fenced(db: Connection) -> T:
            if alone:
                await self.run(db, "lock_thread", {"thread_id": claim.thread_id})
            if not await self.run(db, "fence", fence(claim)):
                raise Superseded
            return await work(db)

        return await self.write(fenced, to_disk=to_disk)

    async def ping(self) -> None:
        """Raise `StoreUnavailable` unless the database answers within `PING_S`, and takes writes."""
        try:
            async with asyncio.timeout(PING_S), self.connection() as db:
                [row] = await self.run(db, "ping", {})
        except TimeoutError as late:
            raise StoreUnavailable from late
        if row["read_only"]:
            raise StoreUnavailable


def _passes(error: StoreUnavailable) -> bool:
    """Whether a later try may succeed: the connection broke. Not where this replica closes, and not where the wait is over already."""
    return isinstance(error.__cause__, psycopg.OperationalError) and not isinstance(error.__cause__, (PoolClosed, PoolTimeout))


def fence(claim: Claim) -> dict[str, Any]:
    """The parameters of every statement that a claim guards."""
    return {"thread_id": claim.thread_id, "run_id": claim.run_id, "attempt": claim.attempt, "token": claim.token}
