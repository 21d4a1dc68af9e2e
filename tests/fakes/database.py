"""A look into a server's database as an operator has it: with SQL, on whichever store the test runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.fakes.stack import Stack


def rows(server: Stack, query: str, **values: Any) -> list[dict[str, Any]]:
    """The rows of a query that both stores understand. `:name` stands for a value."""
    url = server.settings.resolved_database_url
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(query, values)]
    for name in values:
        query = query.replace(f":{name}", f"%({name})s")
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.cursor().execute(query.encode(), values).fetchall()
