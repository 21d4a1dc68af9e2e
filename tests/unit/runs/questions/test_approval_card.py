"""An open question in its forms: only a clear yes approves it, its card comes from the row, and clients see it in their messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import Interrupt as AguiInterrupt
from ag_ui.core import RunAgentInput

from middle_core.contract.cards import MARK
from middle_core.eventlog.interrupts import Channel, Interrupt, InterruptKind, InterruptStatus
from middle_core.events import RunId, ThreadId
from middle_core.node_api.approvals import digest
from middle_core.runs.questions import approval_card

S = InterruptStatus


def row(**changes: Any) -> Interrupt:
    """A pending approval of call c1."""
    given = {"x": 1}
    about = {"card": {"title": "Do it?", "fromModel": given, "kind": "action"}}
    plain: dict[str, Any] = {
        "thread_id": ThreadId("t"),
        "interrupt_id": "i1",
        "run_id": RunId("r"),
        "kind": InterruptKind.APPROVAL,
        "channel": Channel.INTERRUPT,
        "tool_call_id": "c1",
        "call_key": "c1",
        "tool": "act",
        "payload": {"reason": "middle_core:approval", "message": "Do it?", "toolCallId": "c1", "responseSchema": {}, MARK: about},
        "args_digest": digest(given),
        "roles": (),
        "root_id": "",
        "status": S.PENDING,
        "created_at": 1,
        "expires_at": 2,
        "answer": None,
        "answer_digest": "",
        "answered_by": None,
        "answered_at": None,
        "answer_run_id": None,
        "outcome": None,
        "ended_at": None,
        "late": False,
        "run_number": 1,
        "answer_run_number": None,
    }
    return Interrupt(**{**plain, **changes})


def test_an_interrupt_is_what_the_protocol_takes_and_has_no_expiry() -> None:
    made = approval_card.interrupt(row())
    AguiInterrupt.model_validate(made)
    assert "expiresAt" not in made
    assert made["metadata"][MARK]["answerBy"] == 2
    assert made["metadata"][MARK] == json.loads(approval_card.card_call(row())[1]["delta"]), "both forms carry the same card"


@pytest.mark.parametrize("payload", [True, {"approved": True}, {"approved": True, "edits": {}}, {"approved": True, "comment": "x"}])
def test_a_clear_yes_approves_what_was_shown(payload: Any) -> None:
    assert approval_card.decide(row(), payload, cancelled=False) == (S.APPROVED, digest({"x": 1}))


def test_a_yes_with_changes_approves_the_changed_arguments() -> None:
    decision = approval_card.decide(row(), {"approved": True, "edits": {"x": 2}}, cancelled=False)
    assert decision == (S.EDITED, digest({"x": 2}))


@pytest.mark.parametrize("payload", [None, False, 0, 1, "", "true", [], {}, {"approved": 1}, {"approved": "true"}, {"edits": {"x": 2}}])
def test_anything_else_rejects(payload: Any) -> None:
    assert approval_card.decide(row(), payload, cancelled=False) == (S.REJECTED, "")
    assert approval_card.decide(row(), True, cancelled=True) == (S.REJECTED, "")


@pytest.mark.parametrize("payload", [None, False, 0, "", {}])
def test_a_graphs_own_question_takes_any_answer(payload: Any) -> None:
    question = row(kind=InterruptKind.QUESTION, payload={"reason": "x", "metadata": {}})
    assert approval_card.decide(question, payload, cancelled=False) == (S.ANSWERED, "")
    assert approval_card.decide(question, payload, cancelled=True) == (S.REJECTED, "")
    assert approval_card.interrupt(question) == {"id": "i1", "reason": "x", "metadata": {}}


def test_content_of_a_tool_message_is_json_or_the_text_itself() -> None:
    assert [approval_card.payload_of(text) for text in ("true", '{"approved": true}', "yes", "", "null")] == [
        True,
        {"approved": True},
        "yes",
        "",
        None,
    ]


@pytest.mark.parametrize(("names", "offers"), [([], False), (["approve_action"], True), (["other"], False)])
def test_the_requests_tools_say_which_form(names: list[str], offers: bool) -> None:
    tools = [{"name": name, "description": "", "parameters": {}} for name in names]
    body = {"threadId": "t", "runId": "r", "messages": [], "tools": tools, "context": [], "state": {}, "forwardedProps": {}}
    assert approval_card.offers_cards(RunAgentInput.model_validate(body)) is offers


def thread(*more: dict[str, Any]) -> list[dict[str, Any]]:
    calls = [{"id": one, "type": "function", "function": {"name": "act", "arguments": "{}"}} for one in ("c0", "c1")]
    beside = {"id": "m2", "role": "tool", "toolCallId": "c0", "content": "quick"}
    return [{"id": "m0", "role": "user", "content": "go"}, {"id": "m1", "role": "assistant", "toolCalls": calls}, beside, *more]


DONE = {"id": "c1-result", "role": "tool", "toolCallId": "c1", "content": "acted"}


def test_a_pending_card_stands_behind_its_call_and_waits() -> None:
    assert approval_card.with_cards(thread(), [row()], cards=False) == thread()
    shown = approval_card.with_cards(thread(), [row()], cards=True)
    assert [one["id"] for one in shown] == ["m0", "m1", "m2", "i1"]
    assert json.loads(shown[-1]["toolCalls"][0]["function"]["arguments"])["title"] == "Do it?"


def test_a_decided_card_is_read_only_with_its_outcome() -> None:
    done = row(status=S.EXECUTED, outcome={"ok": True, "text": "acted"}, answered_at=5)
    shown = approval_card.with_cards(thread(DONE, {"id": "m4", "role": "user", "content": "more"}), [done], cards=True)
    assert [one["id"] for one in shown] == ["m0", "m1", "m2", "i1", "i1-answer", "c1-result", "m4"]
    told = {"approved": True, "status": "executed", "answeredAt": 5, "ok": True, "message": "This was approved and carried out."}
    assert json.loads(shown[4]["content"]) == told
    assert shown[5]["metadata"][MARK].items() >= {**told, "title": "Do it?"}.items()
    assert "metadata" not in DONE, "what was given is not changed"


@pytest.mark.parametrize("changes", [{"status": S.EXPIRED}, {"late": True}])
def test_past_its_time_a_card_is_closed_and_its_call_answered(changes: dict[str, Any]) -> None:
    shown = approval_card.with_cards(thread(), [row(**changes)], cards=False)
    assert shown[-1]["id"] == "c1-result"
    assert shown[-1]["content"] == "The time for this is over. Nothing was done."
    assert shown[-1]["metadata"][MARK]["status"] == "expired"


@pytest.mark.parametrize("status", [S.APPROVED, S.EDITED, S.EXECUTING])
def test_what_is_under_way_has_no_result_yet(status: InterruptStatus) -> None:
    assert approval_card.with_cards(thread(), [row(status=status)], cards=False) == thread()


def test_cards_of_calls_that_are_gone_and_graphs_questions_are_left_out() -> None:
    others = [row(tool_call_id="gone"), row(kind=InterruptKind.QUESTION, payload={"reason": "x"})]
    assert approval_card.with_cards(thread(), others, cards=True) == thread()


def test_every_state_has_words_for_people() -> None:
    assert set(approval_card.WORDS) == set(S)
    for status in S:
        value = approval_card.resolved(row(status=status))["value"]
        assert (value["status"], value["message"]) == (status.value, approval_card.WORDS[status])


def test_the_pages_own_answer_keeps_its_id() -> None:
    done = row(status=S.REJECTED)
    shown = approval_card.with_cards(thread(DONE), [done], cards=True, answers={"i1": "own"})
    assert [one["id"] for one in shown] == ["m0", "m1", "m2", "i1", "own", "c1-result"]
