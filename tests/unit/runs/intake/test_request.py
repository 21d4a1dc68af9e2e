"""What a client asks for when it starts a run: options that are supported, and options that are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from middle_core.errors import InvalidRequest
from middle_core.runs.intake.request import own_request, start_request

COMMAND = {"command": {"resume": None}}
RESUME = [{"interruptId": "i1", "status": "resolved", "payload": 1}]


def body(**fields: Any) -> RunAgentInput:
    return RunAgentInput.model_validate({"threadId": "t", "runId": "r", "messages": [], **fields})


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({}, None),
        ({"forwardedProps": COMMAND}, "custom"),
        ({"resume": RESUME}, "outcome"),
        ({"forwardedProps": {"middleCore": {"interrupts": "custom"}}, "resume": RESUME}, "custom"),
        ({"forwardedProps": {"middleCore": {"interrupts": "outcome"}, **COMMAND}}, "outcome"),
    ],
)
def test_a_client_is_asked_as_it_says_or_answers(fields: dict[str, Any], form: str | None) -> None:
    made = body(**fields)
    assert start_request(made, "digest").interrupts == form
    assert own_request(made, intent="withdraw").interrupts == form


@pytest.mark.parametrize("name", ["interrupts", "on_disconnect", "multitask_strategy"])
def test_an_option_that_is_not_known_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"middleCore.{name}: choose one of"):
        start_request(body(forwardedProps={"middleCore": {name: "sometimes"}}), "digest")


@pytest.mark.parametrize("fields", [{"forwardedProps": COMMAND}, {"resume": RESUME}])
def test_an_answer_goes_on_with_a_run(fields: dict[str, Any]) -> None:
    assert start_request(body(**fields), "digest").continues
