"""A database for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.postgres import PostgresServer


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path) -> str:
    return postgres.of(tmp_path)
