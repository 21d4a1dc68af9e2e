"""Questions of LangChain's own parts: read into actions, and answered in the form that each part takes."""

from __future__ import annotations

from typing import Any

import pytest

from middle_core.contract.cards import ActionReview
from middle_core.errors import InvalidRequest
from middle_core.runs.questions.action_review import Action, actions, answer, answer_schema, title, wire

TWO: dict[str, Any] = {
    "action_requests": [
        {"name": "delete", "args": {"id": "a"}, "description": "Deletes a"},
        {"name": "mail", "args": {"to": "x"}},
    ],
    "review_configs": [
        {"action_name": "delete", "allowed_decisions": ["approve", "reject"]},
        {"action_name": "mail", "allowed_decisions": ["approve", "edit", "reject", "respond"]},
    ],
}
ONE = {"type": "tool_approval", "tool_call_id": "c1", "name": "delete", "args": {"id": "a"}, "description": ""}
SCHEMA = {
    "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/E"}],
    "$defs": {
        "A": {"properties": {"type": {"const": "approve"}}},
        "E": {"properties": {"type": {"enum": ["edit"]}}},
    },
}
INBOX = {
    "action_request": {"action": "delete", "args": {"id": "a"}},
    "config": {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": False},
    "description": "Please look",
}
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}


def answered(raw: Any, payload: Any, *, cancelled: bool = False, schema: Any = None) -> Any:
    return answer(raw, actions(raw, schema), payload, cancelled=cancelled)


def test_each_shape_is_a_list_of_actions() -> None:
    assert actions(TWO) == [
        Action("delete", {"id": "a"}, "Deletes a", ("approve", "reject")),
        Action("mail", {"to": "x"}, "", ("approve", "edit", "reject", "respond")),
    ]
    assert actions(ONE, SCHEMA) == [Action("delete", {"id": "a"}, "", ("approve", "edit"))]
    assert actions(ONE, {"properties": {"type": {"const": "approve"}}}) == [Action("delete", {"id": "a"}, "", ("approve",))]
    assert actions(ONE) == [Action("delete", {"id": "a"}, "", ("approve", "reject"))]
    older = [Action("delete", {"id": "a"}, "Please look", ("approve", "edit", "reject"))]
    assert actions(INBOX) == actions([INBOX]) == older


@pytest.mark.parametrize(
    "other", ["text", None, 3, [], {}, {"question": "?"}, {"action_requests": "x", "review_configs": []}, [INBOX, "x"], {"type": "x"}]
)
def test_any_other_question_is_left_as_it_is(other: Any) -> None:
    assert actions(other) == []


def test_what_the_page_gets_is_in_the_contract() -> None:
    ActionReview.model_validate(wire(actions(TWO)))
    assert title(actions(TWO)) == "May delete, mail be done?"
    assert answer_schema(actions(TWO))["properties"]["decisions"]["minItems"] == 2


EDIT = {"type": "edit", "edited_action": {"name": "mail", "args": {"to": "y"}}}


@pytest.mark.parametrize(
    ("payload", "decisions"),
    [
        ({"decisions": [APPROVE, EDIT]}, [APPROVE, EDIT]),
        ([REJECT, {"type": "respond", "message": "They know"}], [REJECT, {"type": "respond", "message": "They know"}]),
        (
            {"decisions": [APPROVE, {"type": "edit", "edited_action": {"args": {}}}]},
            [APPROVE, {**EDIT, "edited_action": {"name": "mail", "args": {}}}],
        ),
        (True, [APPROVE, APPROVE]),
        ("yes", [APPROVE, APPROVE]),
        (" Approve. ", [APPROVE, APPROVE]),
        ({"approved": True}, [APPROVE, APPROVE]),
        (False, [REJECT, REJECT]),
        ("no", [REJECT, REJECT]),
        ("not today", [{**REJECT, "message": "not today"}] * 2),
        ({"approved": False, "comment": "later"}, [{**REJECT, "message": "later"}] * 2),
    ],
)
def test_an_answer_is_one_decision_for_each_action(payload: Any, decisions: list[Any]) -> None:
    assert answered(TWO, payload) == {"decisions": decisions}


def test_a_cancellation_rejects() -> None:
    assert [one["type"] for one in answered(TWO, None, cancelled=True)["decisions"]] == ["reject", "reject"]


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"decisions": [APPROVE]}, "decisions: 2 are needed"),
        ({"decisions": [EDIT, APPROVE]}, r"decisions\[0\]\.type: delete allows approve, reject"),
        ({"decisions": [APPROVE, {"type": "edit"}]}, r"decisions\[1\]\.edited_action"),
        ({"decisions": [APPROVE, {"type": "respond"}]}, r"decisions\[1\]\.message"),
        ({"decisions": [APPROVE, 7]}, r"decisions\[1\]\.type"),
        (None, "Answer with"),
        (3, "Answer with"),
        ("", "Answer with"),
        ({"ok": 1}, "Answer with"),
    ],
)
def test_what_is_no_answer_is_refused_before_the_graph_gets_it(payload: Any, place: str) -> None:
    with pytest.raises(InvalidRequest, match=place):
        answered(TWO, payload)


def test_the_other_forms_get_their_own_answers() -> None:
    assert answered(ONE, {"decisions": [APPROVE]}) == answered(ONE, APPROVE) == answered(ONE, True) == APPROVE
    assert answered(INBOX, True) == [{"type": "accept", "args": None}]
    assert answered(INBOX, {"type": "ignore"}) == answered(INBOX, "no") == [{"type": "ignore", "args": None}]
    edited = [{"type": "edit", "args": {"action": "delete", "args": {"id": "b"}}}]
    assert (
        answered(INBOX, edited)
        == answered(INBOX, {"decisions": [{"type": "edit", "edited_action": {"name": "delete", "args": {"id": "b"}}}]})
        == edited
    )
    asks = {**INBOX, "config": {"allow_respond": True}}
    assert answered(asks, "blue") == answered(asks, [{"type": "response", "args": "blue"}]) == [{"type": "response", "args": "blue"}]
