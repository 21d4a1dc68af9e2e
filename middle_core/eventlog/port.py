"""The EventLog port: threads, runs, their events and the tool ledger, with its promises.

One port because state and event must commit together. `tests/contracts/eventlog_contract.py` is its
one suite, run for every adapter. It knows nothing of AG-UI's meaning beyond `Record.type`, nothing of
agents, tokens or transports.

Promises every adapter keeps:

1. `append` is atomic with the state change passed to it, and fenced by (run_id, attempt, token): a
   superseded claim raises `Superseded` and changes nothing.
2. seq is dense within an attempt, from 1; records of one run are read in seq order; what was read once
   is read again the same.
3. A record is committed before `append` returns, and no reader sees it before that: no death of a process loses it. A run's start
   and end, ends of messages and calls, results and the ledger have reached the disk as well; deltas get there with the next
   of these, in order, so that the machine's death may take the last words and never leaves a hole.
4. At most one run of a thread is active (`RunStatus.active`).
5. `changed` may wake early or late, never lies about the log: rows are the truth, a wake-up is a hint.
6. Clocks are the database's: `at`, leases, timestamps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from middle_core.events import ClientRunId, ClientThreadId, Event, Owner, Record, RunId, ThreadId

if TYPE_CHECKING:
    from middle_core.eventlog.interrupts import InterruptLog


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
class Run:
    """One run as the database knows it. Times are milliseconds since the epoch."""

    run_id: RunId
    thread_id: ThreadId
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
    """The right to write for one attempt of a run. `token` is random and never leaves the process."""

    run_id: RunId
    thread_id: ThreadId
    attempt: int
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


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One line of the tool ledger.

    status: running | paused | done | failed. result: the tool message's text. outcome: what became of the call, as JSON whose model
    is `contract.outcomes.CallOutcome`. Both are None before the call has ended.
    """

    thread_id: ThreadId
    tool_call_id: str
    run_id: RunId
    name: str
    status: str
    result: str | None
    outcome: str | None


class EventLog(Protocol):
    """See the module's promises. Every method may raise `Superseded` only where it takes a claim."""

    # threads ---------------------------------------------------------------------------------------
    async def open_thread(self, owner: Owner, client_thread_id: ClientThreadId, agent: str) -> Thread:
        """The owner's thread of that name, made if absent. The agent of an existing thread stays."""

    async def get_thread(self, owner: Owner, client_thread_id: ClientThreadId) -> Thread | None: ...

    async def list_threads(self, owner: Owner, *, limit: int, before: tuple[int, ThreadId] | None = None) -> list[Thread]:
        """Newest `updated_at` first, ties by thread id descending; `before` is the last row's pair of the page before."""

    async def set_title(self, thread_id: ThreadId, title: str, *, only_if_empty: bool) -> None: ...

    async def delete_thread(self, thread_id: ThreadId) -> None:
        """Delete the thread, its runs, events, ledger, questions and checkpoints. An active run raises `ThreadBusy`."""

    # runs ------------------------------------------------------------------------------------------
    async def create_run(self, new: NewRun, first: Sequence[Event]) -> Started | Existing:
        """Make the run and append its first events (RUN_STARTED first) in one durable transaction.

        The run that this request (idempotency key, or client_run_id and digest) made before is returned as
        `Existing`. Raises `RunIdConflict` for the same client_run_id with another digest (unless
        `reuses_run_id`), `ThreadBusy` where another run of the thread is active, `InvalidRequest` where the
        thread is another agent's.
        """

    async def get_run(self, run_id: RunId) -> Run | None: ...

    async def find_run(self, thread_id: ThreadId, client_run_id: ClientRunId) -> Run | None:
        """The newest run that a client calls so."""

    async def active_run(self, thread_id: ThreadId) -> Run | None: ...

    async def last_run(self, thread_id: ThreadId) -> Run | None: ...

    async def running(self) -> list[Run]:
        """Every active run, whoever owns it: for adoption and for the restart on SQLite."""

    async def claim(self, run_id: RunId, *, replica: str, lease_s: float) -> Claim:
        """Take over an active run as its next attempt; the claim before it is superseded. Raises `NotFound`."""

    async def beat(self, claims: Sequence[Claim], *, lease_s: float) -> Beat:
        """Extend the leases; say which claims are superseded and which runs someone asked to cancel."""

    async def append(
        self, claim: Claim, events: Sequence[Event], *, ending: Ending | None = None, after: int | None = None
    ) -> list[Record]:
        """Append the events and, with `ending`, end the run, in one transaction.

        after: the seq that the log must end with, for a writer that does not wait for each append before the next; where it does
        not, an append before this one was lost, and this one raises `Superseded`. Appends of one claim take effect in the order
        in which they were called.
        """

    async def request_cancel(self, run_id: RunId, reason: str) -> bool:
        """Write down durably that the run shall stop. False if it was over already. Idempotent."""

    # events ----------------------------------------------------------------------------------------
    async def read(self, run_id: RunId, *, after: int, limit: int) -> list[Record]:
        """Up to `limit` records with seq > after, in order; fewer where they are large. None only where there are none."""

    async def changed(self, run_id: RunId, *, after: int, within_s: float) -> bool:
        """Wait until the log may hold a record beyond `after`. False after `within_s` seconds without one."""

    # tool ledger -----------------------------------------------------------------------------------
    async def tool_begin(self, claim: Claim, tool_call_id: str, name: str) -> ToolCall | None:
        """Write down that the call starts. Returns the earlier line, unchanged, if there is one.

        Only a paused line (the call stopped at an interrupt) changes: it is set to running, under this
        claim's run, and returned as it was.
        """

    async def tool_end(self, claim: Claim, tool_call_id: str, *, status: str, result: str, outcome: str | None = None) -> None:
        """Write down how the call ended: see `ToolCall`. Raises `NotFound` where it was never begun."""

    async def tool_calls(self, thread_id: ThreadId) -> list[ToolCall]: ...

    # questions -------------------------------------------------------------------------------------
    @property
    def interrupts(self) -> InterruptLog:
        """What people were asked, and what came of it."""

    # life ------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Wake every waiter of `changed`, with nothing to read: so that followers see that the process drains."""

    async def ping(self) -> None:
        """Raise `StoreUnavailable` unless the database answers, and takes writes (looked at now and then): for `/readyz`."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Beat:
    """What a beat learned."""

    superseded: frozenset[RunId]
    cancel_requested: frozenset[RunId]
