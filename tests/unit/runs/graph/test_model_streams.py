"""Model chunks, cut at random: the streamed text is what the model said, and LangChain joins the chunks to the same text.

`test_source.py` has the chunk shapes of each provider; here they are mixed at random.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message

from middle_core.errors import MiddleCoreError
from middle_core.events import Event
from middle_core.runs.graph.history import Shown, history, same
from middle_core.runs.graph.ids import Ids
from middle_core.runs.graph.model_streams import MAX_PIECES, ModelStreams, Show
from tests.fakes.play import complaints


@dataclass(frozen=True)
class Script:
    """What a model says, and the chunks that carry it."""

    text: str
    calls: list[tuple[str, dict[str, Any]]]
    chunks: list[AIMessageChunk]


def cut(draw: st.DrawFn, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Text and calls, their pieces in any interleaving that a provider could send."""
    text = draw(st.text(max_size=20))
    calls = draw(
        st.lists(
            st.tuples(st.sampled_from(["a", "b"]), st.dictionaries(st.sampled_from("xy"), st.integers() | st.text(max_size=5), max_size=2)),
            max_size=3,
        )
    )
    repeats, with_index = draw(st.booleans()), draw(st.booleans())
    lanes: list[list[AIMessageChunk]] = [[AIMessageChunk(content=piece) for piece in cut(draw, text)]]
    for at, (name, arguments) in enumerate(calls):
        call_id = draw(st.sampled_from([None, "", "same", f"c{at}"])) if with_index else f"c{at}"
        index = at if with_index else None
        first, *more = cut(draw, json.dumps(arguments, ensure_ascii=False))
        again = {"name": name if repeats else None, "id": call_id if repeats or not with_index else None}
        parts: list[Any] = [{"name": name, "args": first, "id": call_id}, *[{**again, "args": piece} for piece in more]]
        lanes.append([AIMessageChunk(content="", tool_call_chunks=[{**part, "index": index, "type": "tool_call_chunk"}]) for part in parts])
    chunks: list[AIMessageChunk] = []
    while any(lanes):
        lane = draw(st.sampled_from([one for one in lanes if one]))
        chunks.append(lane.pop(0))
    for one in chunks:
        one.id = draw(st.sampled_from([None, "", "m1", "taken"]))
    return Script(text, calls, [*chunks, AIMessageChunk(content="", chunk_position="last")])


def played(script: Script, show: Show | None = None) -> tuple[list[Event], AIMessage]:
    streams, events = ModelStreams(Ids(["taken"], ["c9"])), []
    streams.start("run", show or Show())
    whole: Any = None
    for one in script.chunks:
        events.extend(streams.chunk("run", one))
        whole = one if whole is None else whole + one
    message = message_chunk_to_message(whole)
    assert isinstance(message, AIMessage)
    events.extend(streams.end("run", message))
    return events, message


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(scripts())
def test_what_is_streamed_is_what_was_said_and_what_is_stored(script: Script) -> None:
    events, message = played(script)
    assert complaints(events) == []
    assert "".join(one["delta"] for one in events if one["type"] == "TEXT_MESSAGE_CONTENT") == script.text
    arguments: dict[str, str] = {one["toolCallId"]: "" for one in events if one["type"] == "TOOL_CALL_START"}
    for one in events:
        if one["type"] == "TOOL_CALL_ARGS":
            arguments[one["toolCallId"]] += one["delta"]
    said = [(one["toolCallName"], json.loads(arguments[one["toolCallId"]] or "{}")) for one in events if one["type"] == "TOOL_CALL_START"]
    key = lambda call: (call[0], json.dumps(call[1], sort_keys=True))  # noqa: E731 - calls may open in any order
    assert sorted(said, key=key) == sorted(script.calls, key=key)
    shown = Shown()
    for one in events:
        shown.feed(one)
    assert same(shown.messages(), history([message], lambda content: content))
    assert message.id not in {None, "", "taken"}


@settings(max_examples=30, deadline=None)
@given(scripts(), st.sampled_from([Show(text=False, tools=False), Show(text=False), Show(tools=False), Show(tools=["a"])]))
def test_nothing_that_is_hidden_is_shown_and_the_rest_is_legal(script: Script, show: Show) -> None:
    events, _ = played(script, show)
    assert complaints(events) == []
    kinds = {one["type"] for one in events}
    assert show.text or not any(one.startswith("TEXT") for one in kinds)
    assert all(show.tool(one["toolCallName"]) for one in events if one["type"] == "TOOL_CALL_START")


def test_runs_that_nobody_announced_are_nothing() -> None:
    streams = ModelStreams(Ids())
    assert streams.chunk("x", AIMessageChunk(content="hi")) == []
    assert streams.end("x", AIMessage("hi")) == []
    assert streams.abort("x") == []


def test_two_runs_at_once_stay_apart() -> None:
    streams = ModelStreams(Ids())
    events: list[Event] = []
    for run in "ab":
        streams.start(run, Show())
    for run in "abab":
        events.extend(streams.chunk(run, AIMessageChunk(content=run)))
    for run in "ab":
        events.extend(streams.end(run, AIMessage(run * 2)))
    assert complaints(events) == []
    shown = Shown()
    for one in events:
        shown.feed(one)
    assert [one["content"] for one in shown.messages()] == ["aa", "bb"]


def test_an_answer_in_very_many_pieces_is_told_once_and_has_a_bound() -> None:
    # LangChain keeps each piece until the answer ends: 200,000 of them took 350 MB.
    told: list[str] = []
    streams = ModelStreams(Ids(), told.append)
    streams.start("r", Show())
    piece = AIMessageChunk(content="x", id="m")
    for _ in range(MAX_PIECES):
        streams.chunk("r", piece)
    assert [one for one in told if "Coalesce" in one] == told
    assert len(told) == 1
    with pytest.raises(MiddleCoreError, match="too long"):
        streams.chunk("r", piece)
