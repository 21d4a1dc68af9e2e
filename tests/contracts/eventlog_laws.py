"""Property tests: what holds in every `EventLog` for all interleavings. Subclassed like the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from middle_core.errors import NotFound, Superseded, ThreadBusy
from middle_core.eventlog.follow import follow
from middle_core.eventlog.lifecycle import RUN_MOVES
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Claim, Ending, RunStatus, Started, Thread
from middle_core.events import ClientThreadId, Record, RunId
from middle_core.stores.store import Store
from tests.contracts.eventlog_contract import ALICE, FINAL, FINISHED, STARTED, adopt, end, everything, new_run, start, text
from tests.contracts.store_contract import StoreContract

QUICK = settings(
    max_examples=25,
    deadline=None,
    # One law, several adapters: the subclasses are what hypothesis calls executors.
    suppress_health_check=[HealthCheck.differing_executors],
)


@dataclass
class Follower:
    """A client that comes and goes, and remembers only its cursor."""

    log: EventLog
    run_id: RunId
    stream: AsyncGenerator[list[Record], None] | None = None
    seen: list[Record] = field(default_factory=list)

    async def pull(self, *, tick_s: float) -> bool:
        """Take one batch, after attaching again if needed. False for an empty batch or at the end."""
        if self.stream is None:
            after = self.seen[-1].seq if self.seen else 0
            self.stream = follow(self.log, self.run_id, after=after, tick=lambda: tick_s)
        batch: list[Record] = await anext(self.stream, [])
        self.seen += batch
        return bool(batch)

    async def drop(self) -> None:
        """The connection breaks."""
        if self.stream is not None:
            await self.stream.aclose()
            self.stream = None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 5)),
        st.tuples(st.just("pull"), st.integers(0, 2)),
        st.tuples(st.just("drop"), st.integers(0, 2)),
        st.tuples(st.just("adopt"), st.just(0)),
    ),
    max_size=30,
)


class EventLogLaws(StoreContract):
    """See `StoreContract`."""

    @QUICK
    @given(steps=STEPS)
    async def test_any_interleaving_of_append_drop_and_reattach_yields_exactly_the_log(self, steps: list[tuple[str, int]]) -> None:
        with TemporaryDirectory() as home:
            async with self.open(Path(home)) as store:
                log = store.log
                started = await start(log)
                claim = started.claim
                followers = [Follower(log, started.run.run_id) for _ in range(3)]
                for what, argument in steps:
                    if what == "append":
                        await log.append(claim, [text(str(n)) for n in range(argument)])
                    elif what == "pull":
                        await followers[argument].pull(tick_s=0)
                    elif what == "drop":
                        await followers[argument].drop()
                    else:
                        claim = await adopt(log, claim)
                await end(log, claim)
                whole = await everything(log, started.run.run_id)
                for follower in followers:
                    await follower.drop()
                    while await follower.pull(tick_s=5):
                        pass
                    assert follower.seen == whole
                assert [record.terminal for record in whole] == [False] * (len(whole) - 1) + [True]

    @QUICK
    @given(
        sizes=st.lists(st.integers(1, 4), max_size=20),
        drops=st.lists(st.lists(st.integers(1, 4), max_size=8), min_size=1, max_size=4),
    )
    async def test_followers_that_come_and_go_during_the_run_miss_and_repeat_nothing(
        self, sizes: list[int], drops: list[list[int]]
    ) -> None:
        with TemporaryDirectory() as home:
            async with self.open(Path(home)) as store:
                log = store.log
                started = await start(log)

                async def write() -> None:
                    for size in sizes:
                        await log.append(started.claim, [text(str(n)) for n in range(size)])
                    await end(log, started.claim)

                async def watch(follower: Follower, pulls: list[int]) -> None:
                    for count in pulls:
                        for _ in range(count):
                            await follower.pull(tick_s=5)
                        await follower.drop()
                    while await follower.pull(tick_s=5):
                        pass

                followers = [Follower(log, started.run.run_id) for _ in drops]
                async with asyncio.timeout(30), asyncio.TaskGroup() as group:
                    for follower, pulls in zip(followers, drops, strict=True):
                        group.create_task(watch(follower, pulls))
                    group.create_task(write())
                whole = await everything(log, started.run.run_id)
                assert len(whole) == sum(sizes) + 2
                for follower in followers:
                    assert follower.seen == whole

    def test_random_commands_never_leave_the_lifecycle_table(self) -> None:
        laws = self

        class Machine(LifecycleMachine):
            def open(self, home: Path) -> AbstractAsyncContextManager[Store]:
                return laws.open(home)

        # hypothesis has no types for running a machine by hand.
        case: Any = Machine.TestCase
        case.settings = settings(QUICK, max_examples=20, stateful_step_count=25)
        case().runTest()


@dataclass
class Modelled:
    """The state that a run should have."""

    thread: int
    claim: Claim
    status: RunStatus = RunStatus.RUNNING
    seqs: list[int] = field(default_factory=lambda: [1])
    cancelled: bool = False


class LifecycleMachine(RuleBasedStateMachine):
    """Any commands on two threads, with current and with superseded claims, compared with a small model."""

    claims: Bundle[Claim] = Bundle("claims")

    def open(self, home: Path) -> AbstractAsyncContextManager[Store]:
        """See `StoreContract.open`."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.home = TemporaryDirectory()
        self.log: EventLog = self.runner.run(self.stack.enter_async_context(self.open(Path(self.home.name)))).log
        self.threads: list[Thread] = [self.runner.run(self.log.open_thread(ALICE, ClientThreadId(f"t{n}"), "agent")) for n in range(2)]
        self.runs: dict[RunId, Modelled] = {}

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.stack.aclose())
            self.runner.close()
            self.home.cleanup()

    def active(self, thread: int) -> list[RunId]:
        """The active runs of the model: at most one."""
        return [run_id for run_id, run in self.runs.items() if run.thread == thread and run.status.active]

    def valid(self, claim: Claim) -> bool:
        """Whether this claim may write, according to the model."""
        run = self.runs.get(claim.run_id)
        return run is not None and run.claim == claim and run.status.active

    @rule(target=claims, thread=st.integers(0, 1))
    def create(self, thread: int) -> Any:
        new = new_run(self.threads[thread], lease_s=0)
        try:
            outcome = self.runner.run(self.log.create_run(new, [STARTED]))
        except ThreadBusy:
            assert self.active(thread)
            return self.runs[self.active(thread)[0]].claim
        except NotFound:
            self.threads[thread] = self.runner.run(self.log.open_thread(ALICE, ClientThreadId(f"t{thread}"), "agent"))
            assert self.threads[thread].thread_id != new.thread_id
            return self.create(thread)
        assert not self.active(thread)
        assert isinstance(outcome, Started)
        self.runs[new.run_id] = Modelled(thread, outcome.claim)
        return outcome.claim

    @rule(claim=claims, count=st.integers(1, 3))
    def append(self, claim: Claim, count: int) -> None:
        try:
            records = self.runner.run(self.log.append(claim, [text("a")] * count))
        except Superseded:
            assert not self.valid(claim)
        else:
            assert self.valid(claim)
            self.runs[claim.run_id].seqs += [record.seq for record in records]

    @rule(claim=claims, status=st.sampled_from(FINAL))
    def end(self, claim: Claim, status: RunStatus) -> None:
        try:
            [record] = self.runner.run(self.log.append(claim, [FINISHED], ending=Ending(status)))
        except Superseded:
            assert not self.valid(claim)
        else:
            assert self.valid(claim)
            run = self.runs[claim.run_id]
            assert status in RUN_MOVES[run.status]
            run.status = status
            run.seqs.append(record.seq)

    @rule(target=claims, claim=claims)
    def adopt(self, claim: Claim) -> Claim:
        run = self.runs.get(claim.run_id)
        try:
            new = self.runner.run(self.log.claim(claim.run_id, attempt=claim.attempt, replica=f"replica-{claim.attempt + 1}", lease_s=0))
        except NotFound:
            assert run is None or not run.status.active
            return claim
        except Superseded:
            assert run is not None
            assert run.claim.attempt > claim.attempt
            return claim
        assert run is not None
        assert run.status.active
        assert new.attempt == run.claim.attempt + 1
        run.claim = new
        return new

    @rule(claim=claims)
    def cancel(self, claim: Claim) -> None:
        run = self.runs.get(claim.run_id)
        done = self.runner.run(self.log.request_cancel(claim.run_id, "user"))
        assert done == (run is not None and run.status.active)
        if done and run is not None:
            run.cancelled = True

    @rule(claim=claims)
    def beat(self, claim: Claim) -> None:
        run = self.runs.get(claim.run_id)
        beat = self.runner.run(self.log.beat([claim], lease_s=0))
        assert bool(beat.superseded) == (run is None or run.claim != claim)
        assert bool(beat.cancel_requested) == (run is not None and self.valid(claim) and run.cancelled)

    @rule(thread=st.integers(0, 1))
    def delete(self, thread: int) -> None:
        try:
            self.runner.run(self.log.delete_thread(self.threads[thread].thread_id))
        except ThreadBusy:
            assert self.active(thread)
        else:
            assert not self.active(thread)
            self.runs = {run_id: run for run_id, run in self.runs.items() if run.thread != thread}

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "runs"):
            return
        for run_id, model in self.runs.items():
            run = self.runner.run(self.log.get_run(run_id))
            assert run is not None
            assert (run.status, run.attempt) == (model.status, model.claim.attempt)
            assert [record.seq for record in self.runner.run(everything(self.log, run_id))] == model.seqs
        assert {run.run_id for run in self.runner.run(self.log.orphans("another", for_s=-3_600))} == {*self.active(0), *self.active(1)}
