"""The store in one SQLite file: for one replica, with nothing else to install."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from middle_core.stores.alone import Alone
from middle_core.stores.claims import ClaimSource, no_claim
from middle_core.stores.sqlite.checkpoints import open_saver
from middle_core.stores.sqlite.database import SqliteDatabase
from middle_core.stores.sqlite.file import database_path, schema_version
from middle_core.stores.sqlite.interrupts import SqliteInterrupts
from middle_core.stores.sqlite.log import SqliteEventLog
from middle_core.stores.store import Store
from middle_core.stores.tail import TailBounds, Tails


@asynccontextmanager
async def open_store(url: str, *, claim: ClaimSource = no_claim, bounds: TailBounds | None = None) -> AsyncIterator[Store]:
    """See `stores.urls.open_store`."""
    tails = Tails(bounds)
    try:
        async with SqliteDatabase.open(url) as database, open_saver(database, claim) as saver:
            log = SqliteEventLog(database, tails)
            yield Store(log=log, questions=SqliteInterrupts(database), saver=saver, replicas=Alone(), shared=False)
    finally:
        tails.wake_all()  # who still waits for a change sees that the database is closed


async def migrate(url: str) -> tuple[int, int]:
    """See `stores.urls.migrate`."""
    path = database_path(url)
    before = await asyncio.to_thread(schema_version, path)
    async with open_store(url):  # it also makes LangGraph's tables
        return before, await asyncio.to_thread(schema_version, path)
