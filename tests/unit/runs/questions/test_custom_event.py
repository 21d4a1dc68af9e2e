"""CUSTOM `on_interrupt`: what each kind of page reads in it, and which question its answer is to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from middle_core.errors import InvalidRequest
from middle_core.eventlog.interrupts import Interrupt, InterruptKind, InterruptStatus
from middle_core.runs.intake.turn import AgentRules, CommandResume
from middle_core.runs.questions import approval_card, custom_event, graph_question
from middle_core.runs.questions.custom_event import QuestionForm
from tests.unit.runs.questions.test_approval_card import row as approval

STEPS = {"steps": ["look", "leap"], "id": "their own", "message": "Follow this?"}
TEXT, OBJECT = QuestionForm.CUSTOM_TEXT, QuestionForm.CUSTOM


def question(interrupt_id: str = "q1", raw: Any = STEPS) -> Interrupt:
    """A graph's own question that waits."""
    asked = {"id": interrupt_id, "reason": "langgraph:interrupt", "metadata": {"langgraph": {"raw": raw}}}
    payload = graph_question.payload(asked, after=None)
    return replace(approval(), interrupt_id=interrupt_id, kind=InterruptKind.QUESTION, payload=payload, tool_call_id="", call_key="")


def value(row: Interrupt, form: QuestionForm = OBJECT) -> Any:
    """The value of the event that asks this."""
    [event] = custom_event.events([approval_card.interrupt(row)], form)
    assert (event["type"], event["name"]) == ("CUSTOM", "on_interrupt")
    return event["value"]


def test_a_page_reads_what_the_graph_asked_with() -> None:
    read = value(question())
    assert {key: read[key] for key in STEPS} == STEPS
    assert read["metadata"]["langgraph"]["raw"] == STEPS, "as a page reads it that knows AG-UI 1.0"
    assert read["middleCore"]["interruptId"] == "q1"
    assert orjson.loads(value(question(), TEXT)) == STEPS
    assert value(question(raw="Which city?")) == value(question(raw="Which city?"), TEXT) == "Which city?"


def test_a_card_is_read_in_every_form() -> None:
    row = approval()
    assert orjson.loads(value(row, TEXT)) == approval_card.card(row)
    assert value(row).items() >= approval_card.card(row).items()


def test_one_is_asked_at_a_time() -> None:
    both = [approval_card.interrupt(question(one)) for one in ("q1", "q2")]
    assert len(custom_event.events(both, OBJECT)) == 1
    assert custom_event.events(both, QuestionForm.OUTCOME) == []


@pytest.mark.parametrize("form", [OBJECT, TEXT])
@pytest.mark.parametrize("status", [InterruptStatus.PENDING, InterruptStatus.ANSWERED])
def test_the_value_that_comes_back_names_the_question(form: QuestionForm, status: InterruptStatus) -> None:
    first, second = replace(question("q1", {"a": 1}), status=status), question("q2", {"a": 2})
    for one in (first, second):
        command = CommandResume("yes", value(one, form))
        assert custom_event.answered_row(command, [first, second], form) == one


def test_an_answer_that_names_nothing_is_to_the_only_question() -> None:
    over = replace(question("q0"), status=InterruptStatus.ANSWERED)
    assert custom_event.answered_row(CommandResume("yes"), [over, question("q1")], QuestionForm.OUTCOME) == question("q1")
    assert custom_event.answered_row(CommandResume("yes"), [over], OBJECT) is None
    with pytest.raises(InvalidRequest, match="interruptEvent"):
        custom_event.answered_row(CommandResume("yes"), [question("q1"), question("q2")], OBJECT)


def test_a_bare_yes_approves_nothing_that_was_shown_otherwise() -> None:
    bare = CommandResume({"approved": True})
    assert custom_event.answered_row(bare, [approval()], OBJECT) is None
    assert custom_event.answered_row(bare, [approval()], QuestionForm.OUTCOME) is None
    assert custom_event.answered_row(bare, [approval()], TEXT) == approval()


def test_an_answer_reaches_the_graph_exactly_and_an_approval_as_json() -> None:
    for given in ("", None, False, 0, '{"approved": true}', {"a": 1}):
        assert custom_event.payload(CommandResume(given), question()) == given
    assert custom_event.payload(CommandResume('{"approved": true}'), approval()) == {"approved": True}


@pytest.mark.parametrize(("wanted", "form"), [(None, QuestionForm.OUTCOME), ("outcome", QuestionForm.OUTCOME), ("custom", OBJECT)])
def test_the_client_chooses_unless_the_agent_does(wanted: Any, form: QuestionForm) -> None:
    assert custom_event.form_of(wanted, AgentRules()) is form
    assert custom_event.form_of(wanted, AgentRules(legacy_interrupts=True)) is TEXT
