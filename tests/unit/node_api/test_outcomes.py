"""The outcome of a call on the message that answers it: said by who knows, kept in the thread, never read out of a text."""

from __future__ import annotations

import pytest
from langchain_core.messages import ToolMessage

from middle_core.agui.endings import MAX_WORDS
from middle_core.contract.outcomes import DONE, CallOutcome, OutcomeCode
from middle_core.errors import BackendUnavailable, ErrorCode, Forbidden, NotFound, Unauthorized
from middle_core.events import ToolOutcome
from middle_core.node_api.outcomes import failure, metadata, of_json, outcome_of, result

REFUSED = result("permission denied", ToolOutcome.REFUSED, ErrorCode.FORBIDDEN, "Deleting needs the role admin.").outcome


def answer(text: str = "", **more: object) -> ToolMessage:
    return ToolMessage(text, tool_call_id="c", **more)


def test_a_message_carries_its_outcome_through_a_checkpoint() -> None:
    message = answer("permission denied", status="error", response_metadata=metadata(REFUSED))
    assert outcome_of(type(message)(**message.model_dump())) == REFUSED


@pytest.mark.parametrize(
    "text", ["Error: this is what I found", "The tool x could not do this.", "This call was not completed", '{"error": "no"}']
)
def test_no_text_makes_an_outcome(text: str) -> None:
    assert outcome_of(answer(text)) == DONE


def test_a_message_of_somebody_who_knows_no_outcomes_is_done_or_failed_by_its_status() -> None:
    failed = outcome_of(answer("Error: ValueError('x')\n Please fix your mistakes.", status="error"))
    expected = CallOutcome(
        outcome=ToolOutcome.FAILED, code=OutcomeCode.TOOL_ERROR, message="Error: ValueError('x') Please fix your mistakes."
    )
    assert failed == expected
    assert len(outcome_of(answer("x" * 10_000, status="error")).message) == MAX_WORDS


@pytest.mark.parametrize("stored", [{"outcome": "brand_new"}, "done", {"outcome": "done", "code": 7}, {}])
def test_what_cannot_be_read_is_as_if_nothing_were_said(stored: object) -> None:
    assert of_json(stored) is None
    assert outcome_of(answer("x", response_metadata={"middleCoreOutcome": stored})) == DONE


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (Forbidden("Not you."), ToolOutcome.REFUSED, ErrorCode.FORBIDDEN),
        (Unauthorized(), ToolOutcome.REFUSED, ErrorCode.UNAUTHORIZED),
        (NotFound(), ToolOutcome.FAILED, ErrorCode.NOT_FOUND),
        (BackendUnavailable(), ToolOutcome.FAILED, ErrorCode.BACKEND_UNAVAILABLE),
        (ValueError(), ToolOutcome.FAILED, OutcomeCode.TOOL_ERROR),
    ],
)
def test_an_error_says_who_is_to_blame(error: Exception, outcome: ToolOutcome, code: str) -> None:
    found = failure(error, "for the model", "for people").outcome
    assert (found.outcome, found.code, found.message) == (outcome, code, "for people")
