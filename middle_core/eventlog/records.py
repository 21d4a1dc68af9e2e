"""The values of the log: threads, runs, the claim under which a run is written, and the lines of the tool ledger.

They say what the database knows and decide nothing: `eventlog.port` has the verbs, `eventlog.lifecycle` the legal moves.
Knows no AG-UI, no agent and no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from middle_core.events import ClientRunId, ClientThreadId, Owner, RunId, ThreadId


class RunStatus(StrEnum):
    """Where a run stands. The legal moves are in `eventlog.lifecycle`."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def active(self) -> bool:
        """Whether the run still holds its thread."""
        return self is RunStatus.RUNNING


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation of one owner. Times are milliseconds since the epoch."""

    thread_id: ThreadId
    owner: Owner
    client_thread_id: ClientThreadId
    agent: str
    title: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class ListedThread:
    """A line of a list of threads.

    Args:
        running: whether a run of the thread is active.
    """

    thread: Thread
    running: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One run as the database knows it. Times are milliseconds since the epoch.

    Args:
        number: the run's place among the runs of its thread, from 1. It orders them also where the clock was set back.
        lease_until: until then `owner_replica` need not say again that it lives.
    """

    run_id: RunId
    thread_id: ThreadId
    number: int
    owner: Owner
    client_thread_id: ClientThreadId
    client_run_id: ClientRunId
    agent: str
    parent_run_id: RunId | None
    attempt: int
    status: RunStatus
    owner_replica: str
    lease_until: int
    cancel_requested_at: int | None
    cancel_reason: str | None
    error_code: str | None
    started_at: int
    finished_at: int | None
    last_seq: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write for one attempt of a run. `token` is random and never leaves the process.

    Args:
        last_seq: the seq that the attempt's next record follows, at the time of the claim.
    """

    run_id: RunId
    thread_id: ThreadId
    attempt: int
    last_seq: int
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewThread:
    """A thread that a run opens if its owner has none of that name yet. title: only if it has no title."""

    owner: Owner
    client_thread_id: ClientThreadId
    title: str = ""


@dataclass(frozen=True, slots=True)
class NewRun:
    """What is needed to start a run.

    opens: make the thread in the same transaction if it is absent; `thread_id` is then what it will be called inside. One commit
    less before the first token. Where the owner has the thread already, the run is that thread's.
    input_digest: hex digest of the client's input; (thread, client_run_id, input_digest) finds the run
    that a repeated request means. reuses_run_id: True where the protocol repeats a runId on purpose (a resume),
    so that another input under the same runId is a new run and no conflict.
    input: what the run is asked, for whoever goes on with it. It is kept until the run ends.
    """

    run_id: RunId
    thread_id: ThreadId
    client_run_id: ClientRunId
    agent: str
    input_digest: str
    idempotency_key: str | None
    parent_run_id: RunId | None
    reuses_run_id: bool
    replica: str
    lease_s: float
    opens: NewThread | None = None
    input: bytes | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """`create_run` made a run; `claim` is the right to write it."""

    run: Run
    claim: Claim


@dataclass(frozen=True, slots=True)
class Existing:
    """`create_run` found the run that the same request started before."""

    run: Run


@dataclass(frozen=True, slots=True)
class Ending:
    """The state change that a run's last append carries."""

    status: RunStatus
    error_code: str | None = None
    usage: Sequence[dict[str, Any]] | None = None


class ToolCallStatus(StrEnum):
    """Where a tool call stands. The legal moves are in `eventlog.lifecycle`."""

    RUNNING = "running"
    """It began. If its process died since, whether it took effect is unknown."""
    PAUSED = "paused"
    """It stopped at a question. The answer runs it again."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One line of the tool ledger.

    Args:
        result: the tool message's text; None before the call has ended.
        outcome: what became of the call, as JSON whose model is `contract.outcomes.CallOutcome`; None before the call has ended.
    """

    thread_id: ThreadId
    tool_call_id: str
    run_id: RunId
    name: str
    status: ToolCallStatus
    result: str | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Beat:
    """What a beat learned."""

    superseded: frozenset[RunId]
    cancel_requested: frozenset[RunId]
