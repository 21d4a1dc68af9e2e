"""Owns the tasks of this replica: start, stop, beat, drain. The only module that creates tasks.

A run belongs to its task here, never to a request: a request that goes away is a follower that goes away. At the end of a drain the runs
that are left are let go, for `runs.adoption` of another replica.
It knows nothing of AG-UI, of agents or of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeVar

from middle_core.auth.principal import Principal
from middle_core.errors import NotFound, StoreUnavailable, Superseded
from middle_core.eventlog.port import EventLog, InterruptLog, Replicas
from middle_core.eventlog.records import Run
from middle_core.events import RunId
from middle_core.runs.containment import containing_task_factory
from middle_core.runs.engine import Engine, Job, StopCause

logger = logging.getLogger(__name__)

EARLY_STOPS: Final = 1024
ATTACH_S: Final = 10.0
"""How long a run that is bound to its followers waits for the first one. Its client may have left before it followed at all."""
LOOK_S: Final = 1.0
"""How soon, at the earliest, it is looked again whether a run is followed at another replica."""

T = TypeVar("T")


@dataclass(slots=True)
class Handle:
    """A live run of this replica."""

    job: Job
    task: asyncio.Task[None]
    grace_s: float | None = None
    """Seconds without a follower after which the run is stopped; None means never."""
    deadline: asyncio.TimerHandle | None = field(default=None)
    sent_away: bool = False
    """The server itself closed the last stream, so its client needs the time to come back."""


class Supervisor:
    """See the module. Use as an async context manager: leaving it lets go of every run it owns.

    Args:
        replica: the name of this process, different at each start.
        beat_s: seconds between two beats.
        lease_s: seconds after its last beat until a replica counts as dead.
        orphan_timeout_s: seconds after which a run that nobody adopted ends as failed.
        grace_s: seconds without a follower after which a run that is bound to its followers is stopped.
    """

    def __init__(
        self,
        log: EventLog,
        questions: InterruptLog,
        replicas: Replicas,
        engine: Engine,
        *,
        replica: str,
        beat_s: float,
        lease_s: float,
        orphan_timeout_s: float,
        grace_s: float,
    ) -> None:
        self._log = log
        self._questions = questions
        self._replicas = replicas
        self._engine = engine
        self.replica = replica
        self._beat_s = beat_s
        self.lease_s = lease_s
        self._orphan_timeout_s = orphan_timeout_s
        self._grace_s = grace_s
        self._handles: dict[RunId, Handle] = {}
        self._followers: Counter[RunId] = Counter()
        """The clients that follow a run here, whichever replica owns it."""
        self._told: set[RunId] = set()
        """The runs of other replicas of which is written down that they are followed here."""
        self._sent_away: set[RunId] = set()
        """Those of them whose last stream here was closed by the server itself."""
        self._early_stops: dict[RunId, str] = {}
        self._strays: frozenset[RunId] = frozenset()
        self._loose: set[asyncio.Task[Any]] = set()
        self._beating: asyncio.Task[None] | None = None
        self._task_factory: Any = None
        self._began = 0.0
        """When this replica began, in the loop's time."""
        self.draining = False

    async def __aenter__(self) -> Self:
        """From now on this replica owns runs."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._task_factory = loop.get_task_factory()
        loop.set_task_factory(containing_task_factory(self._task_factory))
        self._replicas.on_stop(self._stop_heard)
        self._beating = asyncio.create_task(self._beat_forever(), name="beat")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.drain(within_s=0)
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
        asyncio.get_running_loop().set_task_factory(self._task_factory)

    @property
    def live(self) -> int:
        """How many runs have a task here."""
        return len(self._handles)

    def works_on(self, run_id: RunId) -> bool:
        """Whether the run has a task here."""
        return run_id in self._handles

    def start(self, job: Job) -> None:
        """Give the run its task. Does not wait."""
        run_id = job.run.run_id
        grace_s = self._grace_s if job.asked.on_disconnect == "cancel" else None
        # An empty context: nothing of the request that started the run may be found in it.
        task = asyncio.create_task(self._engine.drive(job), name=f"run {run_id}", context=Context())
        handle = self._handles[run_id] = Handle(job, task, grace_s=grace_s)
        if grace_s is not None and not self._followers[run_id]:
            self._arm(handle, max(grace_s, ATTACH_S))
        task.add_done_callback(lambda done: self._forget(run_id, done))
        reason = self._early_stops.pop(run_id, None)
        if reason is not None:
            self.cancel(run_id, by=StopCause.USER, reason=reason)

    @asynccontextmanager
    async def beside(self, work: Coroutine[Any, Any, None], *, name: str) -> AsyncIterator[None]:
        """Do the work in a task of its own until the caller leaves. A failure of the work is logged."""
        task = asyncio.create_task(work, name=name)
        self._loose.add(task)
        task.add_done_callback(self._beside_done)
        try:
            yield
        finally:
            task.cancel()

    def _beside_done(self, task: asyncio.Task[None]) -> None:
        self._loose.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a task failed", extra={"task": task.get_name()}, exc_info=error)

    async def shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Finish the work even if the caller goes away: for what must not happen by half."""
        task = asyncio.create_task(work)
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)
        return await asyncio.shield(task)

    def cancel(self, run_id: RunId, *, by: StopCause, reason: str) -> None:
        """Cancel the run's task, once. A run that is just about to start is stopped as it does."""
        handle = self._handles.get(run_id)
        if handle is None:
            self._early_stops[run_id] = reason
            while len(self._early_stops) > EARLY_STOPS:  # of runs that had just ended, most likely
                del self._early_stops[next(iter(self._early_stops))]
            return
        if handle.job.stop.by or handle.job.stop.late:
            return
        handle.job.stop.by, handle.job.stop.reason = by, reason
        if handle.job.stop.begun:
            handle.task.cancel()

    def principal(self, run_id: RunId) -> Principal | None:
        """On whose behalf the run works here."""
        handle = self._handles.get(run_id)
        return None if handle is None else handle.job.principal

    @asynccontextmanager
    async def attached(self, run_id: RunId) -> AsyncIterator[None]:
        """Count a follower while it reads. When the last one leaves, a run that is bound to its followers gets its grace.

        The owner of the run is told by a row, where that is another replica.
        """
        self._followers[run_id] += 1
        try:
            if (handle := self._handles.get(run_id)) is not None:
                handle.sent_away = False
                self._disarm(handle)
            elif self._followers[run_id] == 1:
                self._told.add(run_id)
                self._sent_away.discard(run_id)
                await self._replicas.followed_here([run_id], replica=self.replica, for_s=self.lease_s)
            yield
        finally:
            self._followers[run_id] -= 1
            if not self._followers[run_id]:
                del self._followers[run_id]
                if run_id in self._told:
                    self._loosen(self._left_elsewhere(run_id))
            self.client_left(run_id)

    def client_left(self, run_id: RunId) -> None:
        """A client is gone, whether or not it ever followed. If nobody else follows, the grace begins; not in a drain, which
        gives the run its own time.
        """
        handle = self._handles.get(run_id)
        if handle is None or self._followers[run_id] or handle.grace_s is None or self.draining:
            return
        self._arm(handle, max(handle.grace_s, ATTACH_S) if handle.sent_away else handle.grace_s)

    def send_away(self, run_id: RunId) -> None:
        """The stream that ends now is ended by the server: its client may come back, whatever the grace."""
        if (handle := self._handles.get(run_id)) is not None:
            handle.sent_away = True
            self.client_left(run_id)
        elif run_id in self._told:
            self._sent_away.add(run_id)

    def _arm(self, handle: Handle, grace_s: float) -> None:
        self._disarm(handle)
        handle.deadline = asyncio.get_running_loop().call_later(grace_s, self._abandoned, handle.job.run.run_id)

    def _disarm(self, handle: Handle) -> None:
        if handle.deadline is not None:
            handle.deadline.cancel()
            handle.deadline = None

    def begin_drain(self) -> None:
        """From now on no run starts, no run ends because its client left, and every follower is woken to see it."""
        self.draining = True
        for handle in self._handles.values():
            self._disarm(handle)
        self._log.wake()

    async def drain(self, *, within_s: float) -> None:
        """Let the runs finish for `within_s` seconds, then let go of what is left, so that another replica goes on with it."""
        self.begin_drain()
        tasks = [handle.task for handle in self._handles.values()]
        if tasks and within_s > 0:
            await asyncio.wait(tasks, timeout=within_s)
        left = list(self._handles.values())
        for handle in left:
            self.cancel(handle.job.run.run_id, by=StopCause.SHUTDOWN, reason="the server is stopping")
        if waiting := [*(handle.task for handle in left), *self._loose]:
            await asyncio.wait(waiting)
        for handle in left:
            await self._release(handle.job)

    async def _release(self, job: Job) -> None:
        try:
            await self._log.release(job.claim)
        except Superseded:  # it came to its end all the same
            return
        except Exception as error:  # another replica adopts it all the same, once its lease is over
            logger.exception("a run could not be let go", extra={"run_id": job.run.run_id}, exc_info=error)
        else:
            logger.info("run let go", extra={"run_id": job.run.run_id, "agent": job.run.agent, "attempt": job.claim.attempt})

    def _abandoned(self, run_id: RunId) -> None:
        """The grace is over. The intent is made durable before the task is cancelled, as with any stop."""
        self._loosen(self._stop_abandoned(run_id))

    async def _stop_abandoned(self, run_id: RunId) -> None:
        """Stop the run, unless clients follow it at another replica: then their replica is asked again after another grace."""
        reason = "the client went away"
        try:
            elsewhere = await self._replicas.followed_elsewhere(run_id, replica=self.replica)
        except StoreUnavailable:
            elsewhere = True  # nobody can be asked now
        handle = self._handles.get(run_id)
        if handle is None or handle.grace_s is None or self._followers[run_id] or self.draining:
            return
        if elsewhere:
            self._arm(handle, max(handle.grace_s, LOOK_S))
            return
        await self._log.request_cancel(run_id, reason)
        self.cancel(run_id, by=StopCause.USER, reason=reason)

    async def _left_elsewhere(self, run_id: RunId) -> None:
        """Nobody follows another replica's run here any more. Who was sent away gets the time to come back."""
        for_s = ATTACH_S if run_id in self._sent_away else 0
        self._sent_away.discard(run_id)
        self._told.discard(run_id)
        try:
            await self._replicas.followed_here([run_id], replica=self.replica, for_s=for_s)
            if run_id in self._told:  # somebody came meanwhile, whose row may have gone with it
                await self._replicas.followed_here([run_id], replica=self.replica, for_s=self.lease_s)
        except StoreUnavailable:
            logger.info("the row of a follower that left stays until its time is over", extra={"run_id": run_id})

    def _stop_heard(self, run_id: RunId) -> None:
        """Another replica was asked to stop a run, which may be one of this replica."""
        if run_id in self._handles:
            self.cancel(run_id, by=StopCause.USER, reason="stopped")

    def _loosen(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work in a task that the drain waits for."""
        task = asyncio.create_task(work)
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)

    def _forget(self, run_id: RunId, task: asyncio.Task[None]) -> None:
        handle = self._handles.pop(run_id, None)
        if handle is not None:
            self._disarm(handle)
        if not task.cancelled() and (error := task.exception()) is not None:
            # The end could not be written. The beat finds the run without a task and lets it go.
            logger.error("a run's task failed", extra={"run_id": run_id}, exc_info=error)

    async def _beat_forever(self) -> None:
        while True:
            await asyncio.sleep(self._beat_s)
            try:
                await self._beat()
            except Exception as error:
                logger.exception("beat failed", exc_info=error)

    async def _beat(self) -> None:
        beat = await self._log.beat([handle.job.claim for handle in self._handles.values()], lease_s=self.lease_s)
        for run_id in beat.superseded:
            self.cancel(run_id, by=StopCause.SUPERSEDED, reason="another attempt owns the run")
        for run_id in beat.cancel_requested:
            self.cancel(run_id, by=StopCause.USER, reason="stopped")
        if self._told:
            await self._replicas.followed_here(list(self._told), replica=self.replica, for_s=self.lease_s)
        await self._end_orphans()
        await self._release_strays()
        await self._questions.expire()

    async def _end_orphans(self) -> None:
        """End the runs that nobody adopted in time. People who waited for a server that was away get the same time from its start on."""
        if asyncio.get_running_loop().time() - self._began < self._orphan_timeout_s:
            return
        for run in await self._log.orphans(self.replica, for_s=self._orphan_timeout_s):
            logger.warning("ending a run that nobody adopted", extra={"run_id": run.run_id, "replica": run.owner_replica})
            await self.shielded(self._end_lost(run))

    async def _release_strays(self) -> None:
        """Let go of the runs of this replica that have no task: their end could not be written when it came.

        Only those seen twice in a row, because a run is in the log an instant before it has its task.
        """
        strays = [run for run in await self._log.running_on(self.replica) if run.run_id not in self._handles]
        for run in strays:
            if run.run_id in self._strays:
                await self._release_stray(run)
        self._strays = frozenset(run.run_id for run in strays)

    async def _release_stray(self, run: Run) -> None:
        try:
            await self._log.release(await self._log.claim(run.run_id, attempt=run.attempt, replica=self.replica, lease_s=self.lease_s))
        except (NotFound, Superseded):  # it has ended meanwhile, or another replica was quicker
            return

    async def _end_lost(self, run: Run) -> None:
        try:
            claim = await self._log.claim(run.run_id, attempt=run.attempt, replica=self.replica, lease_s=self.lease_s)
            await self._engine.end_lost(run, claim)
        except (NotFound, Superseded):  # it has ended meanwhile, or another replica was quicker
            return
        except Exception as error:  # one run must not keep the others waiting; the next beat tries again
            logger.exception("a lost run could not be ended", extra={"run_id": run.run_id}, exc_info=error)
