"""The database file: its URL, its lock, its connections and its schema.

One process at a time: WAL has one writer, and followers on a second replica would not get hints. The
lock is `flock` on a file beside the database, which the kernel releases when the process dies, however
it dies. Knows nothing of runs or events.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from middle_core.stores.statements import Migration, load_migrations
from middle_core.stores.store import DatabaseRefused

_SCHEME: Final = "sqlite:///"
_BUSY_MS: Final = 10_000
"""How long a connection waits for another one's write, such as a backup's or a person's with the sqlite3 tool."""
_WAL_BYTES: Final = 64 * 1024 * 1024
"""The size to which a grown write-ahead log is cut back."""
_READERS: Final = 2


def database_path(url: str) -> Path:
    """The file of `sqlite:///relative.db` or `sqlite:////absolute.db`. Raises `DatabaseRefused`."""
    name = url.removeprefix(_SCHEME)
    if name == url or not name or name == ":memory:" or "?" in name:
        raise DatabaseRefused(
            f"{url.partition('://')[0]!r} is not the URL of a SQLite file. Write sqlite:///folder/file.db, or sqlite:////absolute/file.db."
        )
    return Path(name)


class FileLock:
    """The exclusive right to a database, held from construction to `release`."""

    def __init__(self, database: Path) -> None:
        self._fd = os.open(database.with_name(database.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            if not isinstance(error, BlockingIOError):
                raise DatabaseRefused(
                    f"The folder of {database.name} cannot lock files ({error.strerror}). SQLite needs a local disk: "
                    "put the file on one (MIDDLE_CORE_DATABASE_URL=sqlite:////path/to/file.db)."
                ) from error
            raise DatabaseRefused(
                f"{database.name} is in use by another process. SQLite serves one replica only: "
                "stop the other one, or give this one a file of its own (MIDDLE_CORE_DATABASE_URL=sqlite:////path/to/file.db)."
            ) from error

    def release(self) -> None:
        """Let the next process in. The file stays: deleting it would let two processes lock two files."""
        os.close(self._fd)


def create_file(database: Path) -> None:
    """Make the file and its folder if absent, readable by this user only: it holds people's conversations.

    Raises `DatabaseRefused` where that is not possible.
    """
    try:
        database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise DatabaseRefused(
            f"{database.name} cannot be made or written: {error.strerror}. Set MIDDLE_CORE_DATA_DIR or MIDDLE_CORE_DATABASE_URL to a place this user may write."
        ) from error


def connect_writer(database: Path) -> sqlite3.Connection:
    """The one connection that writes. A commit has reached the disk when it returns, until the writer says otherwise."""
    connection = _connect(database, "rw")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    return connection


def connect_reader(database: Path) -> sqlite3.Connection:
    """A connection that cannot write."""
    return _connect(database, "ro")


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Bring the schema up to date, one transaction per step. Raises `DatabaseRefused` for a newer schema."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_version (\n"
        "    version INTEGER NOT NULL PRIMARY KEY,\n    name TEXT NOT NULL,\n    applied_at INTEGER NOT NULL\n) STRICT"
    )
    [(version,)] = connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchall()
    if version > len(migrations):
        raise DatabaseRefused(
            f"The database has schema version {version}, this program knows {len(migrations)}. Start the newer program, or restore a backup."
        )
    for migration in migrations[version:]:
        # executescript commits what is open before it starts, so the transaction stands in the script.
        try:
            connection.executescript(f"BEGIN IMMEDIATE;\n{migration.sql}")
            connection.execute(
                "INSERT INTO schema_version (version, name, applied_at) SELECT ?, ?, ms FROM clock", (migration.version, migration.name)
            )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def schema_version(path: Path) -> int:
    """The version of the schema in the file; 0 where there is no file or no schema yet. Raises `DatabaseRefused`."""
    if not path.exists():
        return 0
    connection = connect_reader(path)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'").fetchall():
            return 0
        [(version,)] = connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchall()
    except sqlite3.DatabaseError as error:
        raise DatabaseRefused(
            f"{path.name} cannot be read as a SQLite database: {error}. Restore a backup, or name another file."
        ) from error
    finally:
        connection.close()
    return int(version)


def open_database(path: Path) -> tuple[FileLock, sqlite3.Connection, list[sqlite3.Connection]]:
    """Lock, make and migrate the file. On failure nothing stays open."""
    create_file(path)
    lock = FileLock(path)
    connections: list[sqlite3.Connection] = []
    try:
        connections.append(connect_writer(path))
        migrate(connections[0], load_migrations("sqlite"))
        connections += [connect_reader(path) for _ in range(_READERS)]
    except BaseException as error:
        for connection in connections:
            connection.close()
        lock.release()
        if isinstance(error, sqlite3.DatabaseError):
            raise DatabaseRefused(
                f"{path.name} cannot be opened as a SQLite database: {error}. Restore a backup, or name another file."
            ) from error
        raise
    return lock, connections[0], connections[1:]


def _connect(database: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{database.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        # Each connection is used by one thread at a time; which one may change.
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return connection
