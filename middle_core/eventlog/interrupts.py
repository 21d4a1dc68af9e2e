"""The open questions of threads, as rows: the part of the log that says what a person was asked, answered, and what came of it.

A question stops a run; its answer is a new run. Only a row that is pending can be answered, once, by a compare-and-set; an
approved action is begun once, by another. A second answer gets the row as the first one left it. Knows no agent and no wire.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from middle_core.eventlog.port import Claim
from middle_core.events import Owner, RunId, ThreadId


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

    kind: approval | question. channel: client_tool | interrupt. call_key: of the tool call that asks, unique in its thread
    (empty for a graph's own question); tool_call_id is what the call is called on the wire. payload: what is shown, as JSON.
    args_digest: of the arguments shown. roles: any of them may approve; empty means everybody. ttl_s: None means no end.
    root_id: the question whose action this one would go on with; empty where it is the first.
    """

    interrupt_id: str
    kind: str
    channel: str
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
    """A question as the database knows it. Times are milliseconds since the epoch.

    run_id: of the run that asked; answer_run_id: of the one that brought the answer. answer: as it came. answer_digest: of the
    arguments that were approved, edits included. outcome: what is told of it, `{"ok": bool or None, "text": str}`. late: whether
    its time was over when the row was read.
    """

    thread_id: ThreadId
    interrupt_id: str
    run_id: RunId
    kind: str
    channel: str
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
    """What a person said. decision: the status that a pending row goes to (answered | approved | edited | rejected | withdrawn).

    refused: why the person may not say so; the row then goes to `decision` all the same, and the audit says it.
    """

    interrupt_id: str
    decision: InterruptStatus
    channel: str
    by: Owner
    payload: Any = None
    digest: str = ""
    refused: str = ""
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The row after the answer. taken: this answer decided it; if not, an earlier answer, a withdrawal or the time did."""

    interrupt: Interrupt
    taken: bool


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One line of the audit: an answer as it came, and what became of it.

    verdict: taken | refused | expired | late (the row was decided before). What was shown is the row's `payload`.
    """

    interrupt_id: str
    run_id: RunId
    at: int
    by: Owner
    channel: str
    decision: str
    payload: Any
    digest: str
    verdict: str


class InterruptLog(Protocol):
    """Durable; every write is fenced by a run's claim on the thread and raises `Superseded` where that is lost."""

    async def open(self, claim: Claim, new: Sequence[NewInterrupt]) -> list[Interrupt]:
        """Ask. A question of this id that is pending already stays as it is. Raises `IllegalMove` where it was decided before."""

    async def of_thread(self, thread_id: ThreadId) -> list[Interrupt]:
        """Every question of the thread, oldest first."""

    async def answer(self, claim: Claim, answer: Answer) -> Answered:
        """Decide a pending row, or tell how it was decided. Past its time it becomes expired. Raises `InterruptUnknown`."""

    async def begin(self, claim: Claim, interrupt_id: str, *, digest: str) -> bool:
        """approved | edited | indeterminate -> executing, if these are the arguments that were approved. True for one caller."""

    async def end(self, claim: Claim, interrupt_id: str, *, status: InterruptStatus, outcome: Mapping[str, Any]) -> None:
        """executing -> executed | indeterminate. Raises `IllegalMove`."""

    async def close(
        self,
        claim: Claim,
        moves: Mapping[InterruptStatus, InterruptStatus],
        *,
        outcome: Mapping[str, Any],
        only: Collection[str] | None = None,
    ) -> list[Interrupt]:
        """Move the thread's rows (or only those) that stand at a key to its value. Returns the moved ones. Raises `IllegalMove`."""

    async def expire(self) -> int:
        """Mark every pending row whose time is over, by the database's clock. Returns how many."""

    async def audit(self, thread_id: ThreadId) -> list[AnswerRecord]:
        """Every answer that came for questions of the thread, in order, refused and late ones included."""
