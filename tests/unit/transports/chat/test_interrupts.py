"""An open question as the fields of a card."""

from __future__ import annotations

from typing import Any

from middle_core.transports.chat.interrupts import chat_interrupt

CARD = {
    "title": "Delete?",
    "toolCallId": "c1",
    "tool": "delete",
    "kind": "action",
    "fromModel": {"id": 1},
    "state": "invalid",
    "answerBy": 2_500,
}


def told(one: dict[str, Any], at: int = 1_000) -> dict[str, Any]:
    return chat_interrupt(one, at=at).model_dump()


def test_an_approval_has_its_card() -> None:
    found = told({"id": "q", "reason": "middle_core:approval", "metadata": {"middleCore": CARD}})
    assert (found["kind"], found["title"], found["tool"], found["tool_call_id"]) == ("approval", "Delete?", "delete", "c1")
    assert (found["arguments"], found["state"], found["expires_in_s"], found["value"]) == ({"id": 1}, "invalid", 1.5, None)


def test_time_that_is_over_is_zero() -> None:
    assert told({"id": "q", "metadata": {"middleCore": CARD}}, at=9_000)["expires_in_s"] == 0


def test_a_question_has_what_the_graph_asks_as_it_is() -> None:
    for raw in (False, 0, "", None, {"a": [1]}, "ok?"):
        found = told({"id": "q", "reason": "langgraph:interrupt", "metadata": {"langgraph": {"raw": raw}}})
        assert (found["kind"], found["value"], found["expires_in_s"]) == ("question", raw, None)


def test_what_was_too_large_for_an_event_can_still_be_answered() -> None:
    found = told({"id": "q", "reason": "middle_core:approval", "toolCallId": "c1"})
    assert (found["interrupt_id"], found["kind"], found["title"], found["arguments"]) == ("q", "approval", "", {})
