"""Goes on with runs whose replica died, or let them go at its drain: the replica that the owner asks takes them as the next attempt.

Only a run's owner brings the token with which the run's tools work, so nobody else can go on with it. Whoever calls this has asked
`auth.access` before. Knows no AG-UI and no HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from middle_core.auth.principal import Principal
from middle_core.errors import NotFound, StoreUnavailable, Superseded
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Run
from middle_core.events import RunId
from middle_core.runs.engine import Engine, Job, StopCause
from middle_core.runs.intake.stored_input import decode_input
from middle_core.runs.supervisor import Supervisor

logger = logging.getLogger(__name__)

MAX_ATTEMPTS: Final = 5
"""How often a run is begun. A run that ends its process each time, for example by using up the memory, ends as failed."""
LOOK_S: Final = 2.0
"""How often a run that another replica owns is looked at while it is followed here. A replica can let a run go at any time."""
SOON_S: Final = 0.5


class Adoption:
    """Of one replica."""

    def __init__(self, log: EventLog, engine: Engine, supervisor: Supervisor) -> None:
        self._log = log
        self._engine = engine
        self._supervisor = supervisor

    async def adopt(self, principal: Principal, run: Run) -> Run:
        """Go on with the run if no living replica owns it. Returns the run as it is then.

        Args:
            principal: the run's owner, whose token the tools of the next attempt get.
            run: as it was read a moment ago.
        """
        if not run.status.active or run.owner_replica == self._supervisor.replica or self._supervisor.draining:
            return run
        return await self._supervisor.shielded(self._adopt(principal, run))

    @asynccontextmanager
    async def adopting(self, principal: Principal, run_id: RunId) -> AsyncIterator[None]:
        """While the caller follows the run, adopt it as soon as its replica is gone."""
        async with self._supervisor.beside(self._adopt_in_time(principal, run_id), name=f"watch {run_id}"):
            yield

    async def _adopt(self, principal: Principal, run: Run) -> Run:
        stored = await self._log.run_input(run.run_id)
        try:
            claim = await self._log.claim(
                run.run_id, attempt=run.attempt, replica=self._supervisor.replica, lease_s=self._supervisor.lease_s
            )
        except (NotFound, Superseded):  # it has ended, a living replica owns it, or another one was quicker
            return await self._log.get_run(run.run_id) or run
        adopted = await self._log.get_run(run.run_id) or run
        if stored is None or claim.attempt > MAX_ATTEMPTS or not self._engine.knows(run.agent):
            # A program that stored none began it, it ended each of its processes, or its agent is gone.
            await self._engine.end_lost(adopted, claim)
            return await self._log.get_run(run.run_id) or run
        logger.info("run adopted", extra={"run_id": run.run_id, "agent": run.agent, "attempt": claim.attempt, "replica": run.owner_replica})
        self._supervisor.start(Job(adopted, claim, decode_input(stored), principal, adopted=True))
        if adopted.cancel_requested_at is not None:
            self._supervisor.cancel(run.run_id, by=StopCause.USER, reason=adopted.cancel_reason or "stopped")
        return adopted

    async def _adopt_in_time(self, principal: Principal, run_id: RunId) -> None:
        loop = asyncio.get_running_loop()
        lease, since = 0, loop.time()
        while not self._supervisor.draining:
            pause = LOOK_S
            if not self._supervisor.works_on(run_id):
                try:
                    run = await self._log.get_run(run_id)
                    if run is None or not run.status.active:
                        return
                    if run.lease_until != lease:
                        lease, since = run.lease_until, loop.time()
                    # The lease is in the database's time. If this clock lags behind, a lease that stays as it is tells the same.
                    left = min(run.lease_until / 1000 - time.time(), self._supervisor.lease_s - (loop.time() - since))
                    if left <= 0:
                        await self.adopt(principal, run)
                    pause = min(max(left, SOON_S), LOOK_S)
                except StoreUnavailable:
                    pause = LOOK_S  # nobody can adopt anything now
            await asyncio.sleep(pause)
