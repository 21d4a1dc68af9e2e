"""Drive one attempt of one run: stream the agent, gate, append, finish.

The engine owns no task and answers no request: `runs.supervisor` gives it a task, followers read the log.
It is cancelled by one plain `Task.cancel()`; what that means (a stop, a shutdown, a superseded claim) stands
in the `Stop` that the supervisor sets before it cancels.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from middle_core.agui.fold import fold
from middle_core.agui.gate import Cancelled, End, Failed, Finished, Gate
from middle_core.agui.recovery import boundary, recover
from middle_core.auth.principal import Principal
from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import MiddleCoreError, RunLost, Superseded
from middle_core.eventlog.follow import replay
from middle_core.eventlog.port import EventLog, InterruptLog
from middle_core.eventlog.records import Claim, Ending, Run, RunStatus
from middle_core.events import Custom, Event, EventType, Record, custom
from middle_core.node_api.context import RunContext, enter
from middle_core.runs.appender import Appender
from middle_core.runs.graph.cut_calls import Cut
from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.log_ledger import LogLedger, ledger_lines
from middle_core.runs.graph.run_report import RunReport
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.request import StartRequest
from middle_core.runs.intake.turn import ThreadView, rebuild
from middle_core.runs.questions.answering import Answering, LogApprovals
from middle_core.runs.questions.approval_card import offers_cards
from middle_core.runs.questions.custom_event import QuestionForm, form_of

logger = logging.getLogger(__name__)

_SNAPSHOT: Final = EventType.MESSAGES_SNAPSHOT.value


class StopCause(StrEnum):
    """Why a run's task is cancelled."""

    USER = "user"
    """Its owner stopped it, or the client to which it was bound went away."""
    SHUTDOWN = "shutdown"
    """The process ends. The run goes on elsewhere."""
    SUPERSEDED = "superseded"
    """Another attempt owns the run."""


@dataclass(slots=True)
class Stop:
    """Why a run's task is being cancelled.

    Args:
        by: None means that nobody asked for it.
        reason: for people.
        begun: the run's task has taken its first step. A task that is cancelled before it never runs, and could not write the end.
        late: the run has come to its end and writes that down. Who stops it now comes too late: a cancellation would lose the end.
    """

    by: StopCause | None = None
    reason: str = ""
    begun: bool = False
    late: bool = False


@dataclass(slots=True)
class Job:
    """All that one attempt needs.

    Args:
        principal: carries the credential, in memory for the life of the attempt only.
        adopted: the run goes on after another attempt, whose replica died or let it go.
    """

    run: Run
    claim: Claim
    asked: StartRequest
    principal: Principal
    adopted: bool = False
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a stream came to its end.

    last: the gate's own last events, where it ended the run itself. untouched: the graph was not run, so the thread is as it was.
    """

    end: End
    last: Sequence[Event] = ()
    untouched: bool = False


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt under way, with what writes its records."""

    job: Job
    answering: Answering
    gate: Gate
    appender: Appender
    report: RunReport

    async def put(self, events: Iterable[Event]) -> None:
        """Hand events to the gate and on to the log. Raises `_GateEnded`."""
        for event in events:
            self.report.saw(event)
            legal = self.gate.feed(event)
            if self.gate.end is not None:
                raise _GateEnded(Ended(self.gate.end, legal))
            await self.appender.put(legal)


class _GateEnded(Exception):
    """The gate found what cannot be repaired, and ended the run."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended
        super().__init__()


class Engine:
    """Stateless but for what it was given: one engine drives every run of this replica.

    sources: agent name to the source of its events. approval_ttl_s: how long a card may wait for its answer.
    """

    def __init__(
        self,
        log: EventLog,
        questions: InterruptLog,
        sources: Mapping[str, GraphSource],
        *,
        max_event_bytes: int,
        approval_ttl_s: float,
    ) -> None:
        self._log = log
        self._questions = questions
        self._sources = sources
        self._max_event_bytes = max_event_bytes
        self._approval_ttl_s = approval_ttl_s

    def knows(self, agent: str) -> bool:
        """Whether there is an agent of that name."""
        return agent in self._sources

    async def drive(self, job: Job) -> None:
        """Run the attempt to its end and write that end. Returns once the terminal record is durable.

        Raises `CancelledError` where the attempt was superseded or the process ends: then nothing more is written.
        """
        job.stop.begun = True
        if job.stop.by not in {None, StopCause.USER}:
            raise asyncio.CancelledError
        ledger, approvals = LogLedger(self._log, job.claim), LogApprovals(self._questions, job.claim)
        enter(RunContext(claim=job.claim, caller=job.principal, ledger=ledger, approvals=approvals))
        gate = self._gate(job.run)
        answering = self._answering(job.claim, cards=offers_cards(job.asked.body), form=self._form(job))
        appender = Appender(self._log.writer(job.claim))
        report = RunReport(job.run, job.claim.attempt)
        try:
            async with asyncio.TaskGroup() as group:
                appender.start(group, name=f"append {job.run.run_id}")
                attempt = _Attempt(job, answering, gate, appender, report)
                ended = await self._stream(attempt)
                job.stop.late = True
                await appender.drain()
                await self._finish(attempt, ended)
                appender.stop()
                report.log(ended.end, ending_of(ended.end))
        except* Superseded:
            logger.info("run superseded", extra={"run_id": job.run.run_id, "attempt": job.claim.attempt})

    async def end_lost(self, run: Run, claim: Claim) -> None:
        """End a run that nobody goes on with: keep its partial text, free its thread, say so with a typed error."""
        enter(RunContext(claim=claim))
        gate = self._gate(run)
        async for record in replay(self._log, run.run_id):
            gate.feed(record.event)
        error = RunLost()
        end = Failed(code=error.code, message=error.detail, correlation_id=_correlation_id())
        events = await self._last_events(run, self._answering(claim, cards=False), gate, Ended(end))
        await self._log.append(claim, events, ending=ending_of(end))
        logger.info("run ended", extra={"run_id": run.run_id, "agent": run.agent, "outcome": "failed", "code": error.code})

    def _answering(self, claim: Claim, *, cards: bool, form: QuestionForm = QuestionForm.OUTCOME) -> Answering:
        return Answering(self._questions, claim, cards=cards, ttl_s=self._approval_ttl_s, form=form)

    def _form(self, job: Job) -> QuestionForm:
        source = self._sources.get(job.run.agent)
        return QuestionForm.OUTCOME if source is None else form_of(job.asked.interrupts, source.rules)

    def _gate(self, run: Run) -> Gate:
        return Gate(
            thread_id=run.client_thread_id,
            run_id=run.client_run_id,
            max_event_bytes=self._max_event_bytes,
            correlation_id=_correlation_id(),
        )

    async def _stream(self, attempt: _Attempt) -> Ended:
        """Everything from the agent, through the gate, to the appender. Every way it can end becomes an `Ended`."""
        job, opened = attempt.job, attempt.report.graph_runs
        try:
            try:
                earlier = [record async for record in replay(self._log, job.run.run_id)] if job.adopted else []
                for record in earlier:
                    attempt.gate.feed(record.event)  # however this attempt ends, it closes what the ones before it left open
                return await self._play(attempt, earlier)
            except asyncio.CancelledError:
                end = self._cancelled(job)
                await attempt.put(event for run in opened for event in run.leftovers())
                return Ended(end)
        except _GateEnded as gated:
            return gated.ended
        except Superseded:
            raise
        except MiddleCoreError as error:
            logger.warning("run failed", extra={"run_id": job.run.run_id, "code": error.code}, exc_info=error)
            return Ended(Failed(error.code, error.detail, _correlation_id(), error.retry_after), untouched=not opened)
        except Exception as error:
            # Whatever a team's graph raises ends this run, and only this run.
            correlation_id = _correlation_id()
            logger.exception("run failed", extra={"run_id": job.run.run_id, "correlation_id": correlation_id}, exc_info=error)
            return Ended(Failed(MiddleCoreError.code, MiddleCoreError().detail, correlation_id), untouched=not opened)

    async def _play(self, attempt: _Attempt, earlier: Sequence[Record]) -> Ended:
        """The run as it should go: take the answers, run the graph, write down what it asks. earlier: of the attempts before."""
        job, answering, put = attempt.job, attempt.answering, attempt.put
        if job.asked.intent == "withdraw":
            return Ended(Cancelled(by=StopCause.USER, reason="withdrawn by the user"))
        if job.stop.by is StopCause.USER:
            return Ended(Cancelled(by=StopCause.USER, reason=job.stop.reason))
        source = self._sources[job.run.agent]
        said = [record.event for record in earlier]
        view = await (source.remembered(job.run.thread_id, said) if job.adopted else source.view(job.run.thread_id))
        closed = await answering.close_begun(goes_on=True) if job.adopted else []
        taken = await answering.take_answers(job.asked.body, rebuild(job.asked.body, view, source.rules), view, job.principal)
        # Past the gate: it is ours, it is plain JSON, and the gate would leave out a person's large message.
        turned = custom(Custom.TURN, messages=list(taken.turn.messages))
        if job.adopted:
            await self._tell_boundary(attempt, earlier, view, turned)
        else:
            await attempt.appender.put([turned])
        await put([*closed, *taken.events])
        if taken.over and view.run_id != job.run.run_id:  # else the graph has begun with it, in an attempt before
            await put([custom(Custom.TOPOLOGY, **source.topology())])
            await put(await answering.late_notice(taken, view))
            asked = await answering.open_questions(view.interrupts)
            await put(asked.events)
            return Ended(Finished(interrupts=asked.interrupts, waits=asked.waits))
        source_run = GraphRun(source, taken.turn, thread_id=job.run.thread_id, run_id=job.run.run_id, adopted=job.adopted)
        attempt.report.graph_runs.append(source_run)
        async with aclosing(source_run.events()) as events:
            async for event in events:
                await put([await answering.with_cards(event) if event["type"] == _SNAPSHOT else event])
        asked = await answering.open_questions(source_run.interrupts, after=source_run.last_message_id)
        await put(asked.events)
        return Ended(Finished(interrupts=asked.interrupts, usage=source_run.usage, waits=asked.waits))

    async def _tell_boundary(self, attempt: _Attempt, earlier: Sequence[Record], view: ThreadView, turned: Event) -> None:
        """Write down where the attempt before ends and this one begins. turned: what the run takes in, if that is not in the log yet.

        Past the gate: the snapshot replaces what is void, so it may be as large as that of a thread that is opened.
        """
        job = attempt.job
        known = {str(message["id"]) for message in view.messages}
        found = recover(earlier, kept=known)
        # The gate takes these ends for told, so nothing may be awaited before they are put.
        ends = [*found.nodes, *attempt.gate.recover(found.nodes)]
        await attempt.appender.put([*([turned] if found.said is None else ()), *ends])
        said = turned["value"]["messages"] if found.said is None else found.said
        messages = [*view.messages, *(message for message in said if message["id"] not in known)]
        shown = await attempt.answering.with_cards({"type": _SNAPSHOT, "messages": messages})
        source = self._sources[job.run.agent]
        told = boundary(
            found,
            attempt=job.claim.attempt,
            reason="The server was stopped. The answer goes on from its last step.",
            messages=shown["messages"],
            state=await source.state(job.run.thread_id),
        )
        await attempt.appender.put(told)

    def _cancelled(self, job: Job) -> End:
        """What the cancellation of the run's task means. Re-raises it where the task must simply go away."""
        task = asyncio.current_task()
        if task is None or job.stop.by is not StopCause.USER:
            if task is not None and task.cancelling() == 0:
                # A node cancelled itself (a misused cancel scope): nobody asked, so it is the agent's failure.
                return Failed(code=MiddleCoreError.code, message=MiddleCoreError().detail, correlation_id=_correlation_id())
            raise asyncio.CancelledError
        task.uncancel()
        return Cancelled(by=StopCause.USER, reason=job.stop.reason)

    async def _finish(self, attempt: _Attempt, ended: Ended) -> None:
        """Settle the thread, then append the last events with the run's new state."""
        job, gate = attempt.job, attempt.gate
        if gate.repairs or gate.fault:
            logger.info(
                "the gate repaired the stream", extra={"run_id": job.run.run_id, "repairs": dict(gate.repairs), "fault": gate.fault}
            )
        page_tools = {tool.name for tool in job.asked.body.tools or ()}
        events = await self._last_events(job.run, attempt.answering, gate, ended, page_tools=page_tools)
        if isinstance(ended.end, Finished) and not (ended.end.interrupts or ended.end.waits):
            await self._sources[job.run.agent].states.forget_past(job.run.thread_id)
        await attempt.appender.finish(events, ending_of(ended.end))

    async def _last_events(
        self, run: Run, answering: Answering, gate: Gate, ended: Ended, *, page_tools: Collection[str] | None = None
    ) -> list[Event]:
        """Settle the thread of a run that did not come to its own end; the results that this gave, the closers, the terminal event.

        page_tools: see `Cut`.
        """
        results: Sequence[Event] = ()
        if not isinstance(ended.end, Finished) and not ended.untouched:
            results = await self._settle(run, answering, ended.end, page_tools=page_tools)
        return [*ended.last, *(legal for event in results for legal in gate.feed(event)), *gate.close(ended.end)]

    async def _settle(
        self, run: Run, answering: Answering, end: Cancelled | Failed, *, page_tools: Collection[str] | None
    ) -> Sequence[Event]:
        """Close the thread's questions, and give it what its log shows and its checkpoint lacks; what the client is to be told of it.

        A failure here must not keep the thread busy: the text is in the log all the same.
        """
        source = self._sources.get(run.agent)
        if source is None:
            logger.warning(
                "the run's agent is not configured any more; its text stays in the log", extra={"run_id": run.run_id, "agent": run.agent}
            )
            return ()
        try:
            told = await answering.close_all()
            partials = fold([record.event async for record in replay(self._log, run.run_id)])
            cut = Cut(
                code=OutcomeCode.STOPPED if isinstance(end, Cancelled) else end.code,
                results=await answering.results(),
                ledger=await ledger_lines(self._log, run.thread_id),
                page_tools=page_tools,
            )
            return told + await source.settle(run.thread_id, partials, cut)
        except Superseded:
            raise
        except Exception as error:
            logger.exception("settling failed; the log keeps the text", extra={"run_id": run.run_id}, exc_info=error)
            return ()


def ending_of(end: End) -> Ending:
    """The run's new state for its end."""
    match end:
        case Finished():
            usage: Sequence[dict[str, object]] | None = end.usage
            return Ending(RunStatus.INTERRUPTED if end.interrupts or end.waits else RunStatus.FINISHED, usage=usage)
        case Cancelled():
            return Ending(RunStatus.CANCELLED)
        case Failed():
            return Ending(RunStatus.FAILED, error_code=end.code)


def _correlation_id() -> str:
    return uuid.uuid4().hex[:16]
