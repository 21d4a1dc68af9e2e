"""The threads that use SQLite for the event loop: one that writes, a few that read.

Natural batching: while one commit waits for the disk, the next operations gather; the writer takes
them all into one transaction. Nothing is ever held back for a timer. Knows no table.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

from middle_core.errors import StoreUnavailable

_log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_CAPACITY: Final = 1_024
"""Operations that may wait; the next ones wait for room, which slows their runs down."""
_BATCH: Final = 256
"""Operations in one transaction."""


@dataclass(slots=True)
class _Operation:
    work: Work[Any]
    to_disk: bool
    committed: Callable[[Any], None] | None
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class Writer:
    """Runs operations one after another on the one connection that writes; several share a commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Operation | None] = SimpleQueue()
        self._room = asyncio.Semaphore(_CAPACITY)
        self._stopped = asyncio.Event()
        self._closing = False
        self._syncs = True
        self._thread = Thread(target=self._run, name="middle-core-sqlite-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work[T], *, to_disk: bool = True, committed: Callable[[T], None] | None = None) -> T:
        """Run `work` in a transaction; return what it returned once that is committed.

        to_disk: wait until the disk has it, and with it everything committed before. Without, it survives the death of this
        process; only the machine's could take it back, and never something later without something earlier.

        An exception of `work` undoes its writes, and no others, and is raised here. `committed` is called
        on the loop after the commit, also if the caller was cancelled meanwhile: cancelling stops the
        waiting, not the write. Raises `StoreUnavailable` if the database fails.
        """
        await self._room.acquire()
        if self._closing:
            self._room.release()
            raise StoreUnavailable
        operation = _Operation(work, to_disk, committed, self._loop.create_future())
        self._queue.put(operation)
        try:
            result: T = await operation.future
        except sqlite3.Error as error:
            raise StoreUnavailable from error
        return result

    async def close(self) -> None:
        """Finish what was submitted and close the connection. Idempotent."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        await self._stopped.wait()

    def _run(self) -> None:
        try:
            more = True
            while more:
                batch, more = self._take()
                try:
                    self._commit(batch)
                finally:
                    self._loop.call_soon_threadsafe(self._settle, batch)
        except Exception:
            _log.critical("The database writer has stopped; nothing can be written until a restart.", exc_info=True)
            raise
        finally:
            self._connection.close()
            self._loop.call_soon_threadsafe(self._after_last)

    def _take(self) -> tuple[list[_Operation], bool]:
        """Everything that waits, at least one; False once the queue is closed."""
        batch: list[_Operation] = []
        operation = self._queue.get()
        while operation is not None:
            batch.append(operation)
            if len(batch) == _BATCH:
                return batch, True
            try:
                operation = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: Sequence[_Operation]) -> None:
        if not batch:
            return
        try:
            syncs = any(operation.to_disk for operation in batch)
            if syncs != self._syncs:
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if syncs else 'NORMAL'}")
                self._syncs = syncs
            self._connection.execute("BEGIN IMMEDIATE")
            if len(batch) == 1:  # it needs no savepoint: two statements less, and two changes of the interpreter's owner
                self._try(batch[0])
                self._connection.execute("ROLLBACK" if batch[0].error else "COMMIT")
                return
            for operation in batch:
                self._connection.execute("SAVEPOINT operation")
                if not self._try(operation):
                    self._connection.execute("ROLLBACK TO operation")
                self._connection.execute("RELEASE operation")
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            _log.exception("A batch of %d database operations failed.", len(batch))
            for operation in batch:
                operation.error = error
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _try(self, operation: _Operation) -> bool:
        try:
            operation.result = operation.work(self._connection)
        except Exception as error:  # noqa: BLE001 - it is raised where the operation is awaited
            operation.error = error
        return operation.error is None

    def _settle(self, batch: Sequence[_Operation]) -> None:
        for operation in batch:
            self._room.release()
            if operation.error is None and operation.committed is not None:
                try:
                    operation.committed(operation.result)
                except Exception:  # noqa: BLE001 - one fault must not leave the others of the batch waiting
                    _log.exception("What was committed could not be announced; readers find it in the database.")
            if operation.future.done():  # its caller was cancelled
                continue
            if operation.error is None:
                operation.future.set_result(operation.result)
            else:
                operation.future.set_exception(operation.error)

    def _after_last(self) -> None:
        """The thread has ended: by `close`, or by a fault that must not leave anybody waiting."""
        self._closing = True
        while not self._queue.empty():
            operation = self._queue.get_nowait()
            if operation is not None:
                operation.error = StoreUnavailable()
                self._settle([operation])
        self._stopped.set()


class Readers:
    """A few read-only connections, each used by one thread at a time, off the loop."""

    def __init__(self, connections: Sequence[sqlite3.Connection]) -> None:
        self._connections = list(connections)
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        for connection in self._connections:
            self._idle.put(connection)
        self._closing = False
        self._pool = ThreadPoolExecutor(len(self._connections), thread_name_prefix="middle-core-sqlite-reader")

    async def run(self, work: Work[T]) -> T:
        """Run `work` on one of the connections. Raises `StoreUnavailable` if the database fails."""
        if self._closing:
            raise StoreUnavailable
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._work, work)
        except sqlite3.Error as error:
            raise StoreUnavailable from error

    async def close(self) -> None:
        """Wait for what runs and close the connections. Idempotent."""
        self._closing = True
        await asyncio.to_thread(self._pool.shutdown)
        for connection in self._connections:
            connection.close()

    def _work(self, work: Work[T]) -> T:
        connection = self._idle.get()
        try:
            return work(connection)
        finally:
            self._idle.put(connection)
