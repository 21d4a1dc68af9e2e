"""One Postgres database: its pool, the named statements, transactions under a claim, and its schema.

What the tables mean is for `log`, `interrupts` and `checkpoints`, which share the pool. No connection is held while nothing is asked:
a thousand idle streams need none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString, Self, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from middle_core.errors import StoreUnavailable, Superseded
from middle_core.eventlog.records import Claim
from middle_core.stores.statements import load_migrations, load_statements
from middle_core.stores.store import DatabaseRefused

logger = logging.getLogger(__name__)

T = TypeVar("T")
Connection = psycopg.AsyncConnection[DictRow]
Work = Callable[[Connection], Awaitable[T]]
Params = Mapping[str, Any]

POOL_SIZE: Final = 8
"""Connections of one replica, where the URL does not say. Measured: four carry what one Python process can do."""
WAIT_S: Final = 10.0
"""How long an operation waits for a connection before it fails: as long as a restart of the database may take."""
RETRY_S: Final = 0.05
"""The pause before a statement is tried again after its connection broke; each further pause is twice as long."""
MIGRATION_LOCK: Final = 0x6D6964646C65
"""The key of the advisory lock under which one replica at a time changes the schema: "middle" in ASCII."""

_OWN_PARAMETERS: Final = {"pool_size", "pgbouncer"}


class PostgresDatabase:
    """The database of one replica. Make it with `open`."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._sql = load_statements("postgres")

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Self]:
        """The database of `url`, brought to this version's schema, closed at the end.

        Args:
            url: `postgresql://user:password@host:port/database`, with psycopg's parameters and two of ours: `pool_size` is the most
                connections that this replica opens, `pgbouncer=true` says that a PgBouncer in transaction mode stands between.

        Raises:
            DatabaseRefused: the database cannot be reached, refuses the sign-in, or its schema is newer than this version's.
        """
        conninfo, size, bouncer = split_url(url)
        await _migrate(conninfo)
        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            connection_class=Connection,
            # Prepared statements live in one server connection, which PgBouncer changes under us.
            kwargs={"autocommit": True, "row_factory": dict_row, "prepare_threshold": None if bouncer else 5},
            min_size=1,
            max_size=size,
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
                if not isinstance(error.__cause__, psycopg.OperationalError) or loop.time() + pause > due:
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
        """Raise `StoreUnavailable` unless the database answers and takes writes."""
        [row] = await self.rows("ping", {})
        if row["read_only"]:
            raise StoreUnavailable


def fence(claim: Claim) -> dict[str, Any]:
    """The parameters of every statement that a claim guards."""
    return {"thread_id": claim.thread_id, "run_id": claim.run_id, "attempt": claim.attempt, "token": claim.token}


def split_url(url: str) -> tuple[str, int, bool]:
    """psycopg's connection string, the size of the pool, and whether a PgBouncer stands between.

    Raises:
        DatabaseRefused: a parameter of ours has no value of its kind.
    """
    parts = urlsplit(url)
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    ours = {name: value for name, value in parameters if name in _OWN_PARAMETERS}
    size = ours.get("pool_size", str(POOL_SIZE))
    if not size.isascii() or not size.isdigit() or int(size) < 1:
        raise DatabaseRefused("MIDDLE_CORE_DATABASE_URL: pool_size is a number from 1, for example ?pool_size=8.")
    bouncer = ours.get("pgbouncer", "false")
    if bouncer not in {"true", "false"}:
        raise DatabaseRefused("MIDDLE_CORE_DATABASE_URL: pgbouncer is true or false, for example ?pgbouncer=true.")
    theirs = urlencode([(name, value) for name, value in parameters if name not in _OWN_PARAMETERS])
    return urlunsplit(parts._replace(query=theirs)), int(size), bouncer == "true"


async def schema_version(url: str) -> int:
    """The version of the schema in the database; 0 where there is none.

    Raises:
        DatabaseRefused: the database cannot be reached.
    """
    async with _connect(split_url(url)[0]) as db:
        return await _version(db)


async def _migrate(conninfo: str) -> None:
    """Apply what is missing, one replica at a time. An older version of the program goes on working beside the newer schema."""
    steps = load_migrations("postgres")
    async with _connect(conninfo) as db, db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        version = await _version(db)
        if version > len(steps):
            raise DatabaseRefused(
                f"The database has schema version {version}, and this version of middle-core knows {len(steps)}. "
                "Start the newer version, or restore a backup."
            )
        if version == 0:
            await db.execute(
                "CREATE TABLE schema_version (version integer NOT NULL PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL)"
            )
        for step in steps[version:]:
            await db.execute(step.sql)
            await db.execute("INSERT INTO schema_version (version, name, applied_at) VALUES (%s, %s, now())", (step.version, step.name))


async def _version(db: Connection) -> int:
    [found] = await (await db.execute("SELECT to_regclass('schema_version') IS NOT NULL AS there")).fetchall()
    if not found["there"]:
        return 0
    [row] = await (await db.execute("SELECT coalesce(max(version), 0) AS version FROM schema_version")).fetchall()
    return int(row["version"])


@asynccontextmanager
async def _connect(conninfo: str) -> AsyncIterator[Connection]:
    """A connection of its own, for the schema. Its errors never repeat the URL: it may hold a password."""
    try:
        db = await psycopg.AsyncConnection.connect(conninfo, autocommit=True, row_factory=dict_row)
    except psycopg.Error as error:
        logger.debug("no connection to Postgres", exc_info=error)
        raise DatabaseRefused(
            "The database of MIDDLE_CORE_DATABASE_URL cannot be reached, or refuses the sign-in. Check the host, the port, the user, "
            "the password and the database's name."
        ) from None
    async with db:
        yield db
