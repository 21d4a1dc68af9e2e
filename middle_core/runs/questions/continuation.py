"""What comes after a paused run: the run of its thread by which what was asked is decided, through whichever door it came.

Rows say so. That a run began here is a hint; one that began on another replica is seen within `LOOK_S`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

from middle_core.eventlog.port import EventLog, InterruptLog
from middle_core.eventlog.records import Run
from middle_core.events import RunId, ThreadId

LOOK_S: Final = 0.5


class Continuations:
    """Of one replica. Belongs to one event loop. leaving: whether who waits should look around now, because the process ends."""

    def __init__(self, log: EventLog, questions: InterruptLog, *, leaving: Callable[[], bool]) -> None:
        self._log = log
        self._questions = questions
        self._leaving = leaving
        self._waiting: dict[ThreadId, set[asyncio.Event]] = {}

    def run_began(self, thread_id: ThreadId) -> None:
        """A run of this thread has begun."""
        for waiting in self._waiting.get(thread_id, ()):
            waiting.set()

    async def find(self, run: Run) -> RunId | None:
        """The first later run that decided something of what the run left open; None while there is none.

        A run that could not answer (an unknown id) leaves all as it is, and is not meant. A message takes back what is asked without
        answering it: then it is the first later run that the rows know of, or the newest.
        """
        rows = await self._questions.of_thread(run.thread_id)
        answering = [(row.answer_run_number, row.answer_run_id) for row in rows]
        if later := [(number, one) for number, one in answering if number is not None and one is not None and number > run.number]:
            return min(later)[1]
        if any(row.pending for row in rows if row.run_number <= run.number):
            return None
        newest = await self._log.last_run(run.thread_id)
        known = [(row.run_number, row.run_id) for row in rows] + ([] if newest is None else [(newest.number, newest.run_id)])
        return min((one for one in known if one[0] > run.number), default=(0, None))[1]

    async def wait(self, run: Run, *, tick: Callable[[], float]) -> AsyncGenerator[RunId | None, None]:
        """None for each tick without one, then the run. Ends without one where the thread is deleted.

        Args:
            tick: how many seconds without a run bring the next None.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + tick()
        hint = asyncio.Event()
        self._waiting.setdefault(run.thread_id, set()).add(hint)
        try:
            while await self._log.get_run(run.run_id) is not None:
                hint.clear()
                if (found := await self.find(run)) is not None:
                    yield found
                    return
                if self._leaving() or loop.time() >= due:
                    yield None
                    due = loop.time() + tick()
                await self._change(run, hint, within_s=min(LOOK_S, max(0.0, due - loop.time())))
        finally:
            waiting = self._waiting[run.thread_id]
            waiting.discard(hint)
            if not waiting:
                del self._waiting[run.thread_id]

    async def _change(self, run: Run, hint: asyncio.Event, *, within_s: float) -> None:
        """Wait until there may be something new: a run that begins, or one under way that takes its answers."""
        active = await self._log.active_run(run.thread_id)
        if active is not None:
            await self._log.changed(active.run_id, after=active.last_seq, within_s=within_s)
            return
        try:
            async with asyncio.timeout(within_s):
                await hint.wait()
        except TimeoutError:
            return
