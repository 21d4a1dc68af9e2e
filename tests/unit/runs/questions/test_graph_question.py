"""A closed question in the conversation: its place, its content, and that the other messages do not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.contract.cards import MARK
from middle_core.eventlog.interrupts import Channel, Interrupt, InterruptKind, InterruptStatus
from middle_core.events import QUESTION_ACTIVITY, Owner, RunId, ThreadId
from middle_core.runs.questions import graph_question

S = InterruptStatus


def row(name: str, *, after: str | None = None, status: InterruptStatus = S.ANSWERED, raw: Any = "Which?", answer: Any = None) -> Interrupt:
    asked = {"id": name, "reason": "r", "message": "Which?", "metadata": {"langgraph": {"raw": raw}}}
    return Interrupt(
        thread_id=ThreadId("t"), interrupt_id=name, run_id=RunId("r"), kind=InterruptKind.QUESTION, channel=Channel.INTERRUPT,
        tool_call_id="", call_key="", tool="", payload=graph_question.payload(asked, after=after), args_digest="", roles=(), root_id="", status=status, created_at=1,
        expires_at=None, answer=answer, answer_digest="", answered_by=Owner("o"), answered_at=2, answer_run_id=RunId("r2"), outcome=None,
        ended_at=None, late=False, run_number=1, answer_run_number=2,
    )  # fmt: skip


def messages(*ids: str) -> list[dict[str, Any]]:
    return [{"id": one, "role": "user", "content": one} for one in ids]


def places(shown: Sequence[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in shown]


def test_on_the_wire_an_open_one_is_as_it_was_asked() -> None:
    asked = {"id": "q", "reason": "r", "message": "Which?", "metadata": {"langgraph": {"raw": "Which?"}}}
    assert graph_question.interrupt(row("q", after="u1")) == asked


@pytest.mark.parametrize("answer", ["", 0, False, None, {}, [], "blue"])
def test_an_answer_is_told_exactly(answer: Any) -> None:
    event = graph_question.activity_event(row("q", answer=answer))
    assert (event["type"], event["messageId"], event["activityType"]) == ("ACTIVITY_SNAPSHOT", "q-question", QUESTION_ACTIVITY)
    assert event["content"] == {"interruptId": "q", "status": "answered", "question": "Which?", "answer": answer}


@pytest.mark.parametrize("status", [S.REJECTED, S.WITHDRAWN, S.EXPIRED])
def test_one_that_was_not_answered_has_no_answer(status: InterruptStatus) -> None:
    assert "answer" not in graph_question.activity_event(row("q", status=status, answer={"status": "cancelled"}))["content"]


def test_what_is_long_is_not_carried_along_for_ever() -> None:
    content = graph_question.activity_event(
        row("q", raw="x" * (graph_question.MAX_SHOWN + 1), answer="y" * (graph_question.MAX_SHOWN + 1))
    )["content"]
    assert content["question"] == content["answer"] == "(too long to be shown again)"


def test_it_stands_where_it_was_asked() -> None:
    rows = [row("a", after="u1"), row("open", after="u2", status=S.PENDING), row("b", after="u1"), row("first"), row("lost", after="gone")]
    assert places(graph_question.with_questions(messages("u1", "u2"), rows)) == ["first-question", "u1", "a-question", "b-question", "u2"]


def test_a_row_of_before_there_were_places_is_left_out() -> None:
    asked = row("q")
    old = replace(asked, payload={key: value for key, value in asked.payload.items() if key != MARK})
    assert graph_question.with_questions(messages("u1"), [old]) == messages("u1")


@given(st.lists(st.tuples(st.sampled_from([None, "u1", "u2", "u3", "gone"]), st.sampled_from(list(S))), max_size=6))
@settings(max_examples=80, deadline=None)
def test_the_messages_themselves_stay_as_they_are(asked: list[tuple[str | None, InterruptStatus]]) -> None:
    rows = [row(f"q{number}", after=after, status=status) for number, (after, status) in enumerate(asked)]
    before = messages("u1", "u2", "u3")
    shown = graph_question.with_questions(before, rows)
    assert [one for one in shown if one["role"] != "activity"] == before == messages("u1", "u2", "u3")
    placed = [one["id"].removesuffix("-question") for one in shown if one["role"] == "activity"]
    over = [(f"q{n}", after) for n, (after, status) in enumerate(asked) if status is not S.PENDING and after != "gone"]
    assert sorted(placed) == sorted(name for name, _ in over)
    for place in (None, "u1", "u2", "u3"):
        assert [one for one in placed if dict(over)[one] == place] == [name for name, after in over if after == place]
