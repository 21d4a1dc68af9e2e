"""An answer that the model did not end is told: in the run, and in the thread."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from middle_core.agui.endings import CUT_OFF_WORDS
from middle_core.contract.messages import CutOffReason
from middle_core.models.finish_reasons import CUT
from middle_core.runs.graph.history import history
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.play import Played, play, says
from tests.unit.runs.graph.test_source import source


async def streamed(*items: Any, streams: bool = True) -> Played:
    return await play(source(graphs.chat(ScriptedModel(turns=[list(items)], streams=streams))), says("hi"))


def test_every_reason_has_words() -> None:
    assert set(CUT_OFF_WORDS) == set(get_args(CutOffReason.__value__)) == {*(ending.value for ending in CUT), "empty"}


@pytest.mark.parametrize("streams", [True, False])
async def test_text_that_ends_at_the_limit(streams: bool) -> None:
    played = await streamed("The first ", "half", finish("length"), streams=streams)
    [message_id] = played.texts()
    [told] = played.custom("middle_core.cut_off")
    assert told == {"messageId": message_id, "reason": "length", "text": "The answer was cut off at its length limit."}
    [snapshot] = played.of("MESSAGES_SNAPSHOT")
    assert snapshot["messages"][-1]["metadata"] == {"cutOff": "length"}
    assert played.usage[0]["outputTokens"] == 5


async def test_reasoning_that_takes_the_whole_limit() -> None:
    played = await streamed(AIMessageChunk(content="", additional_kwargs={"reasoning_content": "hm"}), finish("length"))
    [told] = played.custom("middle_core.cut_off")
    [snapshot] = played.of("MESSAGES_SNAPSHOT")
    last = snapshot["messages"][-1]
    assert (last["id"], last["content"], last["metadata"]) == (told["messageId"], "", {"cutOff": "length"})


async def test_nothing_at_all() -> None:
    [told] = (await streamed(finish("stop"))).custom("middle_core.cut_off")
    assert told["reason"] == "empty"


@pytest.mark.parametrize("reason", ["stop", "end_turn"])
async def test_an_ordinary_end_is_not_told(reason: str) -> None:
    played = await streamed("Whole.", finish(reason))
    assert played.custom("middle_core.cut_off") == played.of("MESSAGES_SNAPSHOT") == []


async def test_a_call_that_was_cut_tells_itself() -> None:
    played = await streamed("Let me see.", call("look", '{"q": "X12'), finish("length"))
    assert played.custom("middle_core.cut_off") == []


async def test_an_answer_of_an_earlier_turn_is_told_once() -> None:
    agent = source(graphs.chat(ScriptedModel(turns=[["Half", finish("length")], ["and the rest.", finish()]])))
    await play(agent, says("hi"))
    played = await play(agent, says("Go on."))
    assert played.custom("middle_core.cut_off") == []
    assert [one.get("metadata") for one in (await agent.view("t")).messages if one["role"] == "assistant"] == [{"cutOff": "length"}, None]  # type: ignore[arg-type]


def test_a_message_that_no_model_made_may_be_empty() -> None:
    shown = history([HumanMessage("hi", id="h"), AIMessage("", id="a")], lambda message: [])
    assert [one["id"] for one in shown] == ["h"]


def test_an_empty_answer_after_a_tool_is_no_news() -> None:
    silent = AIMessage("", id="a", response_metadata={"finish_reason": "stop"})
    assert history([HumanMessage("hi", id="h"), AIMessage("Look.", id="b"), silent], lambda message: [])[-1]["id"] == "b"
