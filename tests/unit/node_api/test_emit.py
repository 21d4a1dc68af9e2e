"""What node code emits reaches the stream, in its order, with ids that the thread keeps."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from middle_core.node_api.emit import emit_chunk, emit_message, emit_state, emit_token, new_message_id, progress, refuse
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.play import Played, play, says


async def played(node: Any, **options: Any) -> Played:
    return await play(GraphSource("a", graphs.one_node(node, **options), AgentRules()), says("hi"))


async def test_tokens_are_a_message_that_ends_with_its_node() -> None:
    async def node(state: Any) -> Any:
        message_id = new_message_id()
        for one in ("by ", "", "hand"):
            await emit_token(one, message_id=message_id)
        return {"messages": [AIMessage("by hand", id=message_id)]}

    run = await played(node)
    assert list(run.texts().values()) == ["by hand"]
    assert not run.of("MESSAGES_SNAPSHOT")
    kinds = [one["type"] for one in run.events]
    assert kinds.index("TEXT_MESSAGE_END") < kinds.index("STEP_FINISHED")


async def test_a_whole_message() -> None:
    async def node(state: Any) -> Any:
        message_id = await emit_message("whole")
        return {"messages": [AIMessage("whole", id=message_id)]}

    run = await played(node)
    assert list(run.texts().values()) == ["whole"]
    assert not run.of("MESSAGES_SNAPSHOT")


async def test_a_message_that_the_node_does_not_return_stays_on_the_screen() -> None:
    async def node(state: Any) -> Any:
        await emit_message("only shown")
        return {}

    run = await played(node)  # which compares the screen with what a reload shows
    assert list(run.texts().values()) == ["only shown"]
    assert not run.of("MESSAGES_SNAPSHOT")


async def test_two_nodes_cannot_write_into_one_message() -> None:
    async def node(state: Any) -> Any:
        await emit_message("mine", message_id="same")
        await emit_token("theirs", message_id="same")
        return {"messages": [AIMessage("mine", id="same")]}

    assert (await played(node)).texts() == {"same": "mine"}


async def test_state_is_shown_key_by_key_in_order_with_tokens() -> None:
    model = ScriptedModel(turns=[["one"]])

    async def node(state: Any) -> Any:
        await emit_state({"plan": "first", "secret": "not a key of this graph"})
        answer = await model.ainvoke(state["messages"])
        await emit_state({"steps": ["a"]})
        return {"plan": "first", "steps": ["a"], "messages": [answer]}

    run = await played(node, state=graphs.WorkState)
    assert [one["snapshot"] for one in run.of("STATE_SNAPSHOT")] == [{"plan": "first"}, {"plan": "first", "steps": ["a"]}]
    kinds = [one["type"] for one in run.events if one["type"] in ("STATE_SNAPSHOT", "TEXT_MESSAGE_CONTENT")]
    assert kinds == ["STATE_SNAPSHOT", "TEXT_MESSAGE_CONTENT", "STATE_SNAPSHOT"]


async def test_state_that_was_only_shown_is_taken_back_at_the_end() -> None:
    async def node(state: Any) -> Any:
        await emit_state({"plan": "guess"})
        return {"plan": "real"}

    assert [one["snapshot"]["plan"] for one in (await played(node, state=graphs.WorkState)).of("STATE_SNAPSHOT")] == ["guess", "real"]


async def test_chunks_and_progress_from_inside_a_tool() -> None:
    @tool
    async def work(q: str) -> str:
        """Work."""
        await progress("reading", 0.5, tool_call_id="c")
        await emit_chunk("table", {"rows": 2})
        await progress("unknown")
        return "done"

    model = ScriptedModel(turns=[[call("work", {"q": "x"}, call_id="c"), finish("tool_calls")], ["ok"]])
    run = await play(GraphSource("a", graphs.tools_chat(model, [work]), AgentRules()), says("hi"))
    assert run.custom("middle_core.progress") == [
        {"label": "reading", "fraction": 0.5, "toolCallId": "c"},
        {"label": "unknown", "fraction": None, "toolCallId": None},
    ]
    assert run.custom("middle_core.chunk") == [{"type": "table", "data": {"rows": 2}}]


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
async def test_progress_lies_between_nothing_and_all(fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        await progress("x", fraction)


async def test_outside_of_a_run_there_is_nobody_to_tell() -> None:
    with pytest.raises(RuntimeError):
        await emit_message("to nobody")


async def test_a_tool_result_is_told_once_even_if_the_node_returns_it_again() -> None:
    async def node(state: Any) -> Any:
        return {"messages": [AIMessage("", tool_calls=[{"name": "s", "args": {}, "id": "c"}]), ToolMessage("r", tool_call_id="c")]}

    assert (await played(node)).results() == [("c", "r")]


async def test_a_refusal_is_told_in_words_for_people() -> None:
    async def node(state: Any) -> Any:
        await refuse("Not\u202e about\x00 this." + "x" * 1000)
        return {}

    [told] = [one["value"] for one in (await played(node)).events if one.get("name") == "middle_core.refused"]
    assert told["by"] == "node"
    assert told["reason"].startswith("Not about this.x")
    assert len(told["reason"]) <= 500
