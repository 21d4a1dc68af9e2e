"""The contracts on a real Postgres: a database for each test."""

from __future__ import annotations

from collections.abc import Iterator
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
from tests.fakes.postgres import PostgresServer

TINY = TailBounds(records=4, bytes=2_000, total_bytes=3_000)

_server: list[PostgresServer] = []


@pytest.fixture(autouse=True)
def _on_the_server(postgres: PostgresServer) -> Iterator[None]:
    _server.append(postgres)
    yield
    _server.clear()


class PostgresContract(EventLogContract, EventLogLaws, InterruptLogContract, ReplicasContract):
    def url(self, home: Path) -> str:
        return _server[0].of(home)


class TestPostgres(PostgresContract):
    """As it ships."""

    async def test_it_is_for_many_replicas(self, store: Store) -> None:
        assert store.shared


@pytest.mark.slow
class TestPostgresWithATinyTail(PostgresContract):
    """Nearly everything comes from the database."""

    def open(self, home: Path) -> AbstractAsyncContextManager[Store]:
        return open_store(self.url(home), bounds=TINY)
