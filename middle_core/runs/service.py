"""The one door to runs: start, follow, connect, stop, list, delete. Every transport calls this and nothing below.

Each call takes the verified principal and asks `auth.access` before it says anything. It knows no HTTP and no
wire format: it hands out records of the log, and for `connect` the few synthetic events that stand before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import uuid_utils
from ag_ui.core import RunAgentInput

from middle_core.agui.gate import opening
from middle_core.auth import access
from middle_core.auth.principal import Principal
from middle_core.errors import Draining, InterruptUnknown, InvalidRequest, NotFound, ThreadBusy
from middle_core.eventlog.cursor import check_cursor, parse_cursor
from middle_core.eventlog.interrupts import CLAIMABLE, Interrupt
from middle_core.eventlog.port import EventLog, InterruptLog
from middle_core.eventlog.records import ListedThread, NewRun, NewThread, Run, Started, Thread
from middle_core.events import ClientThreadId, RunId, ThreadId
from middle_core.runs.adoption import Adoption
from middle_core.runs.engine import Job, StopCause
from middle_core.runs.follower import Follower
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.request import StartRequest, own_request
from middle_core.runs.intake.stored_input import encode_input
from middle_core.runs.opening import Opening, ThreadOpener, of_new_thread
from middle_core.runs.questions.answering import answered_ids
from middle_core.runs.questions.approval_card import offers_cards
from middle_core.runs.questions.continuation import Continuations
from middle_core.runs.supervisor import Supervisor

MAX_DIGITS: Final = 18
"""Of a time in a page cursor: what a database's integer surely holds."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A legal stream for a client that opens a thread: the opening's `before`, then the follower's records, or the opening's `end`.

    Args:
        follower: None where nothing runs in the thread.
    """

    opening: Opening
    follower: Follower | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some threads of one owner, newest first. `next` is the cursor of the following page, or None."""

    threads: Sequence[ListedThread]
    next: str | None


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """A thread and what is going on in it."""

    thread: Thread
    active: Run | None
    last: Run | None


class RunService:
    """See the module. `sources` maps agent names to their sources; the first is not special, the doors choose."""

    def __init__(
        self,
        log: EventLog,
        questions: InterruptLog,
        supervisor: Supervisor,
        adoption: Adoption,
        sources: Mapping[str, GraphSource],
        *,
        stop_wait_s: float,
    ) -> None:
        self._log = log
        self._questions = questions
        self._supervisor = supervisor
        self._adoption = adoption
        self._sources = sources
        self._stop_wait_s = stop_wait_s
        self._opener = ThreadOpener(log, questions)
        self._continuations = Continuations(log, questions, leaving=lambda: supervisor.draining)

    @property
    def agents(self) -> Collection[str]:
        """The names that `start` and `connect` take."""
        return self._sources.keys()

    @property
    def draining(self) -> bool:
        """Whether the process is about to stop: streams close with a hint to attach again."""
        return self._supervisor.draining

    async def ping(self) -> None:
        """Raise unless the log answers and takes writes."""
        await self._log.ping()

    # starting --------------------------------------------------------------------------------------
    async def start(self, principal: Principal, agent: str, asked: StartRequest) -> Follower:
        """Start a run, or find the one that the same request started before. Returns its follower, at the beginning.

        Raises NotFound (no such agent), InvalidRequest, RunIdConflict, ThreadBusy, Draining.
        """
        if self._supervisor.draining:
            raise Draining(retry_after=5)
        if agent not in self._sources:
            raise NotFound(f"There is no agent called {agent[:64]!r} here.")
        run = await self._supervisor.shielded(self._start(principal, agent, asked))
        return self._follower(principal, await self._adoption.adopt(principal, run))

    async def _start(self, principal: Principal, agent: str, asked: StartRequest) -> Run:
        deadline = asyncio.get_running_loop().time() + self._stop_wait_s
        while True:
            try:
                return await self._create(principal, agent, asked)
            except ThreadBusy:
                same = await self._wait_for_stop(principal, asked, deadline)
            if same is not None:
                return same

    async def _create(self, principal: Principal, agent: str, asked: StartRequest) -> Run:
        run_id = RunId(str(uuid_utils.uuid7()))
        parent = await self._parent(principal, asked) if asked.continues else None
        new = NewRun(
            run_id=run_id,
            thread_id=ThreadId(str(uuid_utils.uuid7())),
            client_run_id=asked.run_id,
            agent=agent,
            input_digest=asked.digest,
            idempotency_key=asked.idempotency_key,
            parent_run_id=None if parent is None else parent.run_id,
            reuses_run_id=asked.continues,
            replica=self._supervisor.replica,
            lease_s=self._supervisor.lease_s,
            input=encode_input(asked, writable=self._sources[agent].rules.client_writable),
            opens=NewThread(principal.owner, asked.thread_id, asked.title),
        )
        first = opening(
            thread_id=asked.thread_id,
            run_id=asked.run_id,
            our_run_id=run_id,
            agent=agent,
            attempt=1,
            parent_run_id=None if parent is None else parent.client_run_id,
        )
        made = await self._log.create_run(new, first)
        if isinstance(made, Started):
            self._begin(made, principal, asked)
        return made.run

    async def _parent(self, principal: Principal, asked: StartRequest) -> Run | None:
        thread = await self._log.get_thread(principal.owner, asked.thread_id)
        return None if thread is None else await self._log.last_run(thread.thread_id)

    def _begin(self, made: Started, principal: Principal, asked: StartRequest) -> None:
        self._supervisor.start(Job(made.run, made.claim, asked, principal))
        self._continuations.run_began(made.run.thread_id)

    async def _wait_for_stop(self, principal: Principal, asked: StartRequest, deadline: float) -> Run | None:
        """Wait until the run that holds the thread has ended, if it is being stopped; else raise ThreadBusy.

        Of two answers to the same questions at the same moment the second gets the first one's run, which is returned.
        """
        thread = await self._log.get_thread(principal.owner, asked.thread_id)
        active = None if thread is None else await self._log.active_run(thread.thread_id)
        if thread is None or active is None:
            return None
        active = await self._adoption.adopt(principal, active)
        if active.cancel_requested_at is None:
            if asked.continues and (meant := await self._meant(thread.thread_id, asked)):
                if all(row.answer_run_id == active.run_id for row in meant):
                    return active
                if any(row.pending for row in meant) and asyncio.get_running_loop().time() < deadline:
                    await self._log.changed(active.run_id, after=active.last_seq, within_s=1.0)
                    return None
            if asked.multitask_strategy != "interrupt":
                raise ThreadBusy
            await self._request_stop(principal, active, "a new message came")
        await self._until_over(active, deadline)
        return None

    async def _meant(self, thread_id: ThreadId, asked: StartRequest) -> list[Interrupt]:
        """The thread's questions that the request answers."""
        ids = set(answered_ids(asked.body))
        return [row for row in await self._questions.of_thread(thread_id) if row.interrupt_id in ids]

    async def _until_over(self, run: Run, deadline: float) -> None:
        """Wait for a run that is being stopped. Raises ThreadBusy at the deadline (the loop's time)."""
        now: Run | None = run
        while now is not None and now.status.active:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise ThreadBusy("The answer before this one is still being stopped. Try again in a moment.", retry_after=2)
            await self._log.changed(run.run_id, after=now.last_seq, within_s=min(left, 1.0))
            now = await self._log.get_run(run.run_id)

    # following -------------------------------------------------------------------------------------
    async def attach(self, principal: Principal, run_id: str, cursor: str | None, *, further: bool = False) -> Follower:
        """A follower of the run, at the place that the cursor names.

        Args:
            cursor: `Last-Event-ID`.
            further: the cursor may lie in another run of the thread, as a stream that goes on through a pause gives it. Then
                that run is followed.

        Raises:
            NotFound: the caller has no such run.
            InvalidCursor: the cursor is malformed, or lies beyond the end.
        """
        run = access.may_see(principal, await self._log.get_run(RunId(run_id)))
        if further and (later := await self._log.get_run(RunId((cursor or "").rpartition(":")[0]))) and later.thread_id == run.thread_id:
            run = later
        after = parse_cursor(cursor, run.run_id)
        check_cursor(after, last_seq=run.last_seq)
        return self._follower(principal, await self._adoption.adopt(principal, run), after=after)

    def _follower(self, principal: Principal, run: Run, *, after: int = 0) -> Follower:
        """The caller's follower of a run of the caller. It brought a token, which may be fresher than the run's."""
        self._refresh(principal, run)
        return Follower(
            run,
            after=after,
            principal=principal,
            log=self._log,
            supervisor=self._supervisor,
            adoption=self._adoption,
            continuations=self._continuations,
        )

    async def asked(self, principal: Principal, thread_id: ClientThreadId, interrupt_ids: Collection[str]) -> str:
        """The agent of the thread that asked these. Raises NotFound (the thread), InterruptUnknown."""
        thread = access.may_see(principal, await self._log.get_thread(principal.owner, thread_id))
        known = {row.interrupt_id for row in await self._questions.of_thread(thread.thread_id)}
        if not known.issuperset(interrupt_ids):
            raise InterruptUnknown
        return thread.agent

    async def connect(self, principal: Principal, thread_id: ClientThreadId, agent: str, body: RunAgentInput) -> Connection:
        """What a client that opens a thread has to see: the thread as it is with its open questions, then the active run, live.

        A run whose replica is gone goes on now, with the token that this request brought.
        """
        thread = await self._log.get_thread(principal.owner, thread_id)
        source = self._sources.get(thread.agent if thread else agent)
        if source is None:
            raise NotFound(f"There is no agent called {agent[:64]!r} here.")
        if thread is None:
            return Connection(of_new_thread(thread_id, source))
        active = await self._log.active_run(thread.thread_id)
        if active is None:
            return Connection(await self._opener.idle(thread, source, body))
        active = await self._adoption.adopt(principal, active)
        follower = self._follower(principal, active, after=1)
        return Connection(await self._opener.busy(thread, active, source, cards=offers_cards(body)), follower)

    # stopping --------------------------------------------------------------------------------------
    async def stop_thread(self, principal: Principal, thread_id: ClientThreadId, run_id: str | None) -> bool:
        """Stop the thread's active run (or the named one, by either id), or withdraw what is asked in it. False if there is neither."""
        thread = await self._log.get_thread(principal.owner, thread_id)
        if thread is None:
            return False
        active = await self._log.active_run(thread.thread_id)
        if active is None:
            try:
                return await self._withdraw(principal, thread)
            except ThreadBusy:  # a run began just now
                active = await self._log.active_run(thread.thread_id)
        if active is None or (run_id is not None and run_id not in {active.run_id, active.client_run_id}):
            return False
        return await self._supervisor.shielded(self._request_stop(principal, active, "stopped by the user"))

    async def _withdraw(self, principal: Principal, thread: Thread) -> bool:
        """Take back the questions that the idle thread stands at. False if it stands at none."""
        rows = await self._questions.of_thread(thread.thread_id)
        source = self._sources.get(thread.agent)
        if source is None or not any(row.pending or row.status in CLAIMABLE for row in rows):
            return False
        if not (await source.view(thread.thread_id)).interrupts:
            return False
        body = RunAgentInput(thread_id=thread.client_thread_id, run_id="-", state={}, messages=[], tools=[], context=[], forwarded_props={})
        run = (await self.start(principal, thread.agent, own_request(body, intent="withdraw"))).run
        await self._until_over(run, asyncio.get_running_loop().time() + self._stop_wait_s)
        return True

    async def _request_stop(self, principal: Principal, run: Run, reason: str) -> bool:
        """Durable intent first, then the task. An orphan is adopted, so that its thread is settled."""
        stopped = await self._log.request_cancel(run.run_id, reason)
        if stopped:
            run = await self._adoption.adopt(principal, run)
            self._supervisor.cancel(run.run_id, by=StopCause.USER, reason=reason)
        return stopped

    # threads ---------------------------------------------------------------------------------------
    async def threads(self, principal: Principal, *, limit: int, cursor: str | None) -> Page:
        """The caller's threads, newest first."""
        before = _parse_page(cursor)
        threads = await self._log.list_threads(principal.owner, limit=limit + 1, before=before)
        shown = threads[:limit]
        last = shown[-1].thread if len(threads) > limit else None
        return Page(shown, None if last is None else f"{last.updated_at}:{last.thread_id}")

    async def thread(self, principal: Principal, thread_id: ClientThreadId) -> ThreadStatus:
        """One thread of the caller. Raises NotFound."""
        thread = access.may_see(principal, await self._log.get_thread(principal.owner, thread_id))
        last = await self._log.last_run(thread.thread_id)
        return ThreadStatus(thread, last if last is not None and last.status.active else None, last)

    async def delete_thread(self, principal: Principal, thread_id: ClientThreadId) -> None:
        """Delete a thread with everything of it. An active run is stopped first. Raises NotFound, ThreadBusy."""
        status = await self.thread(principal, thread_id)
        if status.active is not None:
            await self._request_stop(principal, status.active, "the conversation was deleted")
            await self._until_over(status.active, asyncio.get_running_loop().time() + self._stop_wait_s)
        await self._log.delete_thread(status.thread.thread_id)

    def _refresh(self, principal: Principal, run: Run) -> None:
        """A fresher token of the same owner replaces the run's."""
        working = self._supervisor.principal(run.run_id)
        if working is not None:
            access.refresh(working, principal)


def _parse_page(cursor: str | None) -> tuple[int, ThreadId] | None:
    """`<updated_at>:<thread id>` of the last row before. Raises InvalidRequest."""
    if not cursor:
        return None
    at, _, thread_id = cursor.partition(":")
    if not (at.isascii() and at.isdigit() and len(at) <= MAX_DIGITS and thread_id):
        raise InvalidRequest("cursor: pass back the `next` of the page before, unchanged.")
    return int(at), ThreadId(thread_id)
