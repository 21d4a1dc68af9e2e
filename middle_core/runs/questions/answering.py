"""One run's dealings with the open questions of its thread: it takes the answers, asks the new ones, and closes what is over.

Between `runs.intake.turn` (what a client sends) and `runs.graph.source` (what the graph is given) it decides by the rows alone: a resume
entry or a tool message counts only for a row that is pending, and only from a principal that may. Knows no graph and no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ag_ui.core import RunAgentInput

from middle_core.agui.endings import refused
from middle_core.auth.access import clearly_lacks
from middle_core.auth.principal import Principal
from middle_core.contract.cards import MARK
from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import InterruptUnknown
from middle_core.eventlog.interrupts import CLAIMABLE, Answer, Answered, Channel, Interrupt, InterruptKind, InterruptStatus
from middle_core.eventlog.port import InterruptLog
from middle_core.eventlog.records import Claim
from middle_core.events import Custom, Event, EventType, ToolOutcome, custom
from middle_core.node_api.approvals import Approval, missing_role
from middle_core.node_api.outcomes import ToolResult, result
from middle_core.runs.intake.turn import Resume, ThreadView, Turn, command_resume
from middle_core.runs.questions import approval_card, custom_event, graph_question
from middle_core.runs.questions.custom_event import QuestionForm

S = InterruptStatus

TAKEN_BACK: Final = approval_card.stored(
    result(
        "The user went on with something else. Nothing was done.",
        ToolOutcome.NOT_RUN,
        OutcomeCode.WITHDRAWN,
        "Withdrawn. Nothing was done.",
    )
)
STOPPED: Final = approval_card.stored(
    result(
        "The user stopped it before it was done. Nothing was done.",
        ToolOutcome.CANCELLED,
        OutcomeCode.STOPPED,
        "Withdrawn. Nothing was done.",
    )
)
CUT_OFF: Final = approval_card.stored(
    result(
        "This was approved and begun, and cut off. Whether it took effect is unknown.",
        ToolOutcome.UNKNOWN,
        OutcomeCode.CUT_OFF,
        "This was approved and begun, and cut off. Whether it took effect is unknown: check before repeating it.",
    )
)

OVER: Final = {S.PENDING: S.WITHDRAWN, S.APPROVED: S.WITHDRAWN, S.EDITED: S.WITHDRAWN}
BEGUN: Final = {S.EXECUTING: S.INDETERMINATE}


@dataclass(frozen=True, slots=True)
class TakenAnswers:
    """What became of a request's answers. turn: what the graph is given. events: what the client is told of it first.

    over: there is nothing for the graph to do; `late` are the rows that the request answers and that were decided before, or
    whose time and whose graph were over.
    """

    turn: Turn
    events: Sequence[Event] = ()
    late: Sequence[Interrupt] = ()
    over: bool = False


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """What a run leaves open. events: the cards of this run. interrupts: for its outcome. waits: whether anything is open."""

    events: Sequence[Event]
    interrupts: Sequence[dict[str, Any]]
    waits: bool


@dataclass(frozen=True, slots=True)
class _ClientAnswer:
    """An answer, by either way."""

    interrupt_id: str
    payload: Any
    cancelled: bool
    channel: Channel


class Answering:
    """Of one run. ttl_s: of approvals that name no time of their own. cards, form: how the page is asked."""

    def __init__(self, log: InterruptLog, claim: Claim, *, cards: bool, ttl_s: float, form: QuestionForm = QuestionForm.OUTCOME) -> None:
        self._log = log
        self._claim = claim
        self._cards = cards
        self._ttl_s = ttl_s
        self._form = form
        self._touched: dict[str, InterruptStatus] = {}
        """Rows that this run has told of, with the state it told."""
        self._answers: dict[str, str] = {}
        """Ids of the page's own tool messages, by the call that they answer."""

    async def rows(self) -> list[Interrupt]:
        """The thread's questions."""
        return await self._log.of_thread(self._claim.thread_id)

    # The beginning -----------------------------------------------------------------------------------

    async def take_answers(self, body: RunAgentInput, turn: Turn, view: ThreadView, principal: Principal) -> TakenAnswers:
        """Take the answers of a request. Raises InterruptUnknown where it answers what was never asked in this thread."""
        self._answers = {one.tool_call_id: one.id for one in body.messages if one.role == "tool"}
        given = _answers(body, turn)
        if not given and not view.interrupts and command_resume(body) is None:
            return TakenAnswers(turn)
        rows = {one.interrupt_id: one for one in await self.rows()}
        # A page replays its whole history: a tool message at its end answers a question only if that question is in the rows.
        given = [one for one in given if one.channel is Channel.INTERRUPT or one.interrupt_id in rows]
        if not given:
            given = _command_answer(body, rows.values(), self._form)
        given += _early(body, rows, but={one.interrupt_id for one in given})
        if any(one.interrupt_id not in rows for one in given):
            raise InterruptUnknown
        if any(rows[one.interrupt_id].pending for one in given):
            # The page's history: an answer by the card tool that was taken before is sent again with the next one.
            given = [one for one in given if one.channel is Channel.INTERRUPT or rows[one.interrupt_id].pending]
        speaks = bool(turn.messages)
        events: list[Event] = []
        late: list[Interrupt] = []
        declined: list[str] = []
        resume: list[Resume] = []
        open_ids = {str(one["id"]) for one in view.interrupts}
        for one in [_as_the_graph_takes_it(rows[one.interrupt_id], one, speaks=speaks) for one in given]:
            answer = _row_answer(rows[one.interrupt_id], one, principal, speaks=speaks)
            # An attempt before this one may have taken it.
            own = rows[one.interrupt_id].answer_run_id == self._claim.run_id
            answered = Answered(rows[one.interrupt_id], taken=True) if own else await self._log.answer(self._claim, answer)
            row = rows[one.interrupt_id] = answered.interrupt
            declined.append(_declined(answer, answered))
            events += self._closed_events(row, anew=one.channel is not Channel.CLIENT_TOOL)
            if not answered.taken and (row.status is not S.EXPIRED or row.interrupt_id not in open_ids):
                late.append(row)
            elif row.interrupt_id in open_ids and row.status is not S.WITHDRAWN and not (speaks and row.status is S.EXPIRED):
                cancelled = one.cancelled and row.kind is not InterruptKind.APPROVAL
                resume.append(Resume(row.interrupt_id, one.payload, cancelled))
        events += _refusal(declined, speaks=speaks)
        if speaks:
            for row in await self._passed_over(rows.values()):
                rows[row.interrupt_id] = row
                events += self._closed_events(row)
            turn = replace(turn, results=(*turn.results, *approval_card.left_results(rows.values(), open_ids)))
        resumed = {one.interrupt_id for one in resume}
        for row in to_go_on(rows.values(), open_ids):
            self._touched.setdefault(row.interrupt_id, row.status)
            if row.interrupt_id not in resumed:
                resume.append(Resume(row.interrupt_id))
        over = not (resume or speaks or turn.results or turn.restart_at)
        return TakenAnswers(replace(turn, resume=tuple(resume)), events, late, over)

    # Meanwhile ---------------------------------------------------------------------------------------

    async def with_cards(self, event: Event) -> Event:
        """A MESSAGES_SNAPSHOT of the graph's messages with the thread's cards in it; any other event as it is."""
        if event.get("type") != EventType.MESSAGES_SNAPSHOT or not (rows := await self.rows()):
            return event
        return {**event, "messages": approval_card.with_cards(event["messages"], rows, cards=self._cards, answers=self._answers)}

    async def late_notice(self, taken: TakenAnswers, view: ThreadView) -> list[Event]:
        """What a client is told whose answers came too late: the thread as it is, and in words what became of its questions."""
        if not taken.late:
            return []
        messages = approval_card.with_cards(view.messages, await self.rows(), cards=self._cards, answers=self._answers)
        message = {"messageId": f"notice-{self._claim.run_id}"}
        words = " ".join(dict.fromkeys(approval_card.words_of(row) for row in taken.late))
        return [
            {"type": EventType.MESSAGES_SNAPSHOT.value, "messages": messages},
            {"type": EventType.TEXT_MESSAGE_START.value, **message, "role": "assistant"},
            {"type": EventType.TEXT_MESSAGE_CONTENT.value, **message, "delta": words},
            {"type": EventType.TEXT_MESSAGE_END.value, **message},
            refused("server", " ".join(dict.fromkeys(approval_card.WORDS[row.status] for row in taken.late))),
        ]

    # The end -----------------------------------------------------------------------------------------

    async def open_questions(self, asked: Sequence[Mapping[str, Any]], *, after: str | None = None) -> OpenQuestions:
        """Write down what the graph asks, at its end. Questions that waited before stay as they are.

        after: the id of the thread's last message.
        """
        known = {one.interrupt_id for one in await self.rows()} if asked or self._touched else set()
        new = [approval_card.new_interrupt(one, cards=self._cards, ttl_s=self._ttl_s, after=after) for one in asked]
        open_ = [one for one in await self._log.open(self._claim, new) if one.pending] if new else []
        events: list[Event] = []
        if self._touched or known:
            for row in await self.rows():
                if not row.pending and self._touched.get(row.interrupt_id, row.status) is not row.status:
                    events += self._closed_events(row, anew=False)
        by_card = [one for one in open_ if self._cards and one.kind is InterruptKind.APPROVAL]
        for row in by_card:
            if row.interrupt_id not in known:
                events += approval_card.card_call(row)
        interrupts = [approval_card.interrupt(one) for one in open_ if one not in by_card]
        untold = by_card if self._form is QuestionForm.OUTCOME else open_
        if untold:  # for clients of other doors: the end of this run says nothing of them
            events.append(custom(Custom.WAITING, interrupts=[approval_card.interrupt(one) for one in untold]))
        if self._form is not QuestionForm.OUTCOME:
            return OpenQuestions([*events, *custom_event.events(interrupts, self._form)], (), bool(open_))
        return OpenQuestions(events, interrupts, bool(open_))

    async def close_begun(self, *, goes_on: bool = False) -> list[Event]:
        """What the attempt before had begun has no known outcome. What is asked, and approved and not begun, stays.

        Args:
            goes_on: the run goes on, and may yet learn the outcome. So its card gets no result of which the outcome is unknown.
        """
        closed = await self._log.close(self._claim, BEGUN, outcome=CUT_OFF)
        return [event for row in closed for event in self._closed_events(row, anew=not goes_on)]

    async def close_all(self) -> list[Event]:
        """The thread was settled: nothing of it can be answered any more, and what had begun has no known outcome."""
        closed = [*await self._expired(await self.rows()), *await self._log.close(self._claim, OVER, outcome=STOPPED)]
        return [event for row in closed for event in self._closed_events(row)] + await self.close_begun()

    async def results(self) -> dict[str, ToolResult]:
        """What is known of calls that approvals are about, by the calls' ids: for those that the thread has no result of."""
        return {one.tool_call_id: approval_card.result_of(one) for one in await self.rows() if one.kind is InterruptKind.APPROVAL}

    async def _passed_over(self, rows: Iterable[Interrupt]) -> list[Interrupt]:
        """The rows that a new message closes."""
        return [*await self._expired(rows), *await self._log.close(self._claim, {S.PENDING: S.WITHDRAWN}, outcome=TAKEN_BACK)]

    async def _expired(self, rows: Iterable[Interrupt]) -> list[Interrupt]:
        """Of these rows those whose time ended unanswered, as expired: what comes afterwards does not withdraw them."""
        late = {row.interrupt_id for row in rows if row.pending and row.late}
        if not late:
            return []
        await self._log.expire()
        return [row for row in await self.rows() if row.interrupt_id in late and row.status is S.EXPIRED]

    def _closed_events(self, row: Interrupt, *, anew: bool = True) -> list[Event]:
        """That the row is decided. anew: also close its card in the page, which has no answer of its own there."""
        self._touched[row.interrupt_id] = row.status
        events = [approval_card.resolved(row)]
        if row.kind is not InterruptKind.APPROVAL:
            events.append(graph_question.activity_event(row))
        elif anew and self._cards:
            events.append(approval_card.card_result(row))
        return events


class LogApprovals:
    """`node_api.approvals.Approvals` on the log, bound to the run's claim."""

    def __init__(self, log: InterruptLog, claim: Claim) -> None:
        self._log = log
        self._claim = claim

    async def of_call(self, call_key: str) -> Approval | None:
        """See `node_api.approvals.Approvals`."""
        rows = [
            one
            for one in await self._log.of_thread(self._claim.thread_id)
            if one.kind is InterruptKind.APPROVAL and one.call_key == call_key
        ]
        if not rows:
            return None
        row = rows[-1]
        return Approval(
            interrupt_id=row.interrupt_id,
            status=row.status,
            question=row.payload,
            answer=row.answer,
            stale=row.late and row.answer_run_id != self._claim.run_id,
            root_id=row.root_id or row.interrupt_id,
            idempotency_key=row.idempotency_key,
            result=None if row.outcome is None else approval_card.result_of(row),
        )

    async def begin(self, approval: Approval, *, digest: str) -> bool:
        """See `node_api.approvals.Approvals`."""
        return await self._log.begin(self._claim, approval.interrupt_id, digest=digest)

    async def end(self, approval: Approval, result: ToolResult) -> None:
        """See `node_api.approvals.Approvals`."""
        status = S.INDETERMINATE if result.outcome.outcome is ToolOutcome.UNKNOWN else S.EXECUTED
        await self._log.end(self._claim, approval.interrupt_id, status=status, outcome=approval_card.stored(result))

    async def drop(self, approval: Approval, result: ToolResult) -> None:
        """See `node_api.approvals.Approvals`."""
        moves = {S.APPROVED: S.WITHDRAWN, S.EDITED: S.WITHDRAWN}
        await self._log.close(self._claim, moves, outcome=approval_card.stored(result), only={approval.interrupt_id})


def to_go_on(rows: Iterable[Interrupt], open_ids: Iterable[str]) -> list[Interrupt]:
    """Approved actions that a crash cut off: the graph still waits there, and a run with the person's token can go on with them."""
    waiting = set(open_ids)
    newest = {one.call_key: one for one in rows if one.kind is InterruptKind.APPROVAL}
    return [one for one in newest.values() if one.status in CLAIMABLE | {S.EXECUTED} and one.interrupt_id in waiting]


def answered_ids(body: RunAgentInput) -> list[str]:
    """The ids that a request answers: its resume entries, the tool messages at its end, and the question of its command."""
    command = command_resume(body)
    named = "" if command is None else custom_event.named_id(command)
    return [one.interrupt_id for one in body.resume or ()] + [one.tool_call_id for one in _tail(body)] + [named] * bool(named)


def _as_the_graph_takes_it(row: Interrupt, given: _ClientAnswer, *, speaks: bool) -> _ClientAnswer:
    """The answer to a question that waits, in the form that it is asked for. A cancellation with a message withdraws, and is none."""
    if row.kind is InterruptKind.APPROVAL or not row.pending or (given.cancelled and speaks):
        return given
    payload, cancelled = graph_question.answer(row, given.payload, cancelled=given.cancelled)
    return replace(given, payload=payload, cancelled=cancelled)


def _row_answer(row: Interrupt, given: _ClientAnswer, principal: Principal, *, speaks: bool) -> Answer:
    """The answer as the row takes it. A new message takes back what is not answered; a yes of one who may not is a no."""
    decision, digest = approval_card.decide(row, given.payload, cancelled=given.cancelled)
    outcome: Mapping[str, Any] | None = None
    refused = ""
    if given.cancelled and speaks:
        decision, outcome = S.WITHDRAWN, TAKEN_BACK
    elif decision in {S.APPROVED, S.EDITED} and row.roles and all(clearly_lacks(principal, role) for role in row.roles):
        lacking = missing_role(row.roles, str(row.payload[MARK].get("doing") or "This"))
        refused = lacking.text
        decision, digest, outcome = S.REJECTED, "", approval_card.stored(lacking)
    return Answer(
        interrupt_id=row.interrupt_id,
        decision=decision,
        channel=given.channel,
        by=principal.owner,
        payload=given.payload,
        digest=digest,
        refused=refused,
        outcome=outcome,
    )


def _declined(answer: Answer, answered: Answered) -> str:
    """Why an answer did not count although its question was open to the graph; empty if it did, or somebody else's had."""
    if answered.taken:
        return answer.refused
    return approval_card.WORDS[S.EXPIRED] if answered.interrupt.status is S.EXPIRED else ""


def _refusal(declined: Sequence[str], *, speaks: bool) -> list[Event]:
    """A turn that came with answers alone, none of which counted, is refused; the model is told all the same."""
    if speaks or not declined or not all(declined):
        return []
    return [refused("server", " ".join(dict.fromkeys(declined)))]


def _answers(body: RunAgentInput, turn: Turn) -> list[_ClientAnswer]:
    given = {one.interrupt_id: _ClientAnswer(one.interrupt_id, one.payload, one.cancelled, Channel.INTERRUPT) for one in turn.resume}
    for one in _tail(body):
        content = one.content if isinstance(one.content, str) else ""
        given.setdefault(one.tool_call_id, _ClientAnswer(one.tool_call_id, approval_card.payload_of(content), False, Channel.CLIENT_TOOL))
    return list(given.values())


def _command_answer(body: RunAgentInput, rows: Iterable[Interrupt], form: QuestionForm) -> list[_ClientAnswer]:
    """The answer by `forwardedProps.command`, if there is one. Raises InvalidRequest where it is not clear what it answers."""
    command = command_resume(body)
    row = None if command is None else custom_event.answered_row(command, rows, form)
    if command is None or row is None:
        return []
    return [_ClientAnswer(row.interrupt_id, custom_event.payload(command, row), False, Channel.LEGACY)]


def _early(body: RunAgentInput, rows: Mapping[str, Interrupt], *, but: Iterable[str]) -> list[_ClientAnswer]:
    """Answers by the card tool that a later message of the same request follows, to questions that still wait."""
    known = set(but)
    found: dict[str, _ClientAnswer] = {}
    for one in body.messages:
        if one.role == "tool" and one.tool_call_id not in known and one.tool_call_id in rows and rows[one.tool_call_id].pending:
            content = one.content if isinstance(one.content, str) else ""
            found.setdefault(
                one.tool_call_id, _ClientAnswer(one.tool_call_id, approval_card.payload_of(content), False, Channel.CLIENT_TOOL)
            )
    return list(found.values())


def _tail(body: RunAgentInput) -> list[Any]:
    """The tool messages that nothing but others of them follows: all that comes before was answered in an earlier request."""
    tail: list[Any] = []
    for message in reversed(body.messages):
        if message.role != "tool":
            break
        tail.insert(0, message)
    return tail
