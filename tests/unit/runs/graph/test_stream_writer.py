"""`get_stream_writer()` keeps its place among tokens and emits: in async and sync nodes, in tools, in subgraphs."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import dispatch_custom_event
from langchain_core.messages import AIMessage
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt

from middle_core.node_api.emit import emit_chunk, emit_token
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules, Resume, Turn
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel
from tests.fakes.play import Played, play, says


def source(graph: graphs.Graph) -> GraphSource:
    return GraphSource("agent", graph, AgentRules())


def order(played: Played) -> list[Any]:
    """What was shown, in order: deltas, and the data of chunks."""
    shown: list[Any] = []
    for event in played.events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            shown.append(event["delta"])
        elif event.get("name") == "middle_core.chunk":
            shown.append(event["value"]["data"])
        elif event.get("name") == "mine":
            shown.append(event["value"])
    return shown


async def mixed(state: Any) -> Any:
    write, model = get_stream_writer(), ScriptedModel(turns=[["e", "f"]])
    await emit_token("a", message_id="m1")
    write(1)
    await emit_chunk("table", 2)
    write(3)
    await emit_token("b", message_id="m1")
    get_runtime().stream_writer(4)
    message = await model.ainvoke("go")
    write(5)
    return {"messages": [AIMessage("ab", id="m1"), message]}


async def test_what_is_written_arrives_in_its_place() -> None:
    shown = order(await play(source(graphs.one_node(mixed)), says("hi")))
    assert shown[:6] == ["a", 1, 2, 3, "b", 4]
    assert ("".join(shown[6:-1]), shown[-1]) == ("ef", 5)


async def test_a_sync_node_keeps_the_order_as_well() -> None:
    def node(state: Any) -> Any:
        write = get_stream_writer()
        for number in range(20):
            (write if number % 2 else lambda value: dispatch_custom_event("mine", value))(number)
        return {}

    assert order(await play(source(graphs.one_node(node)), says("hi"))) == list(range(20))


async def test_a_subgraph_is_heard_and_goes_on_after_a_question() -> None:
    async def ask(state: Any) -> Any:
        get_stream_writer()("asking")
        return {"messages": [AIMessage(str(interrupt("ok?")))]}

    inner = StateGraph(graphs.ChatState)
    inner.add_node("mixed", mixed)
    inner.add_node("ask", ask)
    inner.add_edge(START, "mixed")
    inner.add_edge("mixed", "ask")
    builder = StateGraph(graphs.ChatState)
    builder.add_node("outer", inner.compile())
    builder.add_edge(START, "outer")
    agent = source(graphs.build(builder))
    asked = await play(agent, says("hi"))
    assert [one for one in order(asked) if isinstance(one, int)] == [1, 2, 3, 4, 5]
    done = await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    assert order(done)[:2] == ["asking", "yes"]


async def test_the_graphs_own_store_and_parallel_nodes_are_as_without_it() -> None:
    store = InMemoryStore()
    await store.aput(("a",), "k", {"v": 1})

    async def node(state: Any) -> Any:
        item = await get_store().aget(("a",), "k")
        assert item is not None
        get_stream_writer()(item.value["v"])
        return {"messages": [AIMessage("x")]}

    builder = StateGraph(graphs.ChatState)
    for name in ("left", "right"):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    graph = graphs.build(builder, store=store)
    played = await play(source(graph), says("hi"))
    assert played.custom("middle_core.chunk") == [{"type": "custom", "data": 1}] * 2
    assert sorted(played.nodes()) == [("left", "ok"), ("right", "ok")]
