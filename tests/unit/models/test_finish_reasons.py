"""Each provider's word for the end of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from middle_core.models.finish_reasons import CUT, Ending, ending_of


@pytest.mark.parametrize(
    ("metadata", "ending"),
    [
        ({}, Ending.DONE),
        ({"finish_reason": None}, Ending.DONE),
        ({"finish_reason": "stop"}, Ending.DONE),
        ({"finish_reason": "tool_calls"}, Ending.DONE),
        ({"finish_reason": "a word of tomorrow"}, Ending.DONE),
        ({"stop_reason": "end_turn"}, Ending.DONE),
        ({"finish_reason": "STOP"}, Ending.DONE),
        ({"status": "completed", "incomplete_details": None}, Ending.DONE),
        ({"finish_reason": "length"}, Ending.LENGTH),
        ({"stop_reason": "max_tokens"}, Ending.LENGTH),
        ({"stopReason": "max_tokens"}, Ending.LENGTH),
        ({"done_reason": "length"}, Ending.LENGTH),
        ({"finish_reason": "MAX_TOKENS"}, Ending.LENGTH),
        ({"finish_reason": "FinishReason.MAX_TOKENS"}, Ending.LENGTH),
        ({"finish_reason": "model_length"}, Ending.LENGTH),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, Ending.LENGTH),
        ({"stop_reason": "model_context_window_exceeded"}, Ending.CONTEXT),
        ({"finish_reason": "content_filter"}, Ending.FILTERED),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, Ending.FILTERED),
        ({"finish_reason": "SAFETY"}, Ending.FILTERED),
        ({"stopReason": "guardrail_intervened"}, Ending.FILTERED),
        ({"stop_reason": "refusal"}, Ending.DECLINED),
        ({"stop_reason": "pause_turn"}, Ending.PAUSED),
        ({"finish_reason": "insufficient_system_resource"}, Ending.FAILED),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, Ending.FAILED),
        ({"status": "incomplete"}, Ending.FAILED),
        ({"status": "incomplete", "incomplete_details": {"reason": "something new"}}, Ending.FAILED),
    ],
)
def test_it_is_told_apart(metadata: dict[str, Any], ending: Ending) -> None:
    assert ending_of(metadata) is ending
    assert (ending in CUT) is (ending not in {Ending.DONE, Ending.DECLINED})
