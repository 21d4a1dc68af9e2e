"""A real Postgres for the folder, and a database for each test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with running_postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture
def url(server: PostgresServer, tmp_path: Path) -> str:
    return server.database("t" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16])
