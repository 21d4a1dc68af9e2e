"""Writing a thread runs nothing of the team's: no router at the entry, no node, no routing behind one, no reducer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from middle_core.agui.fold import fold
from middle_core.contract.outcomes import OutcomeCode
from middle_core.events import ThreadId
from middle_core.runs.graph.cut_calls import Cut
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.graph.state_writer import WRITER, with_writer
from middle_core.runs.graph.thread_state import ThreadStates
from middle_core.runs.intake.turn import AgentRules, Turn
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.play import play, says, underway, user

Saver = BaseCheckpointSaver[Any]

THREAD = ThreadId("t")
CONFIG: Any = {"configurable": {"thread_id": THREAD}}
HI, ANSWER = HumanMessage("hi", id="h1"), AIMessage("hello", id="a1")


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Saver]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as one:
        yield one


def no_reducer(left: Any, right: Any) -> Any:
    """A reducer that must not run."""
    raise AssertionError(f"joined {left!r} with {right!r}")


class Reduced(TypedDict):
    """Messages joined by a team's own function."""

    messages: Annotated[list[Any], no_reducer]


def only_users(state: Any) -> str:
    """A router that takes a user's message and nothing else; a thread without messages is an IndexError."""
    last = state["messages"][-1]
    if not isinstance(last, HumanMessage):
        raise TypeError(f"routed on a {last.type} message that no user sent")
    return "model"


def routed(model: ScriptedModel, saver: Saver) -> GraphSource:
    """A router before the model, and one behind it that fails for an answer that was cut short."""

    def after(state: Any) -> str:
        if state["messages"][-1].response_metadata.get("stopped"):
            raise ValueError("routed on what the model did not say")
        return END

    builder = StateGraph(graphs.ChatState)
    builder.add_node("model", graphs.calls(model))
    builder.add_conditional_edges(START, only_users, ["model"])
    builder.add_conditional_edges("model", after, [END])
    return GraphSource("agent", graphs.build(builder, saver), AgentRules())


async def contents(agent: GraphSource) -> list[tuple[str, Any]]:
    return [(one["role"], one.get("content", "")) for one in (await agent.view(THREAD)).messages]


async def test_a_stopped_answer_stays_behind_a_router_that_takes_users_only(saver: Saver) -> None:
    agent = routed(ScriptedModel(turns=[["half", asyncio.Event()], ["whole"]]), saver)
    async with underway(agent, says("hi")) as run:
        await run.said("half")
        await agent.settle(THREAD, fold(await run.stop()), Cut(OutcomeCode.STOPPED))
    assert await contents(agent) == [("user", "hi"), ("assistant", "half")]
    await play(agent, says("again"))
    assert (await contents(agent))[2:] == [("user", "again"), ("assistant", "whole")]


async def test_the_first_message_is_answered_anew_behind_such_a_router(saver: Saver) -> None:
    # The thread is empty between the two: the router would find no message.
    agent = routed(ScriptedModel(turns=[["first"], ["second"]]), saver)
    await play(agent, says("hi", "h1"))
    await play(agent, Turn(messages=(user("hi", "h1"),), restart_at="h1"))
    assert await contents(agent) == [("user", "hi"), ("assistant", "second")]


async def test_a_call_without_a_result_is_repaired_behind_such_a_router(saver: Saver) -> None:
    model = ScriptedModel(turns=[[call("on_the_page", {}), finish("tool_calls")], ["ok"]], strict=True)
    agent = routed(model, saver)
    await play(agent, says("hi"))
    await play(agent, says("never mind"))
    assert [role for role, _ in await contents(agent)] == ["user", "assistant", "tool", "user", "assistant"]


async def test_a_thread_that_has_no_checkpoint_is_written_as_well(saver: Saver) -> None:
    agent = routed(ScriptedModel(turns=[["hello"]]), saver)
    thread = await agent.states.read(THREAD)
    assert await agent.states.write(thread, [HI, ANSWER])
    left = await agent.states.read(THREAD)
    assert ([one.content for one in left.messages], left.snapshot.tasks, left.snapshot.next) == (["hi", "hello"], (), ())


async def test_a_reducer_of_the_team_is_not_run_by_our_writes() -> None:
    states = ThreadStates(graphs.one_node(lambda state: {}, state=Reduced))
    await states.write(await states.read(THREAD), [HI])
    await states.write(await states.read(THREAD), [HI, ANSWER])
    assert [one.content for one in (await states.read(THREAD)).messages] == ["hi", "hello"]


async def test_the_writers_copy_leaves_the_graph_as_it_was(saver: Saver) -> None:
    # Pins what is used of LangGraph's inside: a node without triggers that writes the channels it is given.
    graph = graphs.one_node(lambda state: {}, state=graphs.WorkState, saver=saver)
    await with_writer(graph).aupdate_state(CONFIG, {"messages": [HI], "plan": "p"}, as_node=WRITER)
    snapshot = await graph.aget_state(CONFIG)
    assert (snapshot.values["messages"], snapshot.values["plan"], snapshot.next) == ([HI], "p", ())
    assert WRITER not in graph.nodes
    assert WRITER not in graph.get_graph().nodes
