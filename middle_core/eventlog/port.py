"""The EventLog port: threads, runs, their events and the tool ledger, with its promises; beside it the ports of questions and replicas.

One port because state and event must commit together. `tests/contracts/eventlog_contract.py` is its
one suite, run for every adapter. It knows nothing of AG-UI's meaning beyond `Record.type`, nothing of
agents, tokens or transports.

Promises every adapter keeps:

1. An append is atomic with the state change passed to it, and fenced by (run_id, attempt, token): a
   superseded claim raises `Superseded` and changes nothing.
2. seq is dense within an attempt, from 1; records of one run are read in seq order; what was read once
   is read again the same.
3. A record is committed before its append returns, and no reader sees it before that: no death of a process loses it. A run's start
   and end, ends of messages and calls, results and the ledger have reached the disk as well; deltas get there with the next
   of these, in order, so that the machine's death may take the last words and never leaves a hole.
4. At most one run of a thread is active (`RunStatus.active`).
5. `changed` may wake early or late, never lies about the log: rows are the truth, a wake-up is a hint.
6. Clocks are the database's: `at`, leases, timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from middle_core.eventlog.interrupts import Answer, Answered, AnswerRecord, Interrupt, InterruptStatus, NewInterrupt
from middle_core.eventlog.records import Beat, Claim, Ending, Existing, ListedThread, NewRun, Run, Started, Thread, ToolCall, ToolCallStatus
from middle_core.events import ClientRunId, ClientThreadId, Event, Owner, Record, RunId, ThreadId


class RunWriter(Protocol):
    """Writes one attempt of one run, in order, from the claim's `last_seq` on."""

    async def append(self, events: Sequence[Event], *, ending: Ending | None = None) -> list[Record]:
        """As `EventLog.append`. Appends take effect in the order in which the calls begin, also where they are under way together.

        Raises `Superseded` as well where an append before this one was lost: nothing may follow it.
        """


class EventLog(Protocol):
    """See the module's promises. Every method may raise `Superseded` only where it takes a claim."""

    # threads ---------------------------------------------------------------------------------------
    async def open_thread(self, owner: Owner, client_thread_id: ClientThreadId, agent: str) -> Thread:
        """The owner's thread of that name, made if absent. The agent of an existing thread stays."""

    async def get_thread(self, owner: Owner, client_thread_id: ClientThreadId) -> Thread | None: ...

    async def list_threads(self, owner: Owner, *, limit: int, before: tuple[int, ThreadId] | None = None) -> list[ListedThread]:
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

    async def last_run(self, thread_id: ThreadId) -> Run | None:
        """The thread's newest run: the one with the greatest `number`."""

    async def running_on(self, replica: str) -> list[Run]:
        """The active runs that this replica owns, whether or not their leases are over."""

    async def run_input(self, run_id: RunId) -> bytes | None:
        """`NewRun.input` of an active run. None where it has none, where it has ended, and where there is no such run."""

    async def orphans(self, replica: str, *, for_s: float) -> list[Run]:
        """The active runs that another replica owned, and whose lease has been over for `for_s` seconds.

        Where they are very many, those that have been orphans for the longest.
        """

    async def claim(self, run_id: RunId, *, attempt: int, replica: str, lease_s: float) -> Claim:
        """Take over a run that no living replica owns, or a run of this replica, as its next attempt. The claim before is superseded.

        A replica lives while its lease lasts. A store that is for one replica has no other living one, whatever the lease says.

        Args:
            attempt: the attempt that is taken over. Of several replicas that try at once, one gets it.

        Raises:
            NotFound: the run is not active.
            Superseded: another attempt has begun, or a living replica owns the run.
        """

    async def release(self, claim: Claim) -> None:
        """Let the run go: the claim is superseded, and the run is an orphan at once. Raises `Superseded`."""

    async def beat(self, claims: Sequence[Claim], *, lease_s: float) -> Beat:
        """Extend the leases; say which claims are superseded and which runs someone asked to cancel."""

    async def append(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None = None) -> list[Record]:
        """Append the events and, with `ending`, end the run, in one transaction. Raises `Superseded`."""

    def writer(self, claim: Claim) -> RunWriter:
        """For appends of which the next does not wait for the one before. A claim has one writer, or single appends."""

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

    async def tool_end(self, claim: Claim, tool_call_id: str, *, status: ToolCallStatus, result: str, outcome: str | None = None) -> None:
        """Write down how the call ended: see `ToolCall`. Raises `NotFound` where it was never begun."""

    async def tool_calls(self, thread_id: ThreadId) -> list[ToolCall]: ...

    # life ------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Wake every waiter of `changed`, with nothing to read: so that followers see that the process drains."""

    async def ping(self) -> None:
        """Raise `StoreUnavailable` unless the database answers, and takes writes (looked at now and then): for `/readyz`."""


class Replicas(Protocol):
    """What the replicas that share a database tell one another. Hints and rows with a time: whoever dies takes nothing along."""

    def on_stop(self, told: Callable[[RunId], None]) -> None:
        """Call `told` for each run that was asked to stop at another replica. A hint: it may be lost, and `EventLog.beat` tells it then.

        `told` must not raise, and gets runs of every replica.
        """

    async def followed_here(self, run_ids: Collection[RunId], *, replica: str, for_s: float) -> None:
        """Write down that clients of `replica` follow these runs of other replicas, for `for_s` seconds; 0 takes it back.

        Runs that are over, unknown or its own are left out.
        """

    async def followed_elsewhere(self, run_id: RunId, *, replica: str) -> bool:
        """Whether clients of another replica than this follow the run, as far as is written down."""


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
