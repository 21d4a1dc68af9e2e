"""How the contracts of a store open it. An adapter's test module says which URL its databases have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from middle_core.eventlog.port import EventLog
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store


class StoreContract:
    """Subclass it as `Test...`, with the contracts that the adapter keeps."""

    def url(self, home: Path) -> str:
        """The URL of the one database that belongs to this folder. The same folder gives the same database."""
        raise NotImplementedError

    def open(self, home: Path) -> AbstractAsyncContextManager[Store]:
        """The store on that database, which is made if absent."""
        return open_store(self.url(home))

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with self.open(tmp_path) as store:
            yield store

    @pytest.fixture
    def log(self, store: Store) -> EventLog:
        return store.log
