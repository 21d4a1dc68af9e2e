"""From the gate to the log: while commits are in flight the next batch gathers.

No fixed delay: the first event is written at once, and under load the batches grow by themselves. Adjacent
deltas of one message in a batch become one record. It knows nothing of what the events mean beyond that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from middle_core.agui.deltas import DELTAS, MAX_DELTA_CHARS, merge_deltas
from middle_core.eventlog.port import RunWriter
from middle_core.eventlog.records import Ending
from middle_core.events import Event

IN_FLIGHT: Final = 4


class Appender:
    """The one writer of one attempt. It works from `start` to `stop`, in the run's own task group.

    `put` waits while `max_pending` events wait: a database slower than the model slows the model's reader,
    and nothing is dropped. A second batch is handed to the log while the first is being committed, because a first token
    would otherwise wait for the events of its own start.

    Whoever waits here waits for the writer's task. When that task is over too early, each wait ends with what ended the task:
    the log's error, or `CancelledError` where the task was cancelled (a loop that closes cancels every task).
    """

    def __init__(self, writer: RunWriter, *, max_pending: int = 2048, max_delta_chars: int = MAX_DELTA_CHARS) -> None:
        self._writer = writer
        self._max_pending = max_pending
        self._max_delta_chars = max_delta_chars
        self._pending: list[Event] = []
        self._stopped = False
        self._spoken = False
        self._broken: BaseException | None = None
        self._flying = 0
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._work = asyncio.Event()
        self._taken = asyncio.Event()
        self._written = asyncio.Event()
        self._written.set()

    def start(self, group: asyncio.TaskGroup, *, name: str = "append") -> None:
        """Give the writer its task. The task raises what the log raises (`Superseded` among it), in a group."""
        # Callbacks, not a `finally`: a task that is cancelled before its first step never enters its coroutine.
        group.create_task(self._run(), name=name).add_done_callback(self._over)

    async def put(self, events: Sequence[Event]) -> None:
        """Hand over events, in order. The first delta is waited for: so is whoever could delay it (`runs.graph.event_queue`).

        Raises what ended the writer's task, if that is over.
        """
        self._check()
        if not events:
            return
        self._pending.extend(events)
        self._written.clear()
        self._work.set()
        if not self._spoken and any(event["type"] in DELTAS for event in events):
            self._spoken = True
            await self.drain()
        while len(self._pending) >= self._max_pending:
            self._taken.clear()
            await self._taken.wait()
            self._check()

    async def drain(self) -> None:
        """Wait until everything put so far is written. Raises what ended the writer's task, if that is over."""
        await self._written.wait()
        self._check()

    async def finish(self, events: Sequence[Event], ending: Ending) -> None:
        """Write what waits, then the last events together with the run's end."""
        await self.drain()
        await self._writer.append(events, ending=ending)

    def stop(self) -> None:
        """Let the writer's task end once it has written what waits. Nothing is put after it."""
        self._stopped = True
        self._work.set()

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as flying:
            while True:
                await self._work.wait()
                self._work.clear()
                while self._pending:
                    await self._slots.acquire()
                    self._check()  # nothing may follow a lost batch
                    batch, self._pending = merge_deltas(self._pending, max_chars=self._max_delta_chars), []
                    self._taken.set()
                    self._flying += 1
                    # Tasks take their first step in the order in which they are made, and that step hands the batch to the log.
                    flying.create_task(self._write(batch)).add_done_callback(self._landed)
                if self._stopped:
                    return

    async def _write(self, batch: Sequence[Event]) -> None:
        await self._writer.append(batch)

    def _landed(self, write: asyncio.Task[None]) -> None:
        """A batch is committed, or was refused."""
        self._over(write)
        self._slots.release()
        self._flying -= 1
        if not self._flying and not self._pending:
            self._written.set()

    def _over(self, task: asyncio.Task[None]) -> None:
        """A task of the writer has ended. If it did not come to its end, nobody may wait for it any longer."""
        error = asyncio.CancelledError("the writer of the run was cancelled") if task.cancelled() else task.exception()
        if error is not None:
            self._broken = self._broken or error
            self._written.set()
            self._taken.set()
