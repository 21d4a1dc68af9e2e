"""The appends of all runs of this replica, in batches: one statement writes what has gathered while the one before was under way.

Nothing is held back for a timer. The appends of one run take effect in the order in which they were called: a batch holds one append
of a run at most, and a run's next append waits for the batch before. An append that must reach the disk makes its whole batch wait for
it, so these have a lane of their own, and text is not slowed down by the end of another run. It knows no more of events than their bytes.

While the database is away, appends wait, and the ones behind them. A crash of the database may take back what did not wait for the disk
and was read already. Such records are kept for a while, and come back under their numbers before anything follows them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

import psycopg

from middle_core.errors import StoreUnavailable, Superseded
from middle_core.eventlog.records import Claim
from middle_core.events import Record, RunId
from middle_core.stores.encoding import Encoded
from middle_core.stores.postgres.database import Connection, PostgresDatabase, fence, passes

logger = logging.getLogger(__name__)

T = TypeVar("T")

BATCH: Final = 256
"""Appends in one statement, at most."""
KEPT_S: Final = 5.0
"""How long an append is kept that did not wait for the disk. Postgres brings it there within a second, if it lives."""
CAPACITY: Final = 1_024
"""Appends that may wait; the next ones wait for room, which slows their runs down."""


@dataclass(slots=True, eq=False)
class _Append:
    claim: Claim
    encoded: Encoded
    after: int | None
    to_disk: bool
    done: asyncio.Future[list[Record]]


class Appends:
    """See the module. Use as an async context manager: leaving it writes what waits.

    Args:
        committed: called with the records of each append once they are committed, also where its caller was cancelled meanwhile.
    """

    def __init__(self, database: PostgresDatabase, committed: Callable[[Sequence[Record]], None]) -> None:
        self._database = database
        self._committed = committed
        self._waiting: list[_Append] = []
        self._under_way: list[_Append] = []
        """The appends of the batches that are being written: one of a run, at most."""
        self._kept: dict[RunId, deque[tuple[float, list[Record]]]] = {}
        """By run, what may not have reached the disk, with the loop's time of its commit."""
        self._room = asyncio.Semaphore(CAPACITY)
        self._work = asyncio.Event()
        self._closing = False
        self._lanes: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        # Owned here: both end in `__aexit__`.
        self._lanes = [
            asyncio.create_task(self._lane(to_disk=to_disk), name=f"appends to_disk={to_disk}")  # noqa: TID251
            for to_disk in (False, True)
        ]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._closing = True
        self._work.set()
        await asyncio.wait(self._lanes)
        for append in self._waiting:
            if not append.done.done():
                append.done.set_exception(StoreUnavailable())

    async def append(self, claim: Claim, encoded: Encoded, *, after: int | None, to_disk: bool) -> list[Record]:
        """Append the events. Returns their records once they are committed.

        Cancelling stops the waiting, not the write.

        Raises:
            Superseded: the claim does not hold any more, or the log does not end with `after`.
            StoreUnavailable: the database failed, or this replica is closing.
        """
        await self._room.acquire()
        if self._closing:
            self._room.release()
            raise StoreUnavailable
        append = _Append(claim, encoded, after, to_disk, asyncio.get_running_loop().create_future())
        self._waiting.append(append)
        self._work.set()
        return await append.done

    async def settled(self, run_id: RunId) -> None:
        """Wait until no append of the run waits or is under way."""
        while before := [append.done for append in (*self._under_way, *self._waiting) if append.claim.run_id == run_id]:
            await asyncio.wait(before)

    async def _lane(self, *, to_disk: bool) -> None:
        while True:
            batch = self._take(to_disk)
            if batch:
                await self._write(batch, to_disk=to_disk)
                continue
            if self._closing and not self._waiting:
                return
            self._work.clear()
            await self._work.wait()

    def _take(self, to_disk: bool) -> list[_Append]:
        """What may be written now: of each run its oldest append, if it belongs into this lane and none of the run is under way."""
        batch: list[_Append] = []
        left: list[_Append] = []
        passed = {append.claim.run_id for append in self._under_way}
        for append in self._waiting:
            run_id = append.claim.run_id
            if len(batch) < BATCH and append.to_disk is to_disk and run_id not in passed:
                batch.append(append)
            else:
                left.append(append)
            passed.add(run_id)
        self._waiting = left
        self._under_way += batch
        return batch

    async def _write(self, batch: Sequence[_Append], *, to_disk: bool) -> None:
        failed: Exception | None = None
        rows: dict[int, tuple[int, int]] = {}
        try:
            rows.update(await self._insert(batch, to_disk=to_disk))
            for index, append in enumerate(batch):
                if index not in rows and append.after is not None and await self._restored(append.claim, append.after):
                    again = await self._insert([append], to_disk=to_disk)
                    rows |= {index: again[0]} if again else {}
        except Exception as error:  # of any kind, else the lane would end, and every append after this one would wait for ever
            if len(batch) > 1 and not rows and isinstance(error.__cause__, psycopg.Error) and not passes(error):
                for append in batch:  # what Postgres does not take is one run's, and ends that run alone
                    await self._write([append], to_disk=to_disk)
                return
            logger.warning("appends failed", extra={"appends": len(batch)}, exc_info=error)
            failed = error
        for index, append in enumerate(batch):
            self._settle(append, rows.get(index), failed, to_disk=to_disk)
        self._work.set()

    def _settle(self, append: _Append, row: tuple[int, int] | None, failed: Exception | None, *, to_disk: bool) -> None:
        """Say what became of the append. row: the seq before it and its time, if it is written."""
        self._room.release()
        self._under_way.remove(append)
        records: list[Record] = []
        if row is not None:
            records = records_of(append.claim, append.encoded, floor=row[0], at=row[1])
            self._keep(records, to_disk=to_disk)
            self._committed(records)
        if append.done.done():  # its caller was cancelled
            return
        if row is not None:
            append.done.set_result(records)
        elif failed is None:
            append.done.set_exception(Superseded())
        else:
            unavailable = StoreUnavailable()
            unavailable.__cause__ = failed
            append.done.set_exception(unavailable)

    def forget(self, run_id: RunId) -> None:
        """The run is over here: nothing of it is kept."""
        self._kept.pop(run_id, None)

    async def mended(self, claim: Claim, after: int | None, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, which raises `Superseded` where the log does not end with `after`; again, if what it lacks could be restored."""
        try:
            return await work()
        except Superseded:
            if after is None or not await self._restored(claim, after):
                raise
        return await work()

    def _keep(self, records: list[Record], *, to_disk: bool) -> None:
        if not records:
            return
        run_id, now = records[0].run_id, asyncio.get_running_loop().time()
        if to_disk:  # and with it all that was committed before
            self.forget(run_id)
            return
        kept = self._kept.setdefault(run_id, deque())
        kept.append((now, records))
        while kept[0][0] < now - KEPT_S:
            kept.popleft()

    async def _restored(self, claim: Claim, after: int) -> bool:
        """Whether a crash had taken records up to `after` back, and they are in the log again. False where the claim is lost."""
        kept = [record for _, records in self._kept.get(claim.run_id, ()) for record in records if record.seq <= after]
        if not kept:
            return False

        async def work(db: Connection) -> bool:
            found = await self._database.run(db, "lock_run", fence(claim))
            if not found:
                return False
            lost = [record for record in kept if record.seq > found[0]["last_seq"]]
            if not lost or [record.seq for record in lost] != list(range(found[0]["last_seq"] + 1, after + 1)):
                return False
            params = {
                **fence(claim),
                "run_started_at": found[0]["started_at"],
                "seqs": [record.seq for record in lost],
                "ats": [record.at for record in lost],
                "types": [record.type for record in lost],
                "events": [record.data for record in lost],
                "last_seq": after,
            }
            await self._database.run(db, "restore_events", params)
            await self._database.run(db, "restore_run", params)
            return True

        return await self._database.write(work)

    async def _insert(self, batch: Sequence[_Append], *, to_disk: bool) -> dict[int, tuple[int, int]]:
        """Run the statement. Returns, by index of the append, the seq before it and its time."""
        params: dict[str, list[Any]] = {
            "indexes": list(range(len(batch))),
            "thread_ids": [one.claim.thread_id for one in batch],
            "run_ids": [one.claim.run_id for one in batch],
            "attempts": [one.claim.attempt for one in batch],
            "tokens": [one.claim.token for one in batch],
            "counts": [len(one.encoded) for one in batch],
            "afters": [one.after for one in batch],
            "event_indexes": [index for index, one in enumerate(batch) for _ in one.encoded],
            "numbers": [number for one in batch for number in range(1, len(one.encoded) + 1)],
            "types": [type_ for one in batch for type_, _ in one.encoded],
            "events": [data for one in batch for _, data in one.encoded],
        }
        found = await self._database.write(lambda db: self._database.run(db, "append", params), to_disk=to_disk)
        return {row["index"]: (row["floor"], row["at"]) for row in found}


def records_of(claim: Claim, encoded: Encoded, *, floor: int, at: int) -> list[Record]:
    """The records that the events became. floor: the seq before the first of them."""
    return [Record(claim.run_id, floor + number, claim.attempt, at, type_, data) for number, (type_, data) in enumerate(encoded, 1)]


async def insert_events(
    database: PostgresDatabase, db: Connection, claim: Claim, encoded: Encoded, *, floor: int, at: int, run_started_at: int
) -> None:
    """Write the events of one run, in the transaction of whatever they belong to. floor: the seq before the first of them."""
    params = {
        "thread_id": claim.thread_id,
        "run_id": claim.run_id,
        "attempt": claim.attempt,
        "floor": floor,
        "at": at,
        "run_started_at": run_started_at,
        "numbers": list(range(1, len(encoded) + 1)),
        "types": [type_ for type_, _ in encoded],
        "events": [data for _, data in encoded],
    }
    await database.run(db, "insert_events", params)
