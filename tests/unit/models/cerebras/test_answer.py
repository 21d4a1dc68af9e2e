"""The chunks that the frames of an answer become, and lines that are not frames."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from middle_core.models.cerebras.answer import Answer, FrameReader, is_visible
from middle_core.models.cerebras.errors import StreamFault

LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=6)


@given(
    st.lists(st.lists(LINES, min_size=1, max_size=2), max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.lists(st.integers(0, 200), max_size=12),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_frames_are_the_same_however_they_are_cut(events: list[list[str]], end: bytes, cuts: list[int], chatty: bool):
    noise = b": comment" + end + b"event: x" + end + b"id: 1" + end if chatty else b""
    body = b"".join(noise + b"".join(b"data: " + line.encode() + end for line in event) + end for event in events)
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    reader = FrameReader()
    out = [data for a, b in pairwise(edges) for data in reader.feed(body[a:b])]
    assert out == ["\n".join(event).encode() for event in events]


def test_a_frame_has_a_limit():
    reader = FrameReader(limit=100)
    assert reader.feed(b"data: " + b"x" * 50) == []
    with pytest.raises(ValueError, match="too large"):
        list(reader.feed(b"x" * 50))


def test_an_event_of_many_lines_has_the_same_limit():
    reader = FrameReader(limit=100)
    for _ in range(3):
        assert list(reader.feed(b"data: " + b"x" * 20 + b"\n")) == []
    assert list(reader.feed(b"\n")) == [b"\n".join([b"x" * 20] * 3)]
    with pytest.raises(ValueError, match="too large"):
        for _ in range(10):
            list(reader.feed(b"data: " + b"x" * 20 + b"\n"))


def test_usage_that_comes_twice_counts_once():
    answer = Answer(model="m")
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    assert list(answer.chunks([{"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}])) == []
    assert list(answer.chunks([{"choices": [], "usage": usage}])) == []
    assert answer.last().usage_metadata == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ("lots", None),
        ([1], None),
        ({"prompt_tokens": "5", "completion_tokens": 1.5}, (0, 0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": [1], "completion_tokens_details": "x"}, (5, 1, 6)),
    ],
)
def test_usage_that_cannot_be_read_costs_no_answer(usage: Any, counts: tuple[int, int, int] | None):
    answer = Answer(model="m")
    list(answer.chunks([{"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}]))
    found = answer.last().usage_metadata
    assert (found and (found["input_tokens"], found["output_tokens"], found["total_tokens"])) == counts


def test_an_answer_without_a_reason_to_end_did_not_end():
    answer = Answer(model="m")
    list(answer.chunks([{"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 1}}]))
    with pytest.raises(StreamFault):
        answer.last()


def test_an_answer_without_usage_has_none():
    answer = Answer(model="m")
    assert list(answer.chunks([{"choices": [{"delta": None, "finish_reason": "stop"}], "usage": None}])) == []
    last = answer.last()
    assert (last.usage_metadata, last.response_metadata["model_name"], last.response_metadata["model_provider"]) == (None, "m", "cerebras")


def test_calls_without_an_index_are_told_apart_by_their_place():
    answer = Answer(model="m")
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "b")]
    [chunk] = answer.chunks([{"choices": [{"delta": {"tool_calls": calls}}]}])
    assert [(c["id"], c["index"]) for c in chunk.tool_call_chunks] == [("a", 0), ("b", 1)]


def test_text_joins_text_and_nothing_else():
    answer = Answer(model="m")
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    deltas: list[Any] = [
        {"role": "assistant"},
        {"content": "a"},
        {"content": "b", "tool_calls": []},
        {"reasoning": "r"},
        {"content": "c", "reasoning": "d"},
        {"content": "e"},
        {"tool_calls": [call]},
        {"content": "f"},
    ]
    frames: list[Any] = [{"choices": [{"delta": delta}]} for delta in deltas]
    calls = [tool_call_chunk(name="f", args="{}", id="1", index=0)]
    assert list(answer.chunks(frames)) == [
        AIMessageChunk(content="ab"),
        AIMessageChunk(content="", additional_kwargs={"reasoning_content": "r"}),
        AIMessageChunk(content="c", additional_kwargs={"reasoning_content": "d"}),
        AIMessageChunk(content="e"),
        AIMessageChunk(content="", tool_call_chunks=calls),
        AIMessageChunk(content="f"),
    ]
    assert [is_visible(frame) for frame in frames] == [False] + [True] * 7


@pytest.mark.parametrize(
    "delta",
    [
        "x",
        {"content": 1},
        {"reasoning": ["x"]},
        {"tool_calls": 1},
        {"tool_calls": ["x"]},
        {"tool_calls": [{"function": {"arguments": {"a": 1}}}]},
        {"tool_calls": [{"function": {"arguments": {}}}]},
        {"tool_calls": [{"function": {"name": 5, "arguments": "{}"}}]},
        {"tool_calls": [{"id": 7, "function": {"name": "f", "arguments": "{}"}}]},
        {"tool_calls": [{"index": [0], "function": {"arguments": "{}"}}]},
        {"tool_calls": [{"index": 1.5, "function": {"arguments": "{}"}}]},
        {"tool_calls": [{"index": "0", "function": {"arguments": "{}"}}]},
    ],
)
def test_what_is_no_chunk_is_a_fault(delta: Any):
    with pytest.raises((TypeError, AttributeError)):
        is_visible({"choices": [{"delta": delta}]})
