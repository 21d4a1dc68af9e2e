"""The last records of each run in memory, and who waits for the next one.

An adapter publishes here what it has committed; followers on this replica are then served without the
database. Bounded in records, bytes and runs; what is dropped is read from the database again. Belongs
to one event loop. Knows no database.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from middle_core.events import Record, RunId

_OVERHEAD = 256
"""Bytes that a record costs beside its data, and a tail beside its records, roughly."""


@dataclass(frozen=True, slots=True)
class TailBounds:
    """records and bytes of one run; total_bytes of all runs together."""

    records: int = 2_048
    bytes: int = 1024 * 1024
    total_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True)
class _Tail:
    """Every record of the run with `floor` < seq <= `head`, in order."""

    floor: int
    head: int
    records: list[Record] = field(default_factory=list)
    bytes: int = 0


class Tails:
    """The tails of the runs that this process wrote most recently."""

    def __init__(self, bounds: TailBounds | None = None) -> None:
        self._bounds = bounds if bounds is not None else TailBounds()
        self._tails: OrderedDict[RunId, _Tail] = OrderedDict()
        self._waiting: dict[RunId, set[asyncio.Future[None]]] = {}
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """What all tails hold, overhead included."""
        return self._bytes

    def publish(self, run_id: RunId, *, floor: int, records: Sequence[Record]) -> None:
        """Add records that are committed, and wake who waits. floor: the run's last seq before them."""
        if records:
            tail = self._tails.get(run_id)
            if tail is None:
                tail = self._tails[run_id] = _Tail(floor=floor, head=floor)
                self._grow(tail, _OVERHEAD)
            self._tails.move_to_end(run_id)
            tail.records.extend(records)
            tail.head = records[-1].seq
            self._grow(tail, sum(map(_cost, records)))
            if len(tail.records) > self._bounds.records or tail.bytes > self._bounds.bytes:
                self._trim(tail)
            while self._bytes > self._bounds.total_bytes:
                self._drop(next(iter(self._tails)))
        self.wake(run_id)

    def read(self, run_id: RunId, *, after: int, limit: int) -> list[Record] | None:
        """What `EventLog.read` returns, or None where the tail does not reach back to `after`."""
        tail = self._tails.get(run_id)
        if tail is None or after < tail.floor:
            return None
        start = bisect_right(tail.records, after, key=attrgetter("seq"))
        return tail.records[start : start + limit]

    def head(self, run_id: RunId) -> int | None:
        """The last committed seq of the run, where it is known here."""
        tail = self._tails.get(run_id)
        return None if tail is None else tail.head

    def watch(self, run_id: RunId) -> asyncio.Future[None]:
        """A future that the next `wake` of this run resolves. Give it back with `unwatch`."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, set()).add(future)
        return future

    def unwatch(self, run_id: RunId, future: asyncio.Future[None]) -> None:
        """Forget the future. Harmless if it was woken."""
        waiting = self._waiting.get(run_id)
        if waiting is not None:
            waiting.discard(future)
            if not waiting:
                del self._waiting[run_id]

    def wake(self, run_id: RunId) -> None:
        """Wake everybody who waits for this run."""
        for future in self._waiting.pop(run_id, ()):
            if not future.done():
                future.set_result(None)

    def wake_all(self) -> None:
        """Wake everybody: the log closes."""
        for run_id in list(self._waiting):
            self.wake(run_id)

    def forget(self, run_id: RunId) -> None:
        """Drop the run's tail, because its records are gone, and wake who waits so that they see it."""
        if run_id in self._tails:
            self._drop(run_id)
        self.wake(run_id)

    def _trim(self, tail: _Tail) -> None:
        """Halve the tail. Halving makes the cost of trimming constant per record."""
        keep = len(tail.records)
        size = tail.bytes
        while keep and (keep > self._bounds.records // 2 or size > self._bounds.bytes // 2):
            size -= _cost(tail.records[-keep])
            keep -= 1
        cut = len(tail.records) - keep
        tail.floor = tail.records[cut - 1].seq
        del tail.records[:cut]
        self._grow(tail, size - tail.bytes)

    def _drop(self, run_id: RunId) -> None:
        self._bytes -= self._tails.pop(run_id).bytes

    def _grow(self, tail: _Tail, by: int) -> None:
        tail.bytes += by
        self._bytes += by


def _cost(record: Record) -> int:
    return len(record.data) + _OVERHEAD
