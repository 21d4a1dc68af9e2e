"""What every `InterruptLog` keeps: asked once, answered once, begun once, and every answer written down."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from middle_core.errors import InterruptUnknown, Superseded
from middle_core.eventlog.interrupts import Answer, Channel, Interrupt, InterruptKind, InterruptStatus, NewInterrupt
from middle_core.eventlog.lifecycle import IllegalMove
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Claim, RunStatus, Thread
from middle_core.events import ClientThreadId
from tests.contracts.eventlog_contract import ALICE, end, start

S = InterruptStatus
NOTHING = {"ok": False, "text": "nothing was done"}


def question(interrupt_id: str = "i1", **changes: Any) -> NewInterrupt:
    """An approval that nobody else asks for."""
    plain = {
        "kind": InterruptKind.APPROVAL,
        "channel": Channel.INTERRUPT,
        "payload": {"message": "Delete?"},
        "tool_call_id": "c1",
        "call_key": "c1",
        "tool": "delete_source",
        "args_digest": "d1",
    }
    return NewInterrupt(interrupt_id=interrupt_id, **{**plain, **changes})


def yes(interrupt_id: str = "i1", **changes: Any) -> Answer:
    """Go ahead."""
    return Answer(
        interrupt_id=interrupt_id, **{"decision": S.APPROVED, "channel": Channel.INTERRUPT, "by": ALICE, "digest": "d1", **changes}
    )


async def asked(log: EventLog, *new: NewInterrupt, thread: Thread | None = None) -> Claim:
    """A run that asks these (one question by default) and ends; the claim of the run that brings the answer."""
    asking = await start(log, thread)
    await log.interrupts.open(asking.claim, new or [question()])
    await end(log, asking.claim, RunStatus.INTERRUPTED)
    thread = thread or await log.get_thread(ALICE, asking.run.client_thread_id)
    return (await start(log, thread)).claim


async def rows(log: EventLog, claim: Claim) -> list[Interrupt]:
    return await log.interrupts.of_thread(claim.thread_id)


async def statuses(log: EventLog, claim: Claim) -> list[str]:
    return [row.status.value for row in await rows(log, claim)]


class InterruptLogContract:
    """Mixed into the adapters' tests beside `EventLogContract`, whose fixtures it uses."""

    def open(self, home: Path) -> AbstractAsyncContextManager[EventLog]:
        raise NotImplementedError

    async def test_a_question_is_a_row_from_then_on(self, tmp_path: Path) -> None:
        async with self.open(tmp_path) as log:
            asking = await start(log)
            [row] = await log.interrupts.open(asking.claim, [question(roles=("admin",), ttl_s=60, payload={"message": "é\u202e"})])
            assert (row.status, row.run_id, row.answer, row.outcome) == (S.PENDING, asking.run.run_id, None, None)
            assert row.expires_at == row.created_at + 60_000
            assert (row.roles, row.payload, row.args_digest) == (("admin",), {"message": "é\u202e"}, "d1")
            assert row.idempotency_key == "approval-i1"
        async with self.open(tmp_path) as log:
            assert await rows(log, asking.claim) == [row]

    async def test_asking_again_what_waits_changes_nothing_and_what_is_decided_cannot_be_asked_again(self, log: EventLog) -> None:
        claim = await asked(log)
        [first] = await rows(log, claim)
        assert await log.interrupts.open(claim, [question(payload={"message": "other"})]) == [first]
        await log.interrupts.answer(claim, yes())
        with pytest.raises(IllegalMove, match="approved to pending"):
            await log.interrupts.open(claim, [question()])

    async def test_the_second_answer_gets_the_first_ones_row(self, log: EventLog) -> None:
        claim = await asked(log)
        first = await log.interrupts.answer(claim, yes(payload={"approved": True}))
        second = await log.interrupts.answer(claim, yes(decision=S.REJECTED, payload=False))
        assert (first.taken, second.taken) == (True, False)
        assert second.interrupt == first.interrupt
        assert first.interrupt.status is S.APPROVED
        assert (first.interrupt.answer, first.interrupt.answered_by, first.interrupt.answer_digest) == ({"approved": True}, ALICE, "d1")
        assert first.interrupt.answer_run_id == claim.run_id
        lines = await log.interrupts.audit(claim.thread_id)
        assert [(line.decision, line.payload, line.verdict, line.by) for line in lines] == [
            ("approved", {"approved": True}, "taken", ALICE),
            ("rejected", False, "late", ALICE),
        ]
        assert all(line.at >= first.interrupt.created_at for line in lines)

    async def test_of_many_answers_at_once_one_is_taken(self, log: EventLog) -> None:
        claim = await asked(log)
        outcomes = await asyncio.gather(*(log.interrupts.answer(claim, yes(payload=n)) for n in range(20)))
        [winner] = [one for one in outcomes if one.taken]
        assert {one.interrupt.answer for one in outcomes} == {winner.interrupt.answer}
        assert len(await log.interrupts.audit(claim.thread_id)) == 20

    @pytest.mark.parametrize("payload", [None, False, 0, "", [], {}])
    async def test_falsy_answers_are_kept_exactly(self, log: EventLog, payload: Any) -> None:
        claim = await asked(log, question(kind=InterruptKind.QUESTION))
        answered = await log.interrupts.answer(claim, yes(decision=S.ANSWERED, payload=payload))
        assert (answered.interrupt.answer, type(answered.interrupt.answer)) == (payload, type(payload))

    async def test_an_unknown_id_and_one_of_another_thread_are_refused_alike(self, log: EventLog) -> None:
        await asked(log, question("theirs"))
        claim = await asked(log)
        for interrupt_id in ("theirs", "never", ""):
            with pytest.raises(InterruptUnknown):
                await log.interrupts.answer(claim, yes(interrupt_id))
        assert await log.interrupts.audit(claim.thread_id) == []

    async def test_several_questions_are_answered_separately_in_any_order(self, log: EventLog) -> None:
        claim = await asked(log, question("a"), question("b", call_key="c2"), question("c", call_key="c3"))
        await log.interrupts.answer(claim, yes("c"))
        await log.interrupts.answer(claim, yes("a", decision=S.REJECTED))
        assert [row.interrupt_id for row in await rows(log, claim)] == ["a", "b", "c"]
        assert await statuses(log, claim) == ["rejected", "pending", "approved"]

    async def test_past_its_time_an_answer_is_not_taken(self, log: EventLog) -> None:
        claim = await asked(log, question(ttl_s=0))
        answered = await log.interrupts.answer(claim, yes())
        assert (answered.taken, answered.interrupt.status, answered.interrupt.answer) == (False, S.EXPIRED, None)
        assert [line.verdict for line in await log.interrupts.audit(claim.thread_id)] == ["expired"]
        assert not await log.interrupts.begin(claim, "i1", digest="d1")

    async def test_the_clock_expires_what_waits_and_nothing_else(self, log: EventLog) -> None:
        claim = await asked(log, question("a", ttl_s=0), question("b", ttl_s=600), question("c"))
        assert await log.interrupts.expire() == 1
        assert await log.interrupts.expire() == 0
        assert await statuses(log, claim) == ["expired", "pending", "pending"]

    async def test_an_approved_action_begins_once_and_only_with_the_arguments_that_were_approved(self, log: EventLog) -> None:
        claim = await asked(log)
        assert not await log.interrupts.begin(claim, "i1", digest="d1"), "nobody said yes"
        await log.interrupts.answer(claim, yes())
        assert not await log.interrupts.begin(claim, "i1", digest="d2"), "other arguments"
        begun = await asyncio.gather(*(log.interrupts.begin(claim, "i1", digest="d1") for _ in range(20)))
        assert begun.count(True) == 1
        await log.interrupts.end(claim, "i1", status=S.EXECUTED, outcome={"ok": True, "text": "deleted"})
        [row] = await rows(log, claim)
        assert (row.status, row.outcome) == (S.EXECUTED, {"ok": True, "text": "deleted"})
        assert row.ended_at is not None
        assert not await log.interrupts.begin(claim, "i1", digest="d1")
        with pytest.raises(IllegalMove):
            await log.interrupts.end(claim, "i1", status=S.EXECUTED, outcome=NOTHING)

    @pytest.mark.parametrize("decision", [S.REJECTED, S.WITHDRAWN, S.ANSWERED])
    async def test_what_was_not_approved_never_begins(self, log: EventLog, decision: InterruptStatus) -> None:
        claim = await asked(log)
        await log.interrupts.answer(claim, yes(decision=decision))
        assert not await log.interrupts.begin(claim, "i1", digest="d1")
        with pytest.raises(IllegalMove):
            await log.interrupts.end(claim, "i1", status=S.EXECUTED, outcome=NOTHING)

    async def test_an_unknown_outcome_may_be_tried_again_under_the_same_key(self, log: EventLog) -> None:
        claim = await asked(log, question(root_id="i0"))
        await log.interrupts.answer(claim, yes())
        assert await log.interrupts.begin(claim, "i1", digest="d1")
        [row] = await log.interrupts.close(claim, {S.EXECUTING: S.INDETERMINATE}, outcome={"ok": None, "text": "unknown"})
        assert (row.status, row.idempotency_key) == (S.INDETERMINATE, "approval-i0")
        assert await log.interrupts.begin(claim, "i1", digest="d1")
        await log.interrupts.end(claim, "i1", status=S.INDETERMINATE, outcome={"ok": None, "text": "still"})
        assert await statuses(log, claim) == ["indeterminate"]

    async def test_closing_moves_what_stands_at_its_keys(self, log: EventLog) -> None:
        claim = await asked(log, question("a"), question("b"), question("c"))
        await log.interrupts.answer(claim, yes("b"))
        await log.interrupts.answer(claim, yes("c", decision=S.REJECTED))
        moved = await log.interrupts.close(claim, {S.PENDING: S.WITHDRAWN, S.APPROVED: S.WITHDRAWN}, outcome=NOTHING)
        assert [(row.interrupt_id, row.status, row.outcome) for row in moved] == [("a", S.WITHDRAWN, NOTHING), ("b", S.WITHDRAWN, NOTHING)]
        assert await statuses(log, claim) == ["withdrawn", "withdrawn", "rejected"]
        assert await log.interrupts.close(claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING) == []

    async def test_closing_may_be_limited_to_some(self, log: EventLog) -> None:
        claim = await asked(log, question("a"), question("b"))
        await log.interrupts.close(claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING, only={"b"})
        assert await statuses(log, claim) == ["pending", "withdrawn"]

    async def test_an_illegal_move_moves_nothing(self, log: EventLog) -> None:
        claim = await asked(log, question("a"), question("b"))
        await log.interrupts.answer(claim, yes("b", decision=S.REJECTED))
        with pytest.raises(IllegalMove, match="rejected to withdrawn"):
            await log.interrupts.close(claim, {S.PENDING: S.WITHDRAWN, S.REJECTED: S.WITHDRAWN}, outcome=NOTHING)
        assert await statuses(log, claim) == ["pending", "rejected"]

    async def test_a_superseded_claim_decides_nothing(self, log: EventLog) -> None:
        claim = await asked(log)
        newer = await log.claim(claim.run_id, replica="replica-2", lease_s=15)
        ledger = log.interrupts
        for attempt in (
            ledger.open(claim, [question("x")]),
            ledger.answer(claim, yes()),
            ledger.begin(claim, "i1", digest="d1"),
            ledger.end(claim, "i1", status=S.EXECUTED, outcome=NOTHING),
            ledger.close(claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING),
        ):
            with pytest.raises(Superseded):
                await attempt
        assert await statuses(log, claim) == ["pending"]
        assert (await ledger.answer(newer, yes())).taken

    async def test_deleting_the_thread_deletes_its_questions_and_answers(self, log: EventLog) -> None:
        kept = await asked(log, question("kept"))
        thread = await log.open_thread(ALICE, ClientThreadId("gone"), "agent")
        claim = await asked(log, thread=thread)
        await log.interrupts.answer(claim, yes())
        await end(log, claim)
        await log.delete_thread(thread.thread_id)
        assert await rows(log, claim) == []
        assert await log.interrupts.audit(thread.thread_id) == []
        assert await statuses(log, kept) == ["pending"]
