"""One client's way through a run: its records as they come, and when the client is sent away although the run goes on.

Every stream, every waiting JSON answer and every socket reads a run through a `Follower`. Only `RunService` makes one, once
`auth.access` has agreed, so nothing can be followed that was not authorised. Knows no transport and no wire format.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from middle_core.auth.principal import Principal
from middle_core.contract.custom import ReattachReason
from middle_core.eventlog.follow import follow
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Run, RunStatus
from middle_core.events import Record, RunId
from middle_core.runs.adoption import Adoption
from middle_core.runs.questions.continuation import Continuations
from middle_core.runs.supervisor import Supervisor

DRAIN_RETRY_MS = 1_000
"""After which a client that a stopping server sent away may attach again: until then another server may have to start."""


@dataclass(frozen=True, slots=True)
class SentAway:
    """The server ends the stream by itself: the client may attach again.

    Args:
        retry_after_ms: how long the client should wait before that.
    """

    reason: ReattachReason
    retry_after_ms: int


class Follower:
    """A client's place in a run.

    Args:
        principal: on whose behalf the client follows. Its token's end is the stream's end.
        after: the seq beyond which the client wants to read.
    """

    def __init__(
        self,
        run: Run,
        *,
        after: int,
        principal: Principal,
        log: EventLog,
        supervisor: Supervisor,
        adoption: Adoption,
        continuations: Continuations,
    ) -> None:
        self.run = run
        self.after = after
        self._principal = principal
        self._log = log
        self._supervisor = supervisor
        self._adoption = adoption
        self._continuations = continuations
        self._current = run.run_id

    async def records(
        self,
        *,
        tick_s: float,
        max_age_s: float = 0,
        after: int | None = None,
        hold: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> AsyncGenerator[Sequence[Record] | SentAway, None]:
        """The records in batches until the run's end, or `SentAway` as the last item.

        An empty batch means that there was nothing new for `tick_s`, or that something else has happened, for example a drain.

        Args:
            tick_s: seconds of silence after which an empty batch comes.
            max_age_s: seconds after which the client is sent away; 0 means never.
            after: read from there instead of the client's place.
            hold: a run that stopped at a question is not the end. The run that decides the question goes on, from its first record.
            clock: seconds since the epoch.

        Raises:
            NotFound: the run is deleted.
        """
        ends: list[tuple[float, ReattachReason]] = [(self._principal.expires_at, "token_expired")]
        if max_age_s:
            ends.append((clock() + max_age_s, "max_age"))
        end_at, reason = min(ends)

        def sent_away() -> SentAway | None:
            if self._supervisor.draining:
                return SentAway("drain", DRAIN_RETRY_MS)
            return SentAway(reason, 0) if clock() >= end_at else None

        def tick() -> float:
            return 0.0 if self._supervisor.draining else max(0.0, min(tick_s, end_at - clock()))

        async with aclosing(self._batches(self.after if after is None else after, tick, hold=hold)) as batches:
            async for batch in batches:
                over = bool(batch) and batch[-1].terminal
                leaving = None if over else sent_away()
                if batch or leaving is None:
                    yield batch
                if leaving is not None:
                    self._supervisor.send_away(self._current)
                    yield leaving
                    return

    def client_left(self) -> None:
        """The client is gone, or has its answer, whether or not it ever read a record."""
        self._supervisor.client_left(self._current)

    async def _batches(self, after: int, tick: Callable[[], float], *, hold: bool) -> AsyncGenerator[Sequence[Record], None]:
        """The records of the run, and with `hold` those of the runs that go on with it."""
        following: RunId | None = self.run.run_id
        while following is not None:
            self._current = following
            async with (
                self._adoption.adopting(self._principal, following),
                self._supervisor.attached(following),
                aclosing(follow(self._log, following, after=after, tick=tick)) as batches,
            ):
                async for batch in batches:
                    yield batch
            run = await self._log.get_run(following) if hold else None
            following, after = None, 0
            if run is not None and run.status is RunStatus.INTERRUPTED:
                async with aclosing(self._continuations.wait(run, tick=tick)) as found:
                    async for following in found:
                        if following is None:
                            yield []
