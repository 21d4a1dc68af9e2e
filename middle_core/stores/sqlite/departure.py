"""A SQLite file as the source of a copy: locked, so that no server writes it meanwhile, and brought to this version's schema."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver

from middle_core.stores.content import TABLES, Content
from middle_core.stores.sqlite.checkpoints import open_saver
from middle_core.stores.sqlite.database import SqliteDatabase
from middle_core.stores.sqlite.file import database_path
from middle_core.stores.store import DatabaseRefused

_QUERIES: Final[Mapping[str, str]] = {
    "threads": "SELECT * FROM threads WHERE thread_id = ?",
    "runs": "SELECT * FROM runs WHERE thread_id = ? ORDER BY number",
    "run_events": """
        SELECT r.thread_id, r.started_at AS run_started_at, e.*
        FROM run_events AS e INNER JOIN runs AS r ON e.run_id = r.run_id
        WHERE r.thread_id = ? ORDER BY r.number, e.seq""",
    "tool_calls": "SELECT * FROM tool_calls WHERE thread_id = ? ORDER BY tool_call_id",
    "interrupts": "SELECT * FROM interrupts WHERE thread_id = ? ORDER BY place",
    "interrupt_answers": "SELECT * FROM interrupt_answers WHERE thread_id = ? ORDER BY place",
    "checkpoint_writes": """
        SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value AS blob
        FROM writes WHERE thread_id = ? ORDER BY checkpoint_ns, checkpoint_id, task_id, idx""",
}
_RENAMED: Final = {("interrupt_answers", "by"): "answered_by"}


class SqliteSource:
    """See `copying.Source`."""

    def __init__(self, database: SqliteDatabase, saver: BaseCheckpointSaver[str]) -> None:
        self._database = database
        self._saver = saver

    async def threads(self) -> list[str]:
        """The id of every thread, in order."""

        def work(db: sqlite3.Connection) -> list[str]:
            return [str(row[0]) for row in db.execute("SELECT thread_id FROM threads ORDER BY thread_id")]

        return await self._database.read(work)

    async def thread(self, thread_id: str) -> Content:
        """All of one thread."""

        def work(db: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
            return {name: [_row(name, row) for row in db.execute(_QUERIES[name], (thread_id,))] for name in TABLES}

        checkpoints = [one async for one in self._saver.alist({"configurable": {"thread_id": thread_id}})]
        return Content(await self._database.read(work), checkpoints, self._saver.serde)


def _row(table: str, row: sqlite3.Row) -> dict[str, Any]:
    return {_RENAMED.get((table, name), name): row[name] for name in row.keys()}  # noqa: SIM118 - a Row iterates over its values


@asynccontextmanager
async def open_source(url: str) -> AsyncIterator[SqliteSource]:
    """The file, locked until the end.

    Raises:
        DatabaseRefused: a server has it open, it is not there, or it cannot be used.
    """
    path = database_path(url)
    if not await asyncio.to_thread(path.exists):
        raise DatabaseRefused(f"There is no file {path.name} to copy from.")
    async with SqliteDatabase.open(url) as database, open_saver(database) as saver:
        yield SqliteSource(database, saver)
