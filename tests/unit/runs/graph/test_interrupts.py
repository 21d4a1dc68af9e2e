"""Open questions as AG-UI interrupts."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Interrupt as AguiInterrupt
from ag_ui_langgraph.interrupts import lg_interrupts_to_agui
from langgraph.types import Interrupt, PregelTask

from middle_core.errors import MiddleCoreError
from middle_core.runs.graph.interrupts import MAX_QUESTION, open_interrupts


def ask(value: Any) -> dict[str, Any]:
    [one] = open_interrupts([PregelTask("t", "node", (), interrupts=(Interrupt(value, id="i1"),))])
    return one


@pytest.mark.parametrize(
    "value",
    [
        "sure?",
        {"message": "m", "reason": "r"},
        {"toolCallId": "c"},
        {"tool_call_id": "c", "responseSchema": {"type": "string"}},
        {"reason": None},
        7,
    ],
    ids=repr,
)
def test_where_the_sdk_is_right_we_say_the_same(value: Any) -> None:
    theirs = lg_interrupts_to_agui([Interrupt(value, id="i1")])[0].model_dump(by_alias=True, exclude_none=True)
    theirs["metadata"]["langgraph"] = {"raw": theirs["metadata"]["langgraph"].get("raw", value)}
    assert ask(value) == theirs


@pytest.mark.parametrize(
    "value", [{"message": ["no text"]}, {"reason": 1}, {"responseSchema": "x"}, {"toolCallId": 3}, Ellipsis, {"expiresAt": "x"}], ids=repr
)
def test_a_field_of_the_wrong_kind_is_left_out(value: Any) -> None:
    one = ask(value)
    assert AguiInterrupt.model_validate(one).reason == "langgraph:interrupt"
    assert set(one) == {"id", "reason", "metadata"}


def test_a_question_too_large_to_be_shown() -> None:
    with pytest.raises(MiddleCoreError, match="too large"):
        ask({"rows": ["x" * 1000] * (MAX_QUESTION // 500)})


def test_no_task_no_question() -> None:
    assert open_interrupts([]) == []
    assert open_interrupts([PregelTask("t", "node", ())]) == []
