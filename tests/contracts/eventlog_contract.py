"""What every `EventLog` adapter must do. The test module of an adapter subclasses `EventLogContract`.

Properties that hold for all interleavings are in `eventlog_laws`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uuid_utils

from middle_core.errors import NotFound, RunIdConflict, StoreUnavailable, Superseded, ThreadBusy
from middle_core.eventlog.follow import follow
from middle_core.eventlog.lifecycle import IllegalMove
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Claim, Ending, Existing, ListedThread, NewRun, RunStatus, Started, Thread, ToolCallStatus
from middle_core.events import ClientRunId, ClientThreadId, Event, Owner, Record, RunId, ThreadId
from middle_core.stores.store import Store
from tests.contracts.store_contract import StoreContract

ALICE, BOB = Owner('["iss","alice"]'), Owner('["iss","bob"]')
STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FINAL = [status for status in RunStatus if not status.active]


def text(delta: str) -> Event:
    """One piece of an answer."""
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}


def new_run(thread: Thread, **changes: Any) -> NewRun:
    """A request that no other one repeats, unless `changes` says so."""
    run_id = RunId(str(uuid_utils.uuid7()))
    plain = NewRun(
        run_id=run_id,
        thread_id=thread.thread_id,
        client_run_id=ClientRunId(f"client-{run_id}"),
        agent="agent",
        input_digest="digest",
        idempotency_key=None,
        parent_run_id=None,
        reuses_run_id=False,
        replica="replica-1",
        lease_s=15.0,
    )
    return replace(plain, **changes)


async def start(log: EventLog, thread: Thread | None = None, **changes: Any) -> Started:
    """A fresh run, on a fresh thread unless one is given."""
    if thread is None:
        thread = await log.open_thread(ALICE, ClientThreadId(str(uuid_utils.uuid7())), "agent")
    started = await log.create_run(new_run(thread, **changes), [STARTED])
    assert isinstance(started, Started)
    return started


async def adopt(log: EventLog, claim: Claim, *, lease_s: float = 15) -> Claim:
    """The next attempt's claim, on another replica, of a run that its replica let go."""
    await log.release(claim)
    return await log.claim(claim.run_id, attempt=claim.attempt, replica="replica-2", lease_s=lease_s)


async def end(log: EventLog, claim: Claim, status: RunStatus = RunStatus.FINISHED) -> list[Record]:
    """End the run as its engine does."""
    return await log.append(claim, [FINISHED], ending=Ending(status))


async def everything(log: EventLog, run_id: RunId) -> list[Record]:
    """The run's whole log."""
    return await log.read(run_id, after=0, limit=1_000_000)


async def drain(log: EventLog, run_id: RunId, after: int = 0) -> list[Record]:
    """Follow until the terminal record."""
    return [record async for batch in follow(log, run_id, after=after, tick=lambda: 5.0) for record in batch]


def of_kind(outcomes: Sequence[Any], kind: type) -> list[Any]:
    """The gathered outcomes of this type."""
    return [outcome for outcome in outcomes if isinstance(outcome, kind)]


class EventLogContract(StoreContract):
    """See `StoreContract`."""

    @pytest.fixture
    async def thread(self, log: EventLog) -> Thread:
        return await log.open_thread(ALICE, ClientThreadId("t1"), "agent")

    # threads ---------------------------------------------------------------------------------------
    async def test_a_thread_is_made_once_and_keeps_its_agent(self, log: EventLog) -> None:
        first = await log.open_thread(ALICE, ClientThreadId("t"), "agent")
        again = await log.open_thread(ALICE, ClientThreadId("t"), "another")
        assert again == first
        assert first.agent == "agent"
        assert first.title == ""
        assert first.created_at == first.updated_at > 1_700_000_000_000
        assert await log.get_thread(ALICE, ClientThreadId("t")) == first

    async def test_a_thread_name_belongs_to_its_owner(self, log: EventLog) -> None:
        mine = await log.open_thread(ALICE, ClientThreadId("t"), "agent")
        assert await log.get_thread(BOB, ClientThreadId("t")) is None
        theirs = await log.open_thread(BOB, ClientThreadId("t"), "agent")
        assert theirs.thread_id != mine.thread_id
        assert await log.list_threads(BOB, limit=10) == [ListedThread(theirs, running=False)]

    async def test_opening_one_thread_many_times_at_once_makes_one(self, log: EventLog) -> None:
        threads = await asyncio.gather(*(log.open_thread(ALICE, ClientThreadId("t"), f"agent-{n}") for n in range(30)))
        assert len(set(threads)) == 1

    async def test_threads_are_listed_newest_first_in_pages(self, log: EventLog) -> None:
        made = [await log.open_thread(ALICE, ClientThreadId(f"t{n}"), "agent") for n in range(7)]
        pages = []
        before: tuple[int, ThreadId] | None = None
        while page := [listed.thread for listed in await log.list_threads(ALICE, limit=3, before=before)]:
            pages.append(page)
            before = (page[-1].updated_at, page[-1].thread_id)
        assert [len(page) for page in pages] == [3, 3, 1]
        assert [row for page in pages for row in page] == sorted(made, key=lambda t: (t.updated_at, t.thread_id), reverse=True)

    async def test_a_run_brings_its_thread_to_the_top_when_it_starts_and_when_it_ends(self, log: EventLog) -> None:
        old = await log.open_thread(ALICE, ClientThreadId("old"), "agent")
        started = await start(log, old)
        after_start = await log.get_thread(ALICE, ClientThreadId("old"))
        assert after_start is not None
        assert after_start.updated_at == started.run.started_at >= old.updated_at
        await end(log, started.claim)
        after_end = await log.get_thread(ALICE, ClientThreadId("old"))
        run = await log.get_run(started.run.run_id)
        assert after_end is not None
        assert run is not None
        assert after_end.updated_at == run.finished_at

    async def test_the_list_says_in_which_threads_a_run_is_active(self, log: EventLog) -> None:
        idle, done, busy = [await log.open_thread(ALICE, ClientThreadId(name), "agent") for name in ("idle", "done", "busy")]
        await end(log, (await start(log, done)).claim)
        await start(log, busy)
        listed = {one.thread.thread_id: one.running for one in await log.list_threads(ALICE, limit=10)}
        assert listed == {idle.thread_id: False, done.thread_id: False, busy.thread_id: True}
        before = (1 << 53, ThreadId("~"))
        assert {one.thread.thread_id: one.running for one in await log.list_threads(ALICE, limit=10, before=before)} == listed

    async def test_a_title_may_be_set_once_or_anew(self, log: EventLog, thread: Thread) -> None:
        async def title() -> str:
            found = await log.get_thread(ALICE, ClientThreadId("t1"))
            assert found is not None
            return found.title

        await log.set_title(thread.thread_id, "first", only_if_empty=True)
        await log.set_title(thread.thread_id, "second", only_if_empty=True)
        assert await title() == "first"
        await log.set_title(thread.thread_id, "third", only_if_empty=False)
        assert await title() == "third"

    async def test_deleting_a_thread_deletes_all_of_it_and_nothing_else(self, log: EventLog, thread: Thread) -> None:
        started, other = await start(log, thread), await start(log)
        await log.tool_begin(started.claim, "call-1", "search")
        with pytest.raises(ThreadBusy):
            await log.delete_thread(thread.thread_id)
        await end(log, started.claim)
        await log.delete_thread(thread.thread_id)
        await log.delete_thread(thread.thread_id)
        assert await log.get_thread(ALICE, ClientThreadId("t1")) is None
        assert await log.get_run(started.run.run_id) is None
        assert await log.find_run(thread.thread_id, started.run.client_run_id) is None
        assert await everything(log, started.run.run_id) == []
        assert await log.tool_calls(thread.thread_id) == []
        assert len(await everything(log, other.run.run_id)) == 1
        assert await log.get_run(other.run.run_id) == other.run

    # starting --------------------------------------------------------------------------------------
    async def test_a_started_run_is_readable_with_its_first_events(self, log: EventLog, thread: Thread) -> None:
        new = new_run(thread, parent_run_id="parent")
        outcome = await log.create_run(new, [STARTED, text("a")])
        assert isinstance(outcome, Started)
        run = outcome.run
        assert await log.get_run(new.run_id) == run
        assert (run.thread_id, run.owner, run.client_thread_id) == (thread.thread_id, ALICE, "t1")
        assert (run.client_run_id, run.agent, run.parent_run_id) == (new.client_run_id, "agent", "parent")
        assert (run.attempt, run.status, run.last_seq, run.finished_at, run.cancel_requested_at) == (1, RunStatus.RUNNING, 2, None, None)
        assert (run.owner_replica, run.lease_until) == ("replica-1", run.started_at + 15_000)
        assert outcome.claim == Claim(new.run_id, thread.thread_id, 1, 2, outcome.claim.token)
        records = await everything(log, new.run_id)
        assert [(r.run_id, r.seq, r.attempt, r.at, r.type, r.event) for r in records] == [
            (new.run_id, 1, 1, run.started_at, "RUN_STARTED", STARTED),
            (new.run_id, 2, 1, run.started_at, "TEXT_MESSAGE_CONTENT", text("a")),
        ]
        assert await log.active_run(thread.thread_id) == await log.last_run(thread.thread_id) == run
        assert await log.running_on("replica-1") == [run]

    async def test_a_run_needs_a_thread_and_a_beginning(self, log: EventLog, thread: Thread) -> None:
        with pytest.raises(NotFound):
            await log.create_run(new_run(thread, thread_id=ThreadId("absent")), [STARTED])
        for first in ([], [STARTED, FINISHED]):
            with pytest.raises(ValueError, match="RUN_STARTED"):
                await log.create_run(new_run(thread), first)
        assert await log.running_on("replica-1") == []

    @pytest.mark.parametrize("key", [None, "key"])
    async def test_the_same_request_finds_its_run_while_it_runs_and_after(self, log: EventLog, thread: Thread, key: str | None) -> None:
        started = await start(log, thread, client_run_id="c", idempotency_key=key)
        again = await log.create_run(new_run(thread, client_run_id="c", idempotency_key=key), [STARTED])
        assert again == Existing(started.run)
        await end(log, started.claim)
        after = await log.create_run(new_run(thread, client_run_id="c", idempotency_key=key), [STARTED])
        assert isinstance(after, Existing)
        assert (after.run.run_id, after.run.status) == (started.run.run_id, RunStatus.FINISHED)

    async def test_an_idempotency_key_finds_its_run_under_another_client_id(self, log: EventLog, thread: Thread) -> None:
        started = await start(log, thread, idempotency_key="k")
        assert await log.create_run(new_run(thread, idempotency_key="k"), [STARTED]) == Existing(started.run)

    async def test_the_same_name_with_another_input_is_a_conflict(self, log: EventLog, thread: Thread) -> None:
        started = await start(log, thread, client_run_id="c", idempotency_key="k")
        await end(log, started.claim)
        with pytest.raises(RunIdConflict, match="runId"):
            await log.create_run(new_run(thread, client_run_id="c", input_digest="other"), [STARTED])
        with pytest.raises(RunIdConflict, match="Idempotency-Key"):
            await log.create_run(new_run(thread, idempotency_key="k", input_digest="other"), [STARTED])
        assert (await log.last_run(thread.thread_id)) == await log.get_run(started.run.run_id)

    async def test_a_resume_reuses_the_run_id_for_a_new_run_and_is_found_again(self, log: EventLog, thread: Thread) -> None:
        first = await start(log, thread, client_run_id="c", input_digest="question")
        await end(log, first.claim, RunStatus.INTERRUPTED)
        resumed = await start(log, thread, client_run_id="c", input_digest="answer", reuses_run_id=True, parent_run_id=first.run.run_id)
        assert resumed.run.run_id != first.run.run_id
        again = await log.create_run(new_run(thread, client_run_id="c", input_digest="answer", reuses_run_id=True), [STARTED])
        assert again == Existing(resumed.run)
        assert await log.find_run(thread.thread_id, ClientRunId("c")) == resumed.run

    async def test_names_of_another_thread_do_not_matter(self, log: EventLog) -> None:
        for _ in range(2):
            await start(log, client_run_id="c", idempotency_key="k")

    async def test_of_many_different_requests_at_once_one_wins(self, log: EventLog, thread: Thread) -> None:
        outcomes = await asyncio.gather(*(log.create_run(new_run(thread), [STARTED]) for _ in range(30)), return_exceptions=True)
        assert len(of_kind(outcomes, Started)) == 1
        assert len(of_kind(outcomes, ThreadBusy)) == 29
        assert len(await log.running_on("replica-1")) == 1

    @pytest.mark.parametrize("key", [None, "key"])
    async def test_of_the_same_request_many_times_at_once_one_starts_and_all_find_it(
        self, log: EventLog, thread: Thread, key: str | None
    ) -> None:
        requests = [new_run(thread, client_run_id="c", idempotency_key=key) for _ in range(30)]
        outcomes = await asyncio.gather(*(log.create_run(request, [STARTED]) for request in requests))
        assert len(of_kind(outcomes, Started)) == 1
        assert len(of_kind(outcomes, Existing)) == 29
        assert len({outcome.run.run_id for outcome in outcomes}) == 1

    @pytest.mark.parametrize("status", FINAL)
    async def test_an_ended_run_frees_its_thread(self, log: EventLog, thread: Thread, status: RunStatus) -> None:
        first = await start(log, thread)
        await log.append(first.claim, [text("a")])
        usage = [{"model": "m", "input_tokens": 3}]
        await log.append(first.claim, [text("b"), FINISHED], ending=Ending(status, error_code="internal", usage=usage))
        run = await log.get_run(first.run.run_id)
        assert run is not None
        assert (run.status, run.error_code, run.last_seq) == (status, "internal", 4)
        assert run.finished_at is not None
        assert run.finished_at >= run.started_at
        assert await log.active_run(thread.thread_id) is None
        assert await log.last_run(thread.thread_id) == run
        second = await start(log, thread)
        assert await log.last_run(thread.thread_id) == second.run

    async def test_what_is_absent_is_none(self, log: EventLog, thread: Thread) -> None:
        assert await log.get_run(RunId("absent")) is None
        assert await log.find_run(thread.thread_id, ClientRunId("absent")) is None
        assert await log.active_run(thread.thread_id) is None
        assert await log.last_run(thread.thread_id) is None
        assert await log.get_thread(ALICE, ClientThreadId("absent")) is None
        assert await everything(log, RunId("absent")) == []

    # appending -------------------------------------------------------------------------------------
    async def test_records_are_dense_and_read_the_same_again(self, log: EventLog) -> None:
        started = await start(log)
        awkward = ["", "a\u0000b", "\U0001f600", '"\\', "x" * 100_000]
        appended = await log.append(started.claim, [text(delta) for delta in awkward])
        appended += await end(log, started.claim)
        assert [record.seq for record in appended] == list(range(2, 8))
        first = await everything(log, started.run.run_id)
        assert first[1:] == appended
        assert await everything(log, started.run.run_id) == first
        assert [record.event["delta"] for record in first[1:-1]] == awkward

    async def test_reading_is_bounded_in_bytes_and_comes_to_the_end(self, log: EventLog) -> None:
        """A follower keeps a batch in memory until its client has taken it, so a batch must not hold 256 large events."""
        started = await start(log)
        for _ in range(12):
            await log.append(started.claim, [text("x" * 500_000)])
        seqs, after = [1], 1
        while records := await log.read(started.run.run_id, after=after, limit=1000):
            assert len(records) == 1 or sum(len(record.data) for record in records) < 2_000_000
            seqs += [record.seq for record in records]
            after = seqs[-1]
        assert seqs == list(range(1, 14))

    async def test_reading_is_bounded_by_cursor_and_limit(self, log: EventLog) -> None:
        started = await start(log)
        for n in range(20):
            await log.append(started.claim, [text(str(n))])
        for after, limit in [(0, 3), (7, 5), (18, 10), (21, 10), (100, 10)]:
            records = await log.read(started.run.run_id, after=after, limit=limit)
            assert [record.seq for record in records] == list(range(after + 1, min(after + limit, 21) + 1))

    async def test_many_runs_append_at_once_and_each_log_is_its_own(self, log: EventLog) -> None:
        runs = [await start(log) for _ in range(10)]

        async def write(run: Started, name: int) -> None:
            for n in range(20):
                await log.append(run.claim, [text(f"{name}:{n}"), text(f"{name}:{n}!")])
            await end(log, run.claim)

        async with asyncio.TaskGroup() as group:
            for name, run in enumerate(runs):
                group.create_task(write(run, name))
        for name, run in enumerate(runs):
            records = await everything(log, run.run.run_id)
            assert [record.seq for record in records] == list(range(1, 43))
            assert [record.event["delta"] for record in records[1:-1]] == [f"{name}:{n}{mark}" for n in range(20) for mark in ("", "!")]

    async def test_a_failing_operation_harms_only_itself(self, log: EventLog, thread: Thread) -> None:
        good, stale = [await start(log) for _ in range(5)], await start(log, thread)
        current = await adopt(log, stale.claim)
        outcomes = await asyncio.gather(
            *(log.append(run.claim, [text("good")]) for run in good[:3]),
            log.append(stale.claim, [text("stale")]),
            log.create_run(new_run(thread), [STARTED]),
            log.tool_end(current, "never-begun", status=ToolCallStatus.DONE, result=""),
            *(log.append(run.claim, [text("good")]) for run in good[3:]),
            log.append(current, [text("current")]),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes] == [list] * 3 + [Superseded, ThreadBusy, NotFound] + [list] * 3
        for run in good:
            assert [record.seq for record in await everything(log, run.run.run_id)] == [1, 2]
        assert [record.event.get("delta") for record in await everything(log, stale.run.run_id)] == [None, "current"]

    async def test_appends_in_flight_keep_their_order_and_none_follows_a_lost_one(self, log: EventLog) -> None:
        started = await start(log)
        writer = log.writer(started.claim)
        appended = await asyncio.gather(*(writer.append([text(str(n))]) for n in range(30)))
        assert [record.event["delta"] for record in (await everything(log, started.run.run_id))[1:]] == [str(n) for n in range(30)]
        assert [record.seq for [record] in appended] == list(range(2, 32))
        with pytest.raises(TypeError):
            await writer.append([{"type": "CUSTOM", "name": "lost", "value": object()}])
        for late in (writer.append([text("after a lost one")]), writer.append([FINISHED], ending=Ending(RunStatus.FINISHED))):
            with pytest.raises(Superseded):
                await late
        assert (await everything(log, started.run.run_id))[-1].seq == 31

    async def test_a_writer_ends_its_run_and_goes_on_where_its_claim_begins(self, log: EventLog) -> None:
        started = await start(log)
        await log.writer(started.claim).append([text("old")])
        claim = await adopt(log, started.claim)
        writer = log.writer(claim)
        new, over = await asyncio.gather(writer.append([text("new")]), writer.append([FINISHED], ending=Ending(RunStatus.FINISHED)))
        assert [(record.seq, record.attempt) for record in (*new, *over)] == [(claim.last_seq + 1, 2), (claim.last_seq + 2, 2)]
        with pytest.raises(Superseded):
            await log.writer(started.claim).append([text("zombie")])

    async def test_an_event_that_is_no_json_is_refused_before_anything_is_written(self, log: EventLog) -> None:
        started = await start(log)
        with pytest.raises(TypeError):
            await log.append(started.claim, [text("a"), {"type": "CUSTOM", "name": "x", "value": object()}])
        assert len(await everything(log, started.run.run_id)) == 1

    async def test_a_run_ends_with_exactly_one_terminal_record(self, log: EventLog) -> None:
        started = await start(log)
        over = Ending(RunStatus.FINISHED)
        for events, ending in [([FINISHED], None), ([], over), ([text("a")], over), ([FINISHED, text("a")], over), ([FINISHED] * 2, over)]:
            with pytest.raises(ValueError, match="terminal"):
                await log.append(started.claim, events, ending=ending)
        with pytest.raises(IllegalMove, match="running to running"):
            await log.append(started.claim, [FINISHED], ending=Ending(RunStatus.RUNNING))
        assert await log.append(started.claim, []) == []
        assert len(await everything(log, started.run.run_id)) == 1
        assert await log.get_run(started.run.run_id) == started.run

    async def test_nothing_follows_the_end(self, log: EventLog) -> None:
        started = await start(log)
        await end(log, started.claim)
        before = await everything(log, started.run.run_id)
        for attempt in (log.append(started.claim, [text("late")]), end(log, started.claim, RunStatus.FAILED)):
            with pytest.raises(Superseded):
                await attempt
        with pytest.raises(Superseded):
            await log.tool_begin(started.claim, "call", "search")
        assert await everything(log, started.run.run_id) == before
        run = await log.get_run(started.run.run_id)
        assert run is not None
        assert run.status is RunStatus.FINISHED

    async def test_of_two_endings_at_once_one_wins(self, log: EventLog) -> None:
        started = await start(log)
        outcomes = await asyncio.gather(*(end(log, started.claim, status) for status in FINAL), return_exceptions=True)
        assert len(of_kind(outcomes, list)) == 1
        assert len(of_kind(outcomes, Superseded)) == len(FINAL) - 1
        assert [record.type for record in await everything(log, started.run.run_id)] == ["RUN_STARTED", "RUN_FINISHED"]

    # claims ----------------------------------------------------------------------------------------
    async def test_a_new_attempt_supersedes_the_one_before(self, log: EventLog) -> None:
        started = await start(log)
        old = started.claim
        await log.append(old, [text("old")])
        await log.tool_begin(old, "call", "search")
        claim = await adopt(log, old)
        assert (claim.run_id, claim.thread_id, claim.attempt, claim.last_seq) == (old.run_id, old.thread_id, 2, 1_001)
        assert claim.token != old.token
        forged = [old, replace(claim, token=old.token), replace(old, token=claim.token), replace(claim, attempt=3)]
        for stale in forged:
            with pytest.raises(Superseded):
                await log.append(stale, [text("zombie")])
            with pytest.raises(Superseded):
                await end(log, stale)
            with pytest.raises(Superseded):
                await log.tool_begin(stale, "other", "search")
            with pytest.raises(Superseded):
                await log.tool_end(stale, "call", status=ToolCallStatus.DONE, result="zombie")
        [new] = await log.append(claim, [text("new")])
        assert (new.attempt, new.seq) == (2, 1_002)
        await end(log, claim)
        assert [(r.seq, r.attempt) for r in await everything(log, old.run_id)] == [(1, 1), (2, 1), (1_002, 2), (1_003, 2)]
        assert [(call.tool_call_id, call.status, call.result) for call in await log.tool_calls(old.thread_id)] == [
            ("call", "running", None)
        ]
        run = await log.get_run(old.run_id)
        assert run is not None
        assert (run.attempt, run.owner_replica, run.last_seq) == (2, "replica-2", 1_003)

    async def test_only_an_active_run_can_be_claimed_or_let_go(self, log: EventLog) -> None:
        started = await start(log)
        await end(log, started.claim)
        for run_id in (started.run.run_id, RunId("absent")):
            with pytest.raises(NotFound):
                await log.claim(run_id, attempt=1, replica="replica-1", lease_s=15)
        with pytest.raises(Superseded):
            await log.release(started.claim)

    async def test_a_run_that_was_let_go_is_an_orphan_for_everybody_and_its_claim_is_superseded(self, log: EventLog) -> None:
        started = await start(log)
        await log.release(started.claim)
        for replica in ("replica-1", "replica-2"):
            assert [run.run_id for run in await log.orphans(replica, for_s=0)] == [started.run.run_id]
            assert await log.running_on(replica) == []
        for late in (log.append(started.claim, [text("zombie")]), log.release(started.claim)):
            with pytest.raises(Superseded):
                await late
        assert (await log.beat([started.claim], lease_s=15)).superseded == {started.run.run_id}
        claim = await log.claim(started.run.run_id, attempt=1, replica="replica-2", lease_s=15)
        assert [run.run_id for run in await log.running_on("replica-2")] == [claim.run_id]
        assert await log.orphans("replica-2", for_s=0) == []

    async def test_a_run_whose_lease_is_over_is_an_orphan_for_other_replicas(self, log: EventLog) -> None:
        started = await start(log, lease_s=0)
        assert await log.orphans("replica-1", for_s=0) == [], "it is alive: it asks"
        [orphan] = await log.orphans("replica-2", for_s=0)
        assert orphan == started.run
        claim = await log.claim(orphan.run_id, attempt=orphan.attempt, replica="replica-2", lease_s=15)
        with pytest.raises(Superseded):
            await log.append(started.claim, [text("zombie")])
        await end(log, claim)
        assert await log.orphans("replica-3", for_s=0) == []

    async def test_a_run_whose_lease_is_not_over_can_be_claimed_only_where_no_other_replica_can_live(self, store: Store) -> None:
        started = await start(store.log, lease_s=60)
        assert await store.log.orphans("replica-2", for_s=0) == []
        claiming = store.log.claim(started.run.run_id, attempt=1, replica="replica-2", lease_s=15)
        if store.shared:
            with pytest.raises(Superseded):
                await claiming
        else:
            assert (await claiming).attempt == 2

    async def test_an_orphan_is_found_once_its_lease_has_been_over_for_long_enough(self, log: EventLog) -> None:
        started = await start(log, lease_s=-30)
        assert await log.orphans("replica-2", for_s=60) == []
        assert [run.run_id for run in await log.orphans("replica-2", for_s=20)] == [started.run.run_id]

    async def test_what_a_run_is_asked_is_kept_until_it_ends(self, log: EventLog) -> None:
        started = await start(log, input=b'{"messages": "\xc3\xa9"}')
        assert await log.run_input(started.run.run_id) == b'{"messages": "\xc3\xa9"}'
        claim = await log.claim(started.run.run_id, attempt=1, replica="replica-1", lease_s=15)
        assert await log.run_input(started.run.run_id) == b'{"messages": "\xc3\xa9"}'
        await end(log, claim)
        assert await log.run_input(started.run.run_id) is None
        assert await log.run_input((await start(log)).run.run_id) is None
        assert await log.run_input(RunId("absent")) is None

    async def test_a_replica_may_claim_its_own_run_anew(self, log: EventLog) -> None:
        started = await start(log, lease_s=60)
        claim = await log.claim(started.run.run_id, attempt=1, replica="replica-1", lease_s=15)
        await end(log, claim)
        with pytest.raises(Superseded):
            await log.append(started.claim, [text("zombie")])

    async def test_of_many_that_claim_the_same_attempt_one_gets_it(self, log: EventLog) -> None:
        started = await start(log, lease_s=0)
        claiming = [log.claim(started.run.run_id, attempt=1, replica=f"replica-{n}", lease_s=15) for n in range(2, 22)]
        outcomes = await asyncio.gather(*claiming, return_exceptions=True)
        assert len(of_kind(outcomes, Claim)) == 1
        assert len(of_kind(outcomes, Superseded)) == 19

    async def test_runs_of_a_thread_are_numbered(self, log: EventLog, thread: Thread) -> None:
        numbers: list[int] = []
        for _ in range(3):
            started = await start(log, thread, client_run_id="c", reuses_run_id=True, input_digest=str(len(numbers)))
            numbers.append(started.run.number)
            await end(log, started.claim)
        assert numbers == [1, 2, 3]
        assert (await start(log)).run.number == 1
        for found in (await log.last_run(thread.thread_id), await log.find_run(thread.thread_id, ClientRunId("c"))):
            assert found is not None
            assert found.number == 3

    async def test_a_beat_extends_leases_and_tells_what_happened_meanwhile(self, log: EventLog, thread: Thread) -> None:
        healthy, cancelled, adopted, ended, deleted = [await start(log, lease_s=1) for _ in range(4)] + [await start(log, thread)]
        await log.request_cancel(cancelled.run.run_id, "user")
        await adopt(log, adopted.claim, lease_s=1)
        await end(log, ended.claim)
        await end(log, deleted.claim)
        await log.delete_thread(thread.thread_id)
        beat = await log.beat([run.claim for run in (healthy, cancelled, adopted, ended, deleted)], lease_s=1000)
        assert beat.superseded == {adopted.run.run_id, deleted.run.run_id}
        assert beat.cancel_requested == {cancelled.run.run_id}
        leases = {
            run.run_id: run.lease_until - run.started_at for replica in ("replica-1", "replica-2") for run in await log.running_on(replica)
        }
        assert leases[healthy.run.run_id] >= 1_000_000
        assert leases[adopted.run.run_id] < 1_000_000
        nothing = await log.beat([], lease_s=1)
        assert (nothing.superseded, nothing.cancel_requested) == (frozenset(), frozenset())

    async def test_a_cancel_is_written_down_once(self, log: EventLog) -> None:
        started = await start(log)
        run_id = started.run.run_id
        assert await log.request_cancel(run_id, "user")
        first = await log.get_run(run_id)
        assert await log.request_cancel(run_id, "another reason")
        assert await log.get_run(run_id) == first
        assert first is not None
        assert first.cancel_reason == "user"
        assert first.cancel_requested_at is not None
        assert first.cancel_requested_at >= first.started_at
        await end(log, started.claim, RunStatus.CANCELLED)
        assert not await log.request_cancel(run_id, "late")
        assert not await log.request_cancel(RunId("absent"), "user")

    # waiting and following -------------------------------------------------------------------------
    async def test_changed_answers_at_once_where_there_is_more(self, log: EventLog) -> None:
        started = await start(log)
        assert await log.changed(started.run.run_id, after=0, within_s=30)

    async def test_a_claim_alone_is_nothing_to_read(self, tmp_path: Path) -> None:
        async with self.open(tmp_path) as store:
            started = await start(store.log)
        async with self.open(tmp_path) as store:
            log = store.log
            claim = await adopt(log, started.claim)
            assert not await log.changed(claim.run_id, after=1, within_s=0.01)
            await log.append(claim, [text("a")])
            assert await log.changed(claim.run_id, after=1, within_s=30)

    async def test_changed_gives_up_in_time(self, log: EventLog) -> None:
        started = await start(log)
        assert not await log.changed(started.run.run_id, after=1, within_s=0.01)
        assert not await log.changed(started.run.run_id, after=1, within_s=0)
        assert not await log.changed(RunId("absent"), after=0, within_s=0.01)

    async def test_a_commit_wakes_everybody_who_waits(self, log: EventLog) -> None:
        started = await start(log)
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            waits = [group.create_task(log.changed(started.run.run_id, after=1, within_s=30)) for _ in range(50)]
            group.create_task(end(log, started.claim))
        assert all(wait.result() for wait in waits)

    async def test_followers_get_everything_while_it_is_written(self, log: EventLog) -> None:
        started = await start(log)
        run_id = started.run.run_id

        async def write() -> None:
            for n in range(100):
                await log.append(started.claim, [text(str(n))] * (n % 3))
            await end(log, started.claim)

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            readers = [group.create_task(drain(log, run_id, after=n % 2)) for n in range(50)]
            group.create_task(write())
        whole = await everything(log, run_id)
        assert whole[-1].terminal
        for n, reader in enumerate(readers):
            assert reader.result() == whole[n % 2 :]

    async def test_a_follower_of_a_run_that_is_over_ends(self, log: EventLog) -> None:
        started = await start(log)
        await end(log, started.claim)
        whole = await everything(log, started.run.run_id)
        async with asyncio.timeout(5):
            for after in (0, 1, 2):
                assert await drain(log, started.run.run_id, after) == whole[after:]

    async def test_silence_gives_an_empty_batch_and_then_goes_on(self, log: EventLog) -> None:
        started = await start(log)
        stream = follow(log, started.run.run_id, after=1, tick=lambda: 0.02)
        async with asyncio.timeout(10):
            assert await anext(stream) == []
            assert await anext(stream) == []
            [record] = await log.append(started.claim, [text("a")])
            batches = [batch async for batch in _until_records(stream)]
        assert batches[-1] == [record]
        await stream.aclose()

    async def test_wake_lets_followers_look_around(self, log: EventLog) -> None:
        started = await start(log)
        streams = [follow(log, started.run.run_id, after=1, tick=lambda: 60) for _ in range(5)]
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            batches = [group.create_task(anext(stream, None)) for stream in streams]
            while not all(batch.done() for batch in batches):
                log.wake()
                await asyncio.sleep(0)
        assert [batch.result() for batch in batches] == [[]] * 5
        for stream in streams:
            await stream.aclose()

    async def test_a_follower_learns_that_its_run_is_deleted(self, log: EventLog, thread: Thread) -> None:
        started = await start(log, thread)
        await end(log, started.claim)
        stream = follow(log, started.run.run_id, after=0, tick=lambda: 0.02)
        assert len(await anext(stream)) == 2
        await log.delete_thread(thread.thread_id)
        with pytest.raises(NotFound):
            await drain(log, started.run.run_id)
        assert [batch async for batch in stream] == []

    async def test_a_follower_of_nothing_is_told(self, log: EventLog) -> None:
        with pytest.raises(NotFound):
            await drain(log, RunId("absent"))

    # ledger ----------------------------------------------------------------------------------------
    async def test_the_ledger_tells_what_came_of_a_call(self, log: EventLog, thread: Thread) -> None:
        first = await start(log, thread)
        assert await log.tool_begin(first.claim, "call", "search") is None
        begun = await log.tool_begin(first.claim, "call", "other")
        assert begun is not None
        assert (begun.name, begun.status, begun.result, begun.run_id) == ("search", "running", None, first.run.run_id)
        await log.tool_end(first.claim, "call", status=ToolCallStatus.DONE, result="found\u0000 it")
        await end(log, first.claim)
        later = await start(log, thread)
        done = await log.tool_begin(later.claim, "call", "search")
        assert done is not None
        assert (done.status, done.result, done.run_id) == ("done", "found\u0000 it", first.run.run_id)
        assert await log.tool_calls(thread.thread_id) == [done]

    async def test_a_call_ends_once_and_only_if_it_began(self, log: EventLog) -> None:
        started = await start(log)
        with pytest.raises(NotFound, match="never begun"):
            await log.tool_end(started.claim, "call", status=ToolCallStatus.DONE, result="")
        await log.tool_begin(started.claim, "call", "search")
        with pytest.raises(IllegalMove, match="running to running"):
            await log.tool_end(started.claim, "call", status=ToolCallStatus.RUNNING, result="")
        await log.tool_end(started.claim, "call", status=ToolCallStatus.FAILED, result="no", outcome='{"outcome":"refused"}')
        with pytest.raises(IllegalMove, match="failed to done"):
            await log.tool_end(started.claim, "call", status=ToolCallStatus.DONE, result="yes")
        [call] = await log.tool_calls(started.run.thread_id)
        assert (call.status, call.result, call.outcome) == ("failed", "no", '{"outcome":"refused"}')

    async def test_a_paused_call_is_running_again_at_its_resume(self, log: EventLog, thread: Thread) -> None:
        asking = await start(log, thread)
        await log.tool_begin(asking.claim, "call", "delete_source")
        await log.tool_end(asking.claim, "call", status=ToolCallStatus.PAUSED, result="")
        await end(log, asking.claim, RunStatus.INTERRUPTED)
        resumed = await start(log, thread)
        paused = await log.tool_begin(resumed.claim, "call", "delete_source")
        again = await log.tool_begin(resumed.claim, "call", "delete_source")
        assert paused is not None
        assert again is not None
        assert (paused.status, paused.run_id) == ("paused", asking.run.run_id)
        assert (again.status, again.run_id, again.result) == ("running", resumed.run.run_id, None)
        await log.tool_end(resumed.claim, "call", status=ToolCallStatus.DONE, result="deleted")
        assert [(call.status, call.result) for call in await log.tool_calls(thread.thread_id)] == [("done", "deleted")]

    async def test_of_many_begins_at_once_one_is_first(self, log: EventLog) -> None:
        started = await start(log)
        outcomes = await asyncio.gather(*(log.tool_begin(started.claim, "call", f"n{n}") for n in range(20)))
        assert outcomes.count(None) == 1
        assert len(set(outcomes)) == 2

    # life ------------------------------------------------------------------------------------------
    async def test_everything_is_there_after_reopening(self, tmp_path: Path) -> None:
        async with self.open(tmp_path) as store:
            log = store.log
            started = await start(log)
            await log.append(started.claim, [text("a")])
            await log.tool_begin(started.claim, "call", "search")
            before = await everything(log, started.run.run_id)
        async with self.open(tmp_path) as store:
            log = store.log
            assert await everything(log, started.run.run_id) == before
            [run] = await log.running_on("replica-1")
            assert run.last_seq == 2
            claim = await log.claim(run.run_id, attempt=1, replica="replica-1", lease_s=15)
            [late] = await end(log, claim, RunStatus.FAILED)
            assert await drain(log, run.run_id) == [*before, late]
            assert len(await log.tool_calls(run.thread_id)) == 1

    async def test_a_cancelled_caller_does_not_stop_the_log(self, log: EventLog) -> None:
        started = await start(log)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(log.append(started.claim, [text(str(n))])) for n in range(20)]
            for task in tasks[::2]:
                group.create_task(_cancel_soon(task))
        await end(log, started.claim)
        records = await everything(log, started.run.run_id)
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        deltas = [record.event["delta"] for record in records[1:-1]]
        assert set(map(str, range(1, 20, 2))) <= set(deltas)
        assert len(deltas) == len(set(deltas))

    async def test_it_answers_until_it_is_closed(self, tmp_path: Path) -> None:
        async with self.open(tmp_path) as store:
            log = store.log
            await log.ping()
            started = await start(log)
        with pytest.raises(StoreUnavailable):
            await log.ping()
        with pytest.raises(StoreUnavailable):
            await log.append(started.claim, [text("late")])

    async def test_closing_finishes_what_was_submitted_and_wakes_who_waits(self, tmp_path: Path) -> None:
        async with AsyncExitStack() as opened:
            log = (await opened.enter_async_context(self.open(tmp_path))).log
            started = await start(log)
            async with asyncio.timeout(10), asyncio.TaskGroup() as group:
                waiting = group.create_task(log.changed(started.run.run_id, after=100, within_s=60))
                appends = [group.create_task(log.append(started.claim, [text(str(n))])) for n in range(10)]
                group.create_task(opened.aclose())
            assert [task.result()[0].seq for task in appends] == list(range(2, 12))
            assert waiting.done()
        async with self.open(tmp_path) as store:
            assert len(await everything(store.log, started.run.run_id)) == 11


async def _until_records(stream: AsyncIterator[list[Record]]) -> AsyncIterator[list[Record]]:
    async for batch in stream:
        yield batch
        if batch:
            return


async def _cancel_soon(task: asyncio.Task[Any]) -> None:
    task.cancel()
