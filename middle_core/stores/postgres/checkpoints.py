"""LangGraph's checkpoints in the log's own Postgres, fenced by the run's claim.

LangGraph's saver knows no owner: an attempt that was superseded, or a tool that comes back after a stop, would overwrite what its
successor wrote. It never commits by itself, so a write here is one transaction: a connection of the pool, the claim checked, and
LangGraph's own statements by a saver made for that connection. It waits for the disk: a later checkpoint names the values of an
earlier one and does not repeat them, so a crash of the database must not take the earlier one alone. A saver over the whole pool would
be no faster than one connection: it holds one lock around every call. Knows no agent and no event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from langgraph.checkpoint.serde.types import ERROR

from middle_core.stores.claims import ClaimSource, claim_on, no_claim
from middle_core.stores.postgres.database import Connection, PostgresDatabase
from middle_core.stores.postgres.inline import WrappedSerializer, jsonb_safe

_PAGE: Final = 20
"""Checkpoints read at once: each holds the whole conversation."""


class FencedPostgresSaver(BasePostgresSaver):
    """LangGraph's Postgres saver (langgraph-checkpoint-postgres 3.2), on a connection of the pool for each call, its writes fenced.

    A method that a newer LangGraph adds to write is not passed on: `BaseCheckpointSaver` raises NotImplementedError for it.
    """

    def __init__(self, database: PostgresDatabase, claim: ClaimSource = no_claim) -> None:
        super().__init__()
        self._claim = claim
        self.serde = WrappedSerializer(self.serde)
        self._database = database

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """One checkpoint."""
        async with self._database.connection() as db:
            return await self._on(db).aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, newest first, a page at a time: no connection is held while the caller looks at a row."""
        while limit is None or limit > 0:
            size = _PAGE if limit is None else min(_PAGE, limit)
            async with self._database.connection() as db:
                page = [one async for one in self._on(db).alist(config, filter=filter, before=before, limit=size)]
            for one in page:
                yield one
            if len(page) < size:
                return
            before = page[-1].config
            limit = None if limit is None else limit - size

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Save a checkpoint."""
        safe = jsonb_safe(checkpoint)
        return await self._database.transact(
            claim_on(str(config["configurable"]["thread_id"]), self._claim),
            lambda db: self._on(db).aput(config, safe, metadata, new_versions),
        )

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Save what a task wrote before its step is complete. Of an error its type only: its text may hold a password of the agent's."""
        safe = [(channel, type(value).__name__ if channel == ERROR else value) for channel, value in writes]
        await self._database.transact(
            claim_on(str(config["configurable"]["thread_id"]), self._claim),
            lambda db: self._on(db).aput_writes(config, safe, task_id, task_path),
        )

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the thread's checkpoints, as the run that holds it. A thread as a whole: `EventLog.delete_thread`."""
        await self._database.transact(claim_on(str(thread_id), self._claim), lambda db: self._on(db).adelete_thread(str(thread_id)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop what no run needs any more, as the run that holds the thread. Raises ValueError for another strategy than `keep_latest`.

        LangGraph's own statements need a transaction of their own kind, so the claim is checked before it and not in it. A newest
        checkpoint is kept whoever prunes, so an attempt that is superseded in between takes nothing away.
        """
        if strategy != "keep_latest":
            raise ValueError(f"There is no strategy {strategy!r}: the newest checkpoint of each namespace is kept.")
        for thread_id in map(str, thread_ids):
            await self._database.transact(claim_on(thread_id, self._claim), _nothing, to_disk=False)
            async with self._database.connection() as db:
                await self._on(db).aprune([thread_id], strategy=strategy)

    async def put_copy(self, db: Connection, found: CheckpointTuple) -> None:
        """Write a checkpoint of another database, in the transaction of whoever brings its thread. Its writes are rows of their own."""
        config = found.parent_config or {"configurable": {**found.config["configurable"], "checkpoint_id": None}}
        checkpoint = jsonb_safe(found.checkpoint)
        await self._on(db).aput(config, checkpoint, found.metadata, found.checkpoint["channel_versions"])

    async def all_of(self, db: Connection, thread_id: str) -> list[CheckpointTuple]:
        """All checkpoints of a thread, newest first."""
        return [one async for one in self._on(db).alist({"configurable": {"thread_id": thread_id}})]

    def _on(self, db: Connection) -> AsyncPostgresSaver:
        return AsyncPostgresSaver(db, serde=self.serde)


async def _nothing(_db: Connection) -> None:
    """The fence alone."""


async def make_tables(db: Connection) -> None:
    """Make LangGraph's tables, or bring them to what the installed version needs. Not in a transaction, and one at a time."""
    await AsyncPostgresSaver(db).setup()
