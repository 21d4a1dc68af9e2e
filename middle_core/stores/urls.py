"""Which adapter a database URL names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from middle_core.stores.sqlite import store as sqlite
from middle_core.stores.store import Store
from middle_core.stores.tail import TailBounds


@asynccontextmanager
async def open_store(url: str, *, bounds: TailBounds | None = None) -> AsyncIterator[Store]:
    """The store at `url`, made or brought to this version's schema if need be, closed at the end.

    Args:
        url: `sqlite:///folder/file.db` or `sqlite:////absolute/file.db`.
        bounds: how many records are kept in memory for followers on this replica.

    Raises:
        DatabaseRefused: the URL names no database of ours, another process has it, its schema is newer, or it cannot be used.
    """
    async with sqlite.open_store(url, bounds=bounds) as store:
        yield store


async def migrate(url: str) -> tuple[int, int]:
    """Bring the database to this version's schema, as `open_store` does. Returns the versions before and after.

    Raises:
        DatabaseRefused: as `open_store`; also where a server has a SQLite file open.
    """
    return await sqlite.migrate(url)
