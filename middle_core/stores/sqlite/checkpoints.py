"""LangGraph's checkpoints in the log's own database, fenced by the run's claim.

LangGraph's saver commits inside its methods and knows no owner: an attempt that was superseded, or a
tool that comes back after a stop, would overwrite what its successor wrote. Here every write is one
transaction of the log's writer that checks the claim first. That also leaves one writer in the
file, so checkpoints and events never lock each other out, and a cancelled write cannot leave a
transaction open: it is done in the writer's thread, or not at all.

They do not wait for the disk, which the run's end and the tool ledger do, taking along all that came before.

Reads are LangGraph's own, on connections that cannot write. Knows no agent and no event.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from middle_core.stores.claims import ClaimSource, claim_on, no_claim
from middle_core.stores.sqlite.database import SqliteDatabase

_PUT: Final = """
INSERT OR REPLACE INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_WRITES: Final = """
INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_PUT_WRITES: Final = "INSERT OR IGNORE" + _WRITES
_PUT_SPECIAL_WRITES: Final = "INSERT OR REPLACE" + _WRITES
_PAGE: Final = 20
"""Checkpoints read at once: each holds the whole conversation."""
_DELETE: Final = ("DELETE FROM checkpoints WHERE thread_id = ?", "DELETE FROM writes WHERE thread_id = ?")

_PRUNE: Final = (
    """
    DELETE FROM checkpoints
    WHERE thread_id = ? AND checkpoint_id < (
        SELECT MAX(newest.checkpoint_id) FROM checkpoints AS newest
        WHERE newest.thread_id = checkpoints.thread_id AND newest.checkpoint_ns = checkpoints.checkpoint_ns
    )""",
    """
    DELETE FROM writes
    WHERE thread_id = ? AND NOT EXISTS (
        SELECT 1 FROM checkpoints AS kept
        WHERE kept.thread_id = writes.thread_id AND kept.checkpoint_ns = writes.checkpoint_ns AND kept.checkpoint_id = writes.checkpoint_id
    )""",
)


@asynccontextmanager
async def open_saver(database: SqliteDatabase, claim: ClaimSource = no_claim) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """The saver that writes through the database's writer; makes LangGraph's tables if absent. Close it before the database.

    Its writes raise `Superseded` if the claim does not hold any more, and `Unclaimed` outside of a run or
    for another thread than the claim's.
    """
    async with aiosqlite.connect(database.path, timeout=10, isolation_level=None) as connection:
        saver = FencedSqliteSaver(connection, database, claim)
        await saver.setup()
        # From here on it only reads: a write method that a newer LangGraph adds fails instead of passing the fence.
        await connection.execute("PRAGMA query_only = ON")
        yield saver


class FencedSqliteSaver(AsyncSqliteSaver):
    """LangGraph's SQLite saver (langgraph-checkpoint-sqlite 3.1) with its three writes replaced, and its listing paged."""

    def __init__(self, connection: aiosqlite.Connection, database: SqliteDatabase, claim: ClaimSource) -> None:
        super().__init__(connection)
        self._claim = claim
        self._database = database

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """One checkpoint, by LangGraph's synchronous saver in a reader's thread: one change of thread instead of one for each row."""

        def read(db: sqlite3.Connection) -> CheckpointTuple | None:
            saver = SqliteSaver(db, serde=self.serde)
            saver.is_setup = True  # the tables are there, and this connection could not make them
            return saver.get_tuple(config)

        return await self._database.read(read)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, newest first, a page at a time.

        LangGraph's own holds the connection's lock while its caller looks at a row: a slow caller stalls every
        thread's reads, and one that reads within its loop waits for itself.
        """
        while limit is None or limit > 0:
            size = _PAGE if limit is None else min(_PAGE, limit)
            rows = super().alist(config, filter=filter, before=before, limit=size)
            page = [found async for found in rows]
            for found in page:
                yield found
            if len(page) < size:
                return
            before = page[-1].config
            limit = None if limit is None else limit - size

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Save a checkpoint."""
        at = config["configurable"]
        thread_id, namespace = str(at["thread_id"]), at["checkpoint_ns"]
        type_, data = self.serde.dumps_typed(checkpoint)
        meta = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode("utf-8", "ignore")
        row = (thread_id, namespace, checkpoint["id"], at.get("checkpoint_id"), type_, data, meta)
        await self._write(thread_id, _PUT, [row])
        return {"configurable": {"thread_id": at["thread_id"], "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Save what a task wrote before its step is complete. Of an error its type only: its text may hold a password of the agent's."""
        at = config["configurable"]
        thread_id = str(at["thread_id"])
        place = (thread_id, str(at["checkpoint_ns"]), str(at["checkpoint_id"]), task_id, task_path)
        rows = [
            (
                *place,
                WRITES_IDX_MAP.get(channel, index),
                channel,
                *self.serde.dumps_typed(type(value).__name__ if channel == ERROR else value),
            )
            for index, (channel, value) in enumerate(writes)
        ]
        # Errors and interrupts have fixed places and replace what stands there; a task's results are written once.
        special = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        await self._write(thread_id, _PUT_SPECIAL_WRITES if special else _PUT_WRITES, rows)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the thread's checkpoints, as the run that holds it. A thread as a whole: `EventLog.delete_thread`."""

        def work(db: sqlite3.Connection) -> None:
            for statement in _DELETE:
                db.execute(statement, (str(thread_id),))

        await self._database.transact(claim_on(str(thread_id), self._claim), work)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop what no run needs any more, as the run that holds the thread. Raises ValueError for another strategy than `keep_latest`."""
        if strategy != "keep_latest":
            raise ValueError(f"There is no strategy {strategy!r}: the newest checkpoint of each namespace is kept.")

        for thread_id in map(str, thread_ids):

            def work(db: sqlite3.Connection, thread_id: str = thread_id) -> None:
                for statement in _PRUNE:
                    db.execute(statement, (thread_id,))

            await self._database.transact(claim_on(thread_id, self._claim), work, to_disk=False)

    async def _write(self, thread_id: str, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.executemany(statement, rows)

        await self._database.transact(claim_on(thread_id, self._claim), work, to_disk=False)
