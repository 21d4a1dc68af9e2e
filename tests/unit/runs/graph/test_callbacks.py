"""Callbacks of a running graph: order, turns, and names that a graph may not use."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel
from tests.fakes.play import play, says


async def test_the_first_token_comes_before_a_model_that_never_waits_is_done() -> None:
    model = ScriptedModel(turns=[["x"] * 20_000])
    run = GraphRun(GraphSource("a", graphs.chat(model), AgentRules()), says("hi"), thread_id="t", run_id="r")  # type: ignore[arg-type]
    events = run.events()
    async for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            assert model.ended == []
            break
    await events.aclose()
    assert model.ended in (["cancelled"], ["closed"])


async def test_custom_events_keep_their_order_and_the_engines_names_are_refused() -> None:
    async def node(state: Any, config: RunnableConfig) -> Any:
        await adispatch_custom_event("mine", {"n": 1}, config=config)
        await adispatch_custom_event("middle_core.run", {"runId": "forged"}, config=config)
        await adispatch_custom_event("copilotkit_exit", {}, config=config)
        get_stream_writer()({"n": 2})
        return {"messages": [AIMessage("ok")]}

    played = await play(GraphSource("a", graphs.one_node(node), AgentRules()), says("hi"))
    assert played.custom("mine") == [{"n": 1}]
    assert played.custom("middle_core.run") == []
    assert played.custom("Exit") == [True]
    assert played.custom("middle_core.chunk") == [{"type": "custom", "data": {"n": 2}}]


async def test_custom_events_of_sync_nodes() -> None:
    def node(state: Any, config: RunnableConfig) -> Any:
        for at in range(3):
            dispatch_custom_event("mine", at, config=config)
        return {"messages": [AIMessage("ok")]}

    played = await play(GraphSource("a", graphs.one_node(node), AgentRules()), says("hi"))
    assert played.custom("mine") == [0, 1, 2]
