"""A Postgres as the target of a copy: threads arrive whole, as rows, with their checkpoints in the form of this store's saver."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import psycopg
from psycopg import sql

from middle_core.errors import StoreUnavailable
from middle_core.stores.content import TABLES, Content, Row
from middle_core.stores.postgres import schema
from middle_core.stores.postgres.address import address_of
from middle_core.stores.postgres.checkpoints import FencedPostgresSaver
from middle_core.stores.postgres.database import Connection, PostgresDatabase
from middle_core.stores.postgres.upkeep import Upkeep
from middle_core.stores.postgres.values import storable, uuid_or_none
from middle_core.stores.store import DatabaseRefused

_ORDER: Final[Mapping[str, str]] = {
    "threads": "thread_id",
    "runs": "number",
    "run_events": "(SELECT r.number FROM runs AS r WHERE r.thread_id = t.thread_id AND r.run_id = t.run_id), seq",
    "tool_calls": "tool_call_id",
    "interrupts": "place",
    "interrupt_answers": "place",
    "checkpoint_writes": 'checkpoint_ns COLLATE "C", checkpoint_id COLLATE "C", task_id COLLATE "C", idx',
}


class PostgresTarget:
    """See `copying.Target`."""

    def __init__(self, database: PostgresDatabase, saver: FencedPostgresSaver) -> None:
        self._database = database
        self._saver = saver
        self._known: dict[str, dict[str, str]] = {}

    async def fitting(self, content: Content) -> Content:
        """The thread as this store holds it: see `values.storable`; bytes for what may hold anything."""
        tables: dict[str, list[Row]] = {}
        for table, rows in content.tables.items():
            types = await self._types(table)
            if rows and (unknown := rows[0].keys() - types.keys()):
                raise DatabaseRefused(f"The target has no column {', '.join(sorted(unknown))} in {table}: the two schemas do not match.")
            tables[table] = [{name: _fitting(value, types[name]) for name, value in row.items()} for row in rows]
        return Content(tables, content.checkpoints, content.serializer)

    async def thread(self, thread_id: str) -> Content | None:
        """All of one thread, or None."""
        if uuid_or_none(thread_id) is None:
            raise DatabaseRefused(f"The id of the conversation {thread_id!r} is no UUID, so this program did not make it.")

        async def work(db: Connection) -> Content | None:
            found = await self._content(db, thread_id)
            return found if found.tables["threads"] else None

        return await self._database.write(work)

    async def put(self, thread_id: str, content: Content) -> Content:
        """Write the thread, and read it back."""

        async def work(db: Connection) -> Content:
            for table in TABLES:
                await self._insert(db, table, content.tables[table])
            # Oldest first: a checkpoint names its parent.
            for found in reversed(content.checkpoints):
                await self._saver.put_copy(db, found)
            return await self._content(db, thread_id)

        try:
            return await self._database.write(work)
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, psycopg.errors.UniqueViolation):
                raise
            raise DatabaseRefused(
                f"The conversation {thread_id} cannot be copied: its owner has another one of the same name at the target already."
            ) from error

    async def _insert(self, db: Connection, table: str, rows: Sequence[Row]) -> None:
        if not rows:
            return
        columns = list(rows[0])
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns)))
        async with db.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                await copy.write_row([row[name] for name in columns])

    async def _content(self, db: Connection, thread_id: str) -> Content:
        tables = {}
        for table in TABLES:
            query = sql.SQL("SELECT * FROM {} AS t WHERE thread_id = {} ORDER BY {}").format(
                sql.Identifier(table), sql.Literal(thread_id), sql.SQL(_ORDER[table])
            )
            tables[table] = [_plain(row) for row in await (await db.execute(query)).fetchall()]
        return Content(tables, await self._saver.all_of(db, thread_id), self._saver.serde)

    async def _types(self, table: str) -> dict[str, str]:
        if table not in self._known:
            self._known[table] = {row["name"]: row["type"] for row in await self._database.rows("columns", {"table": table})}
        return self._known[table]


def _fitting(value: Any, type_: str) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass") if type_ == "bytea" else storable(value)
    return value


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, uuid.UUID) else value for name, value in row.items()}


@asynccontextmanager
async def open_target(url: str, *, direct_url: str = "") -> AsyncIterator[PostgresTarget]:
    """The database, brought to this version's schema. Raises `DatabaseRefused`."""
    address = address_of(url, direct_url)
    await schema.migrate(address)
    async with PostgresDatabase.open(address) as database, Upkeep(database, run_ttl_s=0):
        yield PostgresTarget(database, FencedPostgresSaver(database))
