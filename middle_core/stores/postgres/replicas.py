"""What the replicas of one Postgres tell one another: which runs shall stop, and where runs are followed.

A stop is a row (`EventLog.request_cancel`), and a hint shortens the way to it. Followers are rows alone, because nobody waits for them:
the owner of a run looks when its grace is over. Knows no task and no client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from middle_core.events import RunId
from middle_core.stores.postgres.database import PostgresDatabase
from middle_core.stores.postgres.hints import Hints
from middle_core.stores.postgres.values import uuid_or_none


class PostgresReplicas:
    """See `eventlog.port.Replicas`."""

    def __init__(self, database: PostgresDatabase, hints: Hints) -> None:
        self._database = database
        self._hints = hints

    def on_stop(self, told: Callable[[RunId], None]) -> None:
        self._hints.on_stop = told

    async def followed_here(self, run_ids: Collection[RunId], *, replica: str, for_s: float) -> None:
        known = [run_id for run_id in run_ids if uuid_or_none(run_id) is not None]
        if not known:
            return
        params = {"run_ids": known, "replica": replica, "for_ms": round(for_s * 1000)}
        await self._database.rows("follow_elsewhere" if for_s > 0 else "unfollow_elsewhere", params)

    async def followed_elsewhere(self, run_id: RunId, *, replica: str) -> bool:
        if uuid_or_none(run_id) is None:
            return False
        return bool(await self._database.rows("followed_elsewhere", {"run_id": run_id, "replica": replica}))
