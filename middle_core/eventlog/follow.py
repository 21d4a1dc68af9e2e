"""Read a run: what its log has (`replay`), or what it has after a cursor and then what comes, until the terminal record (`follow`).

`follow` is the one loop for the live tail and for every reconnect. It pulls: a slow reader holds one batch, and nothing piles
up for it anywhere. Knows no transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final

from middle_core.errors import NotFound
from middle_core.eventlog.port import EventLog
from middle_core.events import Record, RunId

BATCH: Final = 256
"""Records yielded at once, at most."""


async def replay(log: EventLog, run_id: RunId) -> AsyncIterator[Record]:
    """What the run's log has now, from the beginning. Ends there, whether or not more is to come."""
    after = 0
    while records := await log.read(run_id, after=after, limit=BATCH):
        for record in records:
            yield record
        after = records[-1].seq


async def follow(log: EventLog, run_id: RunId, *, after: int, tick: Callable[[], float]) -> AsyncGenerator[list[Record], None]:
    """The records with seq > after, in order, in batches, until the terminal record; at once where that lies behind `after`.

    An empty batch comes after a tick of silence, and where a wake-up brought nothing (`EventLog.wake`), so that the caller can
    look around.

    Args:
        after: checked by the caller (`cursor.check_cursor`).
        tick: how many seconds of silence bring the next empty batch. Asked before each wait.

    Raises:
        NotFound: there is no such run, or none any more.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + tick()
    woken = False
    while True:
        records = await log.read(run_id, after=after, limit=BATCH)
        if records:
            after = records[-1].seq
            yield records
            if records[-1].terminal:
                return
            due = loop.time() + tick()
        else:
            # Nothing new: is there anything to come? Rows are asked, not hints.
            run = await log.get_run(run_id)
            if run is None:
                raise NotFound
            if not run.status.active and run.last_seq <= after:
                return
            if woken or loop.time() >= due:
                yield []
                due = loop.time() + tick()
        due = min(due, loop.time() + tick())  # it may have become shorter while the log was read
        woken = await log.changed(run_id, after=after, within_s=max(0.0, due - loop.time()))
