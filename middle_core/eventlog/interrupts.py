"""The open questions of threads, as rows: the part of the log that says what a person was asked, answered, and what came of it.

A question stops a run; its answer is a new run. Only a row that is pending can be answered, once, by a compare-and-set; an
approved action is begun once, by another. A second answer gets the row as the first one left it. Knows no agent and no wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from middle_core.events import Owner, RunId, ThreadId


class InterruptKind(StrEnum):
    """What a person is asked."""

    APPROVAL = "approval"
    """Whether a tool call may be carried out, on a card of ours."""
    QUESTION = "question"
    """A graph's own question. What the answer means is the graph's business."""


class Channel(StrEnum):
    """The way by which a page is asked, and by which its answer comes."""

    CLIENT_TOOL = "client_tool"
    """A call of the page's own tool, answered by the tool's message."""
    INTERRUPT = "interrupt"
    """An interrupt of AG-UI, answered by a `resume` entry."""
    LEGACY = "legacy"
    """The event of CopilotKit's older hook, answered by `forwardedProps.command`. An answer only: the question is an interrupt."""


class InterruptStatus(StrEnum):
    """Where a question stands. The legal moves are in `eventlog.lifecycle`."""

    PENDING = "pending"
    ANSWERED = "answered"
    """A graph's own question: what the answer means is the graph's business."""
    APPROVED = "approved"
    EDITED = "edited"
    """Approved, with changed arguments."""
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    EXECUTING = "executing"
    EXECUTED = "executed"
    INDETERMINATE = "indeterminate"
    """It was begun, and whether it took effect is unknown."""


PENDING = InterruptStatus.PENDING
CLAIMABLE = frozenset({InterruptStatus.APPROVED, InterruptStatus.EDITED, InterruptStatus.INDETERMINATE})
"""What a person has said yes to and what is not done, as far as is known."""


@dataclass(frozen=True, slots=True)
class NewInterrupt:
    """A question to be asked.

    Args:
        payload: what is shown, as JSON.
        tool_call_id: what the call that asks is called on the wire.
        call_key: the call that asks, unique in its thread; empty for a graph's own question.
        args_digest: of the arguments that are shown.
        roles: a person with any of these roles may approve; empty means that everybody may.
        ttl_s: seconds until the question expires; None means that it never does.
        root_id: the first question about the same action, where this question asks about the action again; otherwise empty.
    """

    interrupt_id: str
    kind: InterruptKind
    channel: Channel
    payload: Mapping[str, Any]
    tool_call_id: str = ""
    call_key: str = ""
    tool: str = ""
    args_digest: str = ""
    roles: tuple[str, ...] = ()
    ttl_s: float | None = None
    root_id: str = ""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question as the database knows it. Times are milliseconds since the epoch. Fields of `NewInterrupt` mean the same here.

    Args:
        run_id: the run that asked.
        answer: as it came.
        answer_digest: of the arguments that were approved, edits included.
        answer_run_id: the run that brought the answer.
        outcome: what came of the question, `{"ok": bool or None, "text": str}`.
        late: whether the question's time was over when the row was read.
        run_number: `Run.number` of the run that asked; 0 where that run is gone.
        answer_run_number: `Run.number` of the run that brought the answer; None where there is none, or none any more.
    """

    thread_id: ThreadId
    interrupt_id: str
    run_id: RunId
    kind: InterruptKind
    channel: Channel
    tool_call_id: str
    call_key: str
    tool: str
    payload: Mapping[str, Any]
    args_digest: str
    roles: tuple[str, ...]
    root_id: str
    status: InterruptStatus
    created_at: int
    expires_at: int | None
    answer: Any
    answer_digest: str
    answered_by: Owner | None
    answered_at: int | None
    answer_run_id: RunId | None
    outcome: Mapping[str, Any] | None
    ended_at: int | None
    late: bool
    run_number: int
    answer_run_number: int | None

    @property
    def pending(self) -> bool:
        """Whether it waits for its answer."""
        return self.status is InterruptStatus.PENDING

    @property
    def idempotency_key(self) -> str:
        """One key for one approved action, however often it is tried."""
        return f"approval-{self.root_id or self.interrupt_id}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said.

    Args:
        decision: the status to which a pending row goes: answered, approved, edited, rejected or withdrawn.
        refused: why the person may not say so. The row goes to `decision` all the same, and the audit keeps the reason.
    """

    interrupt_id: str
    decision: InterruptStatus
    channel: Channel
    by: Owner
    payload: Any = None
    digest: str = ""
    refused: str = ""
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The row after the answer.

    Args:
        taken: whether this answer decided the question. If not, an earlier answer, a withdrawal or the time did.
    """

    interrupt: Interrupt
    taken: bool


class Verdict(StrEnum):
    """What became of an answer."""

    TAKEN = "taken"
    REFUSED = "refused"
    """The person may not say so; it counted as a no."""
    EXPIRED = "expired"
    LATE = "late"
    """The question was decided before."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One line of the audit: an answer as it came, and what became of it. What was shown is the row's `payload`."""

    interrupt_id: str
    run_id: RunId
    at: int
    by: Owner
    channel: Channel
    decision: InterruptStatus
    payload: Any
    digest: str
    verdict: Verdict
