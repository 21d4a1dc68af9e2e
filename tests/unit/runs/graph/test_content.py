"""What a model said, in pieces, and what a tool returned, as text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from middle_core.runs.graph.content import MAX_TOOL_TEXT, declined, pieces, tool_text


def read(content: Any, **extra: Any) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in pieces(content, extra)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text", [("text", "text")]),
        ("", []),
        (None, []),
        (["a", {"type": "text", "text": "b"}, {"type": "output_text", "text": "c"}], [("text", "a"), ("text", "b"), ("text", "c")]),
        ([{"type": "text", "text": None}, {"type": "text"}, {"type": "tool_use", "input": {}}, 7, None, {"no": "type"}, ""], []),
        ([{"type": "thinking", "thinking": "hm", "signature": "sig"}], [("reasoning", "hm"), ("encrypted", "sig")]),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}, "x", {}]}], [("reasoning", "hm"), ("reasoning", "x")]),
        ([{"type": "redacted_thinking", "data": "xx"}], [("encrypted", "xx")]),
        ([{"type": "reasoning", "reasoning": "r", "extras": {"signature": "s"}}], [("reasoning", "r"), ("encrypted", "s")]),
        (
            [{"type": "reasoning", "encrypted_content": "e", "summary": [{"text": "a"}, {"text": {}}, "x"]}],
            [("reasoning", "a"), ("encrypted", "e")],
        ),
        ([{"type": "reasoning_content", "reasoning_content": {"text": "b", "signature": "s"}}], [("reasoning", "b"), ("encrypted", "s")]),
        ([{"type": "reasoning_content", "reasoning_content": "odd"}], []),
        ([{"type": "refusal", "refusal": "no"}], [("text", "no")]),
        ([{"type": "image", "url": "https://x/y.png"}], [("text", "\n![image](https://x/y.png)\n")]),
        ([{"type": "image_url", "image_url": "data:image/png;base64,aGk="}], [("text", "\n[image]\n")]),
        ([{"type": "file", "url": "https://x/y.pdf"}], [("text", "\n[file](https://x/y.pdf)\n")]),
        ([{"type": "image_url", "image_url": {"url": "javascript:alert(1)"}}], [("text", "\n[image]\n")]),
    ],
)
def test_content_of_every_shape(content: Any, expected: list[tuple[str, str]]) -> None:
    assert read(content) == expected


def test_what_stands_beside_the_content() -> None:
    assert read("so", reasoning_content="hm") == [("reasoning", "hm"), ("text", "so")]
    assert read("so", reasoning="hm") == [("reasoning", "hm"), ("text", "so")]
    assert read("so", thinking="hm") == [("reasoning", "hm"), ("text", "so")]
    details = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.summary", "summary": "b"}, {"type": "reasoning.encrypted"}, 7]
    assert read("", reasoning_details=details) == [("reasoning", "a"), ("reasoning", "b")]
    assert read("", reasoning={"summary": [{"text": "hm"}]}) == [("reasoning", "hm")]
    assert read("", refusal="I will not") == [("text", "I will not")]
    assert read("", reasoning_content=None, reasoning=7, refusal=None, tool_calls=[]) == []


def test_paragraphs_of_a_summary_can_be_told_apart() -> None:
    parts = [
        one.part
        for one in pieces([{"type": "reasoning", "index": 0, "summary": [{"text": "a", "index": 0}, {"text": "b", "index": 1}]}], None)
    ]
    assert len(set(parts)) == 2


@pytest.mark.parametrize(
    "content",
    [b"\xff", None, 3, {"a": {1, 2}}, [{"type": "image"}], datetime(2026, 1, 1, tzinfo=UTC), float("nan"), Ellipsis, [None]],
    ids=repr,
)
def test_a_tools_content_is_text_whatever_it_is(content: Any) -> None:
    text = tool_text(content)
    if text:
        json.loads(text)


def test_text_blocks_are_joined_and_strings_pass() -> None:
    assert tool_text("as it is") == "as it is"
    assert tool_text(["a", {"type": "text", "text": "b"}]) == "ab"
    assert tool_text([]) == "[]"


def test_a_result_that_no_browser_can_take_is_a_note() -> None:
    assert tool_text({"x": ["y" * 1000] * (MAX_TOOL_TEXT // 500)}) == "[result too large to show]"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), True),
        (AIMessage("", response_metadata={"stop_reason": "refusal"}), True),
        (AIMessage("", additional_kwargs={"refusal": "I will not."}), True),
        (AIMessage([{"type": "refusal", "refusal": "I will not."}]), True),
        (AIMessage("", additional_kwargs={"refusal": None}), False),
        (AIMessage("yes", response_metadata={"finish_reason": "stop"}), False),
        (AIMessage([{"type": "text", "text": "yes"}, "and"], response_metadata={"finish_reason": "length"}), False),
    ],
)
def test_a_model_that_would_not_answer(message: AIMessage, expected: bool) -> None:
    assert declined(message) is expected
