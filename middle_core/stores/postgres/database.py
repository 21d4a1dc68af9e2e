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

WAIT_S: Final = 30.0
"""How long an operation waits for a database that is away before it fails: longer than a restart or a failover takes."""
CONNECTION_S: Final = 2.0
"""How long it waits for a connection of the pool at once. The pool gives up reconnecting sooner, so that each try begins anew."""
SETTLE_S: Final = 10.0
"""Seconds after an outage in which no lease counts as over: the outage, not the death of its replica, kept it from being extended."""
PING_S: Final = 2.0
"""How soon a database must answer to count as there: sooner than a platform gives up its question for readiness."""
RETRY_S: Final = 0.05
LONGEST_RETRY_S: Final = 1.0
_PASSING: Final = ("08", "40", "57P")
"""SQLSTATE: the connection, a deadlock, and a server that stops or starts. Not a lock or a statement that was waited for long enough."""
"""The pauses before a statement is tried again after its connection broke: each is twice as long as the one before, up to this."""


class PostgresDatabase:
    """The database of one replica. Make it with `open`."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._sql = load_statements("postgres")
        self._trouble_at = float("-inf")

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
            timeout=CONNECTION_S,
            reconnect_timeout=CONNECTION_S / 2,
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
            self.trouble(error)
            raise StoreUnavailable from error

    async def rows(self, name: str, params: Params) -> list[DictRow]:
        """The rows of one named statement, which may be run twice: while the database is away, it is tried again, for `WAIT_S`."""

        async def once() -> list[DictRow]:
            async with self.connection() as db:
                return await self.run(db, name, params)

        return await self._persist(once)

    async def write(self, work: Work[T], *, to_disk: bool = True) -> T:
        """Run `work` in a transaction, without a claim: once, also where the database is away for some time.

        A transaction that did not come to its commit is begun anew, so `work` may be called more than once. Where the connection breaks
        while it commits, the database is asked afterwards whether it did.

        Args:
            to_disk: wait until the disk has it. Without, only a crash of the database could take it back, and never something later
                without something earlier.
        """
        return await self._persist(lambda: self._once(work, to_disk=to_disk))

    async def _once(self, work: Work[T], *, to_disk: bool) -> T:
        results: list[T] = []
        number = ""
        try:
            async with self.connection() as db, db.transaction():
                [begun] = await self.run(db, "begin", {"commit": "on" if to_disk else "off"})
                number = begun["number"]
                results.append(await work(db))
        except StoreUnavailable as broken:
            if not results or not passes(broken) or not await self._committed(number):
                raise
        return results[0]

    async def _committed(self, number: str) -> bool:
        """Whether the transaction of that number committed. Its server process may still be at it."""
        while True:
            [found] = await self.rows("transaction_status", {"number": number})
            if found["status"] != "in progress":
                return bool(found["status"] == "committed")
            await asyncio.sleep(RETRY_S)

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until the database is there, for `WAIT_S`. Raises `StoreUnavailable` then."""
        loop = asyncio.get_running_loop()
        due = loop.time() + WAIT_S
        pause = RETRY_S
        while True:
            try:
                return await attempt()
            except StoreUnavailable as error:
                if not passes(error) or loop.time() + pause > due:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_RETRY_S)

    def trouble(self, error: Exception) -> None:
        """Take note that the database was away."""
        if isinstance(error, psycopg.OperationalError):
            self._trouble_at = asyncio.get_running_loop().time()

    def calm(self) -> bool:
        """Whether the database has been there for long enough that every living replica has extended its leases."""
        return asyncio.get_running_loop().time() - self._trouble_at > SETTLE_S

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


def passes(error: Exception) -> bool:
    """Whether a later try may succeed: the connection broke, there was none, or two transactions met. Not where this replica closes."""
    cause = error.__cause__
    if not isinstance(cause, psycopg.OperationalError) or isinstance(cause, PoolClosed):
        return False
    return cause.sqlstate is None or cause.sqlstate.startswith(_PASSING)


def fence(claim: Claim) -> dict[str, Any]:
    """The parameters of every statement that a claim guards."""
    return {"thread_id": claim.thread_id, "run_id": claim.run_id, "attempt": claim.attempt, "token": claim.token}
