"""One open SQLite file: its lock, the one thread that writes, the threads that read, the named statements, and the fence.

Every write goes through one thread (`Writer`), so that operations of all runs share commits and never meet SQLITE_BUSY. What the
tables mean is for `log`, `interrupts` and `checkpoints`, which share the file.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
import sqlite3
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

from middle_core.errors import StoreUnavailable, Superseded
from middle_core.eventlog.records import Claim
from middle_core.stores.sqlite.file import FileLock, database_path, open_database
from middle_core.stores.sqlite.threads import Readers, T, Work, Writer
from middle_core.stores.statements import load_statements

WRITE_CHECK_S: Final = 5.0
"""A ping also looks for room and writes, this often at most: on a full disk everything can be read and no run be started."""
LEAST_FREE_BYTES: Final = 16 * 1024 * 1024
"""Below it the disk counts as full. A small write alone would show nothing: the write-ahead log has room of its own for a while."""

Params = Mapping[str, Any]


class SqliteDatabase:
    """The file of one process. Make it with `open`."""

    def __init__(self, path: Path, lock: FileLock, writer: Writer, readers: Readers, *, least_free_bytes: int) -> None:
        self.path = path
        self._lock: FileLock | None = lock
        self._writer = writer
        self._readers = readers
        self._least_free_bytes = least_free_bytes
        self._write_check_at = 0.0
        self._sql = load_statements("sqlite")

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, *, least_free_bytes: int = LEAST_FREE_BYTES) -> AsyncIterator[Self]:
        """The file of `url` (`sqlite:///file.db`), made or migrated if need be, closed at the end.

        Args:
            least_free_bytes: with less room on the disk a ping fails.

        Raises:
            DatabaseRefused: another process has it, its schema is newer, or it cannot be used at all.
        """
        path = database_path(url)
        lock, writing, reading = await asyncio.to_thread(open_database, path)
        database = cls(path, lock, Writer(writing), Readers(reading), least_free_bytes=least_free_bytes)
        try:
            yield database
        finally:
            await database.close()

    def statement(self, name: str) -> str:
        """The text of a named statement."""
        return self._sql[name]

    def run(self, db: sqlite3.Connection, name: str, params: Params) -> list[sqlite3.Row]:
        """Run a named statement, inside of a `Work`, and read it out."""
        # To the last row: a statement with RETURNING that is not read out blocks the commit.
        return db.execute(self._sql[name], params).fetchall()

    async def read(self, work: Work[T]) -> T:
        """Run `work` on a connection that cannot write, in a reader's thread."""
        return await self._readers.run(work)

    async def rows(self, name: str, params: Params) -> list[sqlite3.Row]:
        """The rows of one named statement."""
        return await self._readers.run(lambda db: self.run(db, name, params))

    async def write(self, work: Work[T], *, to_disk: bool = True, committed: Callable[[T], None] | None = None) -> T:
        """Run `work` in a transaction, without a claim. See `Writer.submit`."""
        return await self._writer.submit(work, to_disk=to_disk, committed=committed)

    async def transact(self, claim: Claim, work: Work[T], *, to_disk: bool = True) -> T:
        """Run `work` in a transaction in which the claim holds. Raises `Superseded` if it does not.

        `work` runs in the writer's thread and must not commit: the operations of others share the transaction.

        Args:
            to_disk: see `Writer.submit`.
        """

        def fenced(db: sqlite3.Connection) -> T:
            if not self.run(db, "fence", fence(claim)):
                raise Superseded
            return work(db)

        return await self._writer.submit(fenced, to_disk=to_disk)

    async def ping(self) -> None:
        """Raise `StoreUnavailable` unless the file can be read, and now and then unless it can be written."""
        await self.rows("ping", {})
        if (now := asyncio.get_running_loop().time()) >= self._write_check_at:
            free = await self._readers.run(lambda _db: shutil.disk_usage(self.path.parent).free)
            if free < self._least_free_bytes:
                raise StoreUnavailable from OSError(errno.ENOSPC, f"{free} bytes are free, fewer than {self._least_free_bytes}")
            await self._writer.submit(lambda db: self.run(db, "touch", {}))
            self._write_check_at = now + WRITE_CHECK_S

    async def close(self) -> None:
        """Finish what was submitted, then let the next process in. Idempotent."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            await self._writer.close()
            await self._readers.close()
        finally:
            lock.release()

    def __del__(self) -> None:
        if getattr(self, "_lock", None) is not None:
            warnings.warn(f"{type(self).__name__} of {self.path.name} was not closed.", ResourceWarning, stacklevel=1, source=self)


def fence(claim: Claim) -> dict[str, Any]:
    """The parameters of every statement that a claim guards."""
    return {"run_id": claim.run_id, "attempt": claim.attempt, "token": claim.token}
