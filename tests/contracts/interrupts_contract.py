"""What every `InterruptLog` must do: a question is asked, answered and begun once, and every answer is written down."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from middle_core.errors import InterruptUnknown, Superseded
from middle_core.eventlog.interrupts import Answer, Channel, Interrupt, InterruptKind, InterruptStatus, NewInterrupt
from middle_core.eventlog.lifecycle import IllegalMove
from middle_core.eventlog.records import Claim, RunStatus, Thread
from middle_core.events import ClientThreadId
from middle_core.stores.store import Store
from tests.contracts.eventlog_contract import ALICE, adopt, end, start
from tests.contracts.store_contract import StoreContract

S = InterruptStatus
NOTHING = {"ok": False, "text": "nothing was done"}


def question(interrupt_id: str = "i1", **changes: Any) -> NewInterrupt:
    """An approval with an id of its own."""
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
    """The answer yes."""
    return Answer(
        interrupt_id=interrupt_id, **{"decision": S.APPROVED, "channel": Channel.INTERRUPT, "by": ALICE, "digest": "d1", **changes}
    )


async def asked(store: Store, *new: NewInterrupt, thread: Thread | None = None) -> Claim:
    """Make a run that asks these questions (one by default) and ends. Returns the claim of the run that brings the answer."""
    asking = await start(store.log, thread)
    await store.questions.open(asking.claim, new or [question()])
    await end(store.log, asking.claim, RunStatus.INTERRUPTED)
    thread = thread or await store.log.get_thread(ALICE, asking.run.client_thread_id)
    return (await start(store.log, thread)).claim


async def rows(store: Store, claim: Claim) -> list[Interrupt]:
    return await store.questions.of_thread(claim.thread_id)


async def statuses(store: Store, claim: Claim) -> list[str]:
    return [row.status.value for row in await rows(store, claim)]


class InterruptLogContract(StoreContract):
    """See `StoreContract`."""

    async def test_a_question_is_a_row_from_then_on(self, tmp_path: Path) -> None:
        async with self.open(tmp_path) as store:
            asking = await start(store.log)
            [row] = await store.questions.open(asking.claim, [question(roles=("admin",), ttl_s=60, payload={"message": "é\u202e"})])
            assert (row.status, row.run_id, row.answer, row.outcome) == (S.PENDING, asking.run.run_id, None, None)
            assert row.expires_at == row.created_at + 60_000
            assert (row.roles, row.payload, row.args_digest) == (("admin",), {"message": "é\u202e"}, "d1")
            assert row.idempotency_key == "approval-i1"
        async with self.open(tmp_path) as store:
            assert await rows(store, asking.claim) == [row]

    async def test_asking_again_what_waits_changes_nothing_and_what_is_decided_cannot_be_asked_again(self, store: Store) -> None:
        claim = await asked(store)
        [first] = await rows(store, claim)
        assert await store.questions.open(claim, [question(payload={"message": "other"})]) == [first]
        await store.questions.answer(claim, yes())
        with pytest.raises(IllegalMove, match="approved to pending"):
            await store.questions.open(claim, [question()])

    async def test_the_second_answer_gets_the_first_ones_row(self, store: Store) -> None:
        claim = await asked(store)
        first = await store.questions.answer(claim, yes(payload={"approved": True}))
        second = await store.questions.answer(claim, yes(decision=S.REJECTED, payload=False))
        assert (first.taken, second.taken) == (True, False)
        assert second.interrupt == first.interrupt
        assert first.interrupt.status is S.APPROVED
        assert (first.interrupt.answer, first.interrupt.answered_by, first.interrupt.answer_digest) == ({"approved": True}, ALICE, "d1")
        assert first.interrupt.answer_run_id == claim.run_id
        lines = await store.questions.audit(claim.thread_id)
        assert [(line.decision, line.payload, line.verdict, line.by) for line in lines] == [
            ("approved", {"approved": True}, "taken", ALICE),
            ("rejected", False, "late", ALICE),
        ]
        assert all(line.at >= first.interrupt.created_at for line in lines)

    async def test_of_many_answers_at_once_one_is_taken(self, store: Store) -> None:
        claim = await asked(store)
        outcomes = await asyncio.gather(*(store.questions.answer(claim, yes(payload=n)) for n in range(20)))
        [winner] = [one for one in outcomes if one.taken]
        assert {one.interrupt.answer for one in outcomes} == {winner.interrupt.answer}
        assert len(await store.questions.audit(claim.thread_id)) == 20

    @pytest.mark.parametrize("payload", [None, False, 0, "", [], {}])
    async def test_falsy_answers_are_kept_exactly(self, store: Store, payload: Any) -> None:
        claim = await asked(store, question(kind=InterruptKind.QUESTION))
        answered = await store.questions.answer(claim, yes(decision=S.ANSWERED, payload=payload))
        assert (answered.interrupt.answer, type(answered.interrupt.answer)) == (payload, type(payload))

    async def test_an_unknown_id_and_one_of_another_thread_are_refused_alike(self, store: Store) -> None:
        await asked(store, question("theirs"))
        claim = await asked(store)
        for interrupt_id in ("theirs", "never", ""):
            with pytest.raises(InterruptUnknown):
                await store.questions.answer(claim, yes(interrupt_id))
        assert await store.questions.audit(claim.thread_id) == []

    async def test_several_questions_are_answered_separately_in_any_order(self, store: Store) -> None:
        claim = await asked(store, question("a"), question("b", call_key="c2"), question("c", call_key="c3"))
        await store.questions.answer(claim, yes("c"))
        await store.questions.answer(claim, yes("a", decision=S.REJECTED))
        assert [row.interrupt_id for row in await rows(store, claim)] == ["a", "b", "c"]
        assert await statuses(store, claim) == ["rejected", "pending", "approved"]

    async def test_past_its_time_an_answer_is_not_taken(self, store: Store) -> None:
        claim = await asked(store, question(ttl_s=0))
        answered = await store.questions.answer(claim, yes())
        assert (answered.taken, answered.interrupt.status, answered.interrupt.answer) == (False, S.EXPIRED, None)
        assert [line.verdict for line in await store.questions.audit(claim.thread_id)] == ["expired"]
        assert not await store.questions.begin(claim, "i1", digest="d1")

    async def test_the_clock_expires_what_waits_and_nothing_else(self, store: Store) -> None:
        claim = await asked(store, question("a", ttl_s=0), question("b", ttl_s=600), question("c"))
        assert await store.questions.expire() == 1
        assert await store.questions.expire() == 0
        assert await statuses(store, claim) == ["expired", "pending", "pending"]

    async def test_an_approved_action_begins_once_and_only_with_the_arguments_that_were_approved(self, store: Store) -> None:
        claim = await asked(store)
        assert not await store.questions.begin(claim, "i1", digest="d1"), "nobody said yes"
        await store.questions.answer(claim, yes())
        assert not await store.questions.begin(claim, "i1", digest="d2"), "other arguments"
        begun = await asyncio.gather(*(store.questions.begin(claim, "i1", digest="d1") for _ in range(20)))
        assert begun.count(True) == 1
        await store.questions.end(claim, "i1", status=S.EXECUTED, outcome={"ok": True, "text": "deleted"})
        [row] = await rows(store, claim)
        assert (row.status, row.outcome) == (S.EXECUTED, {"ok": True, "text": "deleted"})
        assert row.ended_at is not None
        assert not await store.questions.begin(claim, "i1", digest="d1")
        with pytest.raises(IllegalMove):
            await store.questions.end(claim, "i1", status=S.EXECUTED, outcome=NOTHING)

    @pytest.mark.parametrize("decision", [S.REJECTED, S.WITHDRAWN, S.ANSWERED])
    async def test_what_was_not_approved_never_begins(self, store: Store, decision: InterruptStatus) -> None:
        claim = await asked(store)
        await store.questions.answer(claim, yes(decision=decision))
        assert not await store.questions.begin(claim, "i1", digest="d1")
        with pytest.raises(IllegalMove):
            await store.questions.end(claim, "i1", status=S.EXECUTED, outcome=NOTHING)

    async def test_an_unknown_outcome_may_be_tried_again_under_the_same_key(self, store: Store) -> None:
        claim = await asked(store, question(root_id="i0"))
        await store.questions.answer(claim, yes())
        assert await store.questions.begin(claim, "i1", digest="d1")
        [row] = await store.questions.close(claim, {S.EXECUTING: S.INDETERMINATE}, outcome={"ok": None, "text": "unknown"})
        assert (row.status, row.idempotency_key) == (S.INDETERMINATE, "approval-i0")
        assert await store.questions.begin(claim, "i1", digest="d1")
        await store.questions.end(claim, "i1", status=S.INDETERMINATE, outcome={"ok": None, "text": "still"})
        assert await statuses(store, claim) == ["indeterminate"]

    async def test_closing_moves_what_stands_at_its_keys(self, store: Store) -> None:
        claim = await asked(store, question("a"), question("b"), question("c"))
        await store.questions.answer(claim, yes("b"))
        await store.questions.answer(claim, yes("c", decision=S.REJECTED))
        moved = await store.questions.close(claim, {S.PENDING: S.WITHDRAWN, S.APPROVED: S.WITHDRAWN}, outcome=NOTHING)
        assert [(row.interrupt_id, row.status, row.outcome) for row in moved] == [("a", S.WITHDRAWN, NOTHING), ("b", S.WITHDRAWN, NOTHING)]
        assert await statuses(store, claim) == ["withdrawn", "withdrawn", "rejected"]
        assert await store.questions.close(claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING) == []

    async def test_closing_may_be_limited_to_some(self, store: Store) -> None:
        claim = await asked(store, question("a"), question("b"))
        await store.questions.close(claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING, only={"b"})
        assert await statuses(store, claim) == ["pending", "withdrawn"]

    async def test_an_illegal_move_moves_nothing(self, store: Store) -> None:
        claim = await asked(store, question("a"), question("b"))
        await store.questions.answer(claim, yes("b", decision=S.REJECTED))
        with pytest.raises(IllegalMove, match="rejected to withdrawn"):
            await store.questions.close(claim, {S.PENDING: S.WITHDRAWN, S.REJECTED: S.WITHDRAWN}, outcome=NOTHING)
        assert await statuses(store, claim) == ["pending", "rejected"]

    async def test_a_superseded_claim_decides_nothing(self, store: Store) -> None:
        claim = await asked(store)
        newer = await adopt(store.log, claim)
        ledger = store.questions
        for attempt in (
            ledger.open(claim, [question("x")]),
            ledger.answer(claim, yes()),
            ledger.begin(claim, "i1", digest="d1"),
            ledger.end(claim, "i1", status=S.EXECUTED, outcome=NOTHING),
            ledger.close(claim, {S.PENDING: S.WITHDRAWN}, outcome=NOTHING),
        ):
            with pytest.raises(Superseded):
                await attempt
        assert await statuses(store, claim) == ["pending"]
        assert (await ledger.answer(newer, yes())).taken

    async def test_deleting_the_thread_deletes_its_questions_and_answers(self, store: Store) -> None:
        kept = await asked(store, question("kept"))
        thread = await store.log.open_thread(ALICE, ClientThreadId("gone"), "agent")
        claim = await asked(store, thread=thread)
        await store.questions.answer(claim, yes())
        await end(store.log, claim)
        await store.log.delete_thread(thread.thread_id)
        assert await rows(store, claim) == []
        assert await store.questions.audit(thread.thread_id) == []
        assert await statuses(store, kept) == ["pending"]
