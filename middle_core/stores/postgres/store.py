"""The store in Postgres: for any number of replicas."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from middle_core.events import RunId
from middle_core.stores.postgres.checkpoints import open_saver
from middle_core.stores.postgres.database import PostgresDatabase, schema_version, split_url
from middle_core.stores.postgres.hints import Hints
from middle_core.stores.postgres.interrupts import PostgresInterrupts
from middle_core.stores.postgres.log import PostgresEventLog
from middle_core.stores.store import Store
from middle_core.stores.tail import TailBounds, Tails


@asynccontextmanager
async def open_store(url: str, *, bounds: TailBounds | None = None) -> AsyncIterator[Store]:
    """See `stores.urls.open_store`."""
    tails = Tails(bounds)
    conninfo, _, bouncer = split_url(url)
    try:
        async with (
            PostgresDatabase.open(url) as database,
            open_saver(database) as saver,
            Hints(database, None if bouncer else conninfo, tails, _nobody) as hints,
            PostgresEventLog(database, tails, hints) as log,
        ):
            yield Store(log=log, questions=PostgresInterrupts(database), saver=saver, shared=True)
    finally:
        tails.wake_all()  # who still waits for a change sees that the database is closed


def _nobody(run_id: RunId) -> None:
    """Nobody is told."""


async def migrate(url: str) -> tuple[int, int]:
    """See `stores.urls.migrate`."""
    before = await schema_version(url)
    async with open_store(url):  # it also makes LangGraph's tables
        return before, await schema_version(url)
