"""The store in Postgres: for any number of replicas."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from middle_core.stores.claims import ClaimSource, no_claim
from middle_core.stores.postgres import schema
from middle_core.stores.postgres.address import address_of
from middle_core.stores.postgres.checkpoints import FencedPostgresSaver
from middle_core.stores.postgres.database import PostgresDatabase
from middle_core.stores.postgres.hints import Hints
from middle_core.stores.postgres.interrupts import PostgresInterrupts
from middle_core.stores.postgres.log import PostgresEventLog
from middle_core.stores.postgres.replicas import PostgresReplicas
from middle_core.stores.postgres.upkeep import Upkeep
from middle_core.stores.store import Store
from middle_core.stores.tail import TailBounds, Tails


@asynccontextmanager
async def open_store(
    url: str, *, claim: ClaimSource = no_claim, direct_url: str = "", run_ttl_s: float = 0, bounds: TailBounds | None = None
) -> AsyncIterator[Store]:
    """See `stores.urls.open_store`."""
    address = address_of(url, direct_url)
    await schema.reachable(address)
    await schema.migrate(address)
    tails = Tails(bounds)
    try:
        async with (
            PostgresDatabase.open(address) as database,
            Upkeep(database, run_ttl_s=run_ttl_s),
            Hints(database, address.direct, tails) as hints,
            PostgresEventLog(database, tails, hints) as log,
        ):
            yield Store(
                log=log,
                questions=PostgresInterrupts(database),
                saver=FencedPostgresSaver(database, claim),
                replicas=PostgresReplicas(database, hints),
                shared=True,
            )
    finally:
        tails.wake_all()  # who still waits for a change sees that the database is closed


async def migrate(url: str, *, direct_url: str = "") -> tuple[int, int]:
    """See `stores.urls.migrate`."""
    address = address_of(url, direct_url)
    before = await schema.schema_version(address)
    await schema.migrate(address)
    return before, await schema.schema_version(address)
