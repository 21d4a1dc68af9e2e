"""Requests to /chat, and what they become."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from middle_core.transports.chat.requests import ChatAnswer, ChatRequest, ResumeRequest, message_request, resume_request

FALSY: list[Any] = [None, False, 0, "", [], {}]


@pytest.mark.parametrize(
    ("given", "payload"),
    [
        ({"decision": "approve"}, {"approved": True}),
        ({"decision": "reject"}, {"approved": False}),
        ({"decision": "reject", "comment": "no"}, {"approved": False, "comment": "no"}),
        ({"decision": "edit", "edits": {"a": []}}, {"approved": True, "edits": {"a": []}}),
        ({"decision": "edit", "edits": {}}, {"approved": True, "edits": {}}),
        *(({"decision": "answer", "value": value}, value) for value in FALSY),
    ],
)
def test_an_answer_is_delivered_exactly(given: dict[str, Any], payload: Any) -> None:
    entry = ChatAnswer.model_validate({"interrupt_id": "q", **given}).entry()
    assert (entry.status, entry.payload) == ("resolved", payload)
    assert type(entry.payload) is type(payload)


def test_no_answer_is_told_as_such() -> None:
    assert ChatAnswer(interrupt_id="q", decision="cancel").entry().status == "cancelled"


@pytest.mark.parametrize(
    "given",
    [
        {"decision": "answer"},
        {"decision": "approve", "value": True},
        {"decision": "edit"},
        {"decision": "approve", "edits": {}},
        {"decision": "approve", "comment": "x"},
        {"decision": "maybe"},
        {"decision": "approve", "also": 1},
        {},
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ChatAnswer.model_validate({"interrupt_id": "q", **given})


@pytest.mark.parametrize("bad", [{}, {"message": ""}, {"message": 1}, {"message": "x", "thread_id": "../x"}, {"message": "x", "no": 1}])
def test_a_message_names_its_fault(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ChatRequest.model_validate(bad)


def test_a_question_is_answered_once_in_a_request() -> None:
    answer = {"interrupt_id": "q", "decision": "approve"}
    for answers in ([], [answer, answer], [answer] * 33):
        with pytest.raises(ValidationError):
            ResumeRequest.model_validate({"thread_id": "t", "answers": answers})


def test_a_repeated_request_without_a_thread_means_the_same_new_one() -> None:
    asked = ChatRequest(message="hi")
    one, two, other, foreign = (
        message_request(asked, "digest", owner=owner, idempotency_key=key)
        for owner, key in [("a", "k"), ("a", "k"), ("a", "l"), ("b", "k")]
    )
    assert one.thread_id == two.thread_id
    assert len({one.thread_id, other.thread_id, foreign.thread_id}) == 3
    named = ChatRequest(message="hi", run_id="r1")
    assert len({message_request(named, "digest", owner="a", idempotency_key=None).thread_id for _ in range(2)}) == 1
    assert len({message_request(asked, "digest", owner="a", idempotency_key=None).thread_id for _ in range(2)}) == 2


def test_a_turn_is_bound_to_its_client_unless_it_says_otherwise() -> None:
    assert message_request(ChatRequest(message="hi"), "digest", owner="a", idempotency_key=None).on_disconnect == "cancel"
    asked = ResumeRequest.model_validate(
        {"thread_id": "t", "answers": [{"interrupt_id": "q", "decision": "approve"}], "on_disconnect": "continue"}
    )
    started = resume_request(asked, "digest", idempotency_key="k")
    assert (started.on_disconnect, started.continues, started.idempotency_key) == ("continue", True, "k")
