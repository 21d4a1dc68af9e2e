"""The contracts on SQLite: with the tail in memory, and with a tail so small that most reads miss it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from middle_core.stores.store import Store
from middle_core.stores.tail import TailBounds
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import EventLogContract
from tests.contracts.eventlog_laws import EventLogLaws
from tests.contracts.interrupts_contract import InterruptLogContract
from tests.contracts.replicas_contract import ReplicasContract

TINY = TailBounds(records=4, bytes=2_000, total_bytes=3_000)


class TestSqlite(EventLogContract, EventLogLaws, InterruptLogContract, ReplicasContract):
    """With the bounds of production."""

    def url(self, home: Path) -> str:
        return f"sqlite:///{home}/log.db"

    async def test_it_is_for_one_replica(self, store: Store) -> None:
        assert not store.shared


@pytest.mark.slow
class TestSqliteWithATinyTail(EventLogContract, EventLogLaws, InterruptLogContract, ReplicasContract):
    """With a tail so small that nearly every read goes to the database."""

    def url(self, home: Path) -> str:
        return f"sqlite:///{home}/log.db"

    def open(self, home: Path) -> AbstractAsyncContextManager[Store]:
        return open_store(self.url(home), bounds=TINY)
