"""The schema of a Postgres: its version, and what brings it to this program's one replica at a time. LangGraph's tables are part of it.

A step works with the program before it (expand first, contract a release later), so that replicas of both serve during a deploy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg
from psycopg.rows import DictRow, dict_row

from middle_core.stores.postgres.address import Address
from middle_core.stores.postgres.checkpoints import make_tables
from middle_core.stores.statements import load_migrations
from middle_core.stores.store import DatabaseRefused

logger = logging.getLogger(__name__)

MIGRATION_LOCK: Final = 0x6D6964646C65
"""The key of the advisory lock under which one replica at a time changes the schema: "middle" in ASCII."""
MIGRATION_WAIT_S: Final = 110.0
"""How long a replica waits for another one's migration. Less than the two minutes that a platform gives a start."""
_LOOK_S: Final = 0.1


async def schema_version(address: Address) -> int:
    """The version of the schema in the database; 0 where there is none. Raises `DatabaseRefused` where it cannot be reached."""
    async with _connect(address.for_schema, address.schema_from) as db:
        return await _version(db)


async def migrate(address: Address) -> None:
    """Apply what is missing, one replica at a time.

    Raises:
        DatabaseRefused: the database cannot be reached or changed, its schema is newer, or another migration does not end.
    """
    async with (
        _connect(address.for_schema, address.schema_from) as lock,
        _alone(lock),
        _connect(address.for_schema, address.schema_from) as db,
    ):
        try:
            await _apply(db)
            await make_tables(db)
        except psycopg.Error as error:
            logger.debug("the schema could not be changed", exc_info=error)
            raise DatabaseRefused(
                f"The schema of the database of {address.schema_from} cannot be changed: {type(error).__name__}. "
                "Run `python -m middle_core migrate` as a user that may create tables in it."
            ) from error


async def _apply(db: psycopg.AsyncConnection[DictRow]) -> None:
    steps = load_migrations("postgres")
    async with db.transaction():
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


async def _version(db: psycopg.AsyncConnection[DictRow]) -> int:
    [found] = await (await db.execute("SELECT to_regclass('schema_version') IS NOT NULL AS there")).fetchall()
    if not found["there"]:
        return 0
    [row] = await (await db.execute("SELECT coalesce(max(version), 0) AS version FROM schema_version")).fetchall()
    return int(row["version"])


@asynccontextmanager
async def _alone(db: psycopg.AsyncConnection[DictRow]) -> AsyncIterator[None]:
    """Hold the migration lock, in a transaction: behind a PgBouncer a session's lock would stay with somebody else's connection.

    The lock is tried again and again, each time in a transaction of its own, instead of waited for: LangGraph's CREATE INDEX
    CONCURRENTLY waits for every transaction that has a snapshot, so a transaction that waits for the lock would be waited for in turn. The
    statement has no parameter for the same reason: one with parameters keeps its snapshot until the next statement.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + MIGRATION_WAIT_S
    while loop.time() < due:
        async with db.transaction():
            [row] = await (await db.execute(f"SELECT pg_try_advisory_xact_lock({MIGRATION_LOCK}) AS held")).fetchall()
            if row["held"]:
                yield
                return
        await asyncio.sleep(_LOOK_S)
    raise DatabaseRefused(
        f"Another process has been changing the schema of the database for {MIGRATION_WAIT_S:.0f} s. Look what it waits for "
        "(pg_stat_activity), then start again."
    )


@asynccontextmanager
async def _connect(conninfo: str, variable: str) -> AsyncIterator[psycopg.AsyncConnection[DictRow]]:
    """A connection of its own, for the schema. Its errors never repeat the URL: it may hold a password."""
    try:
        # Nothing is prepared: behind a PgBouncer the next statement may meet another server connection.
        db = await psycopg.AsyncConnection.connect(conninfo, autocommit=True, row_factory=dict_row, prepare_threshold=None)
    except psycopg.Error as error:
        logger.debug("no connection to Postgres", exc_info=error)
        raise DatabaseRefused(
            f"The database of {variable} cannot be reached, or refuses the sign-in. Check the host, the port, the user, the password and "
            "the database's name."
        ) from None
    async with db:
        yield db


async def reachable(address: Address) -> None:
    """Raise `DatabaseRefused` unless the pool's own way leads to the database, too."""
    async with _connect(address.pooled, "MIDDLE_CORE_DATABASE_URL"):
        return
