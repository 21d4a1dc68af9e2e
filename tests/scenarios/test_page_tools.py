"""Tools of the page beside LangGraph's own ToolNode, however the graph leads to it: the page's tool runs, and is answered by the page."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition
from pydantic import BaseModel

from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.stack import Reader, run_input, stack, user

PAINT = {"name": "paint", "description": "Paint the page.", "parameters": {"type": "object", "properties": {}}}


def nested(model: ScriptedModel, tools: list[BaseTool]) -> Any:
    """An agent with a ToolNode as a node of another graph, and a node behind it."""

    def answered(state: MessagesState) -> bool:
        return any(isinstance(one, ToolMessage) and one.content == "painted" for one in state["messages"])

    async def behind(state: MessagesState) -> dict[str, Any]:
        assert answered(state), "nothing runs before the page has answered"
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", graphs.tools_chat(model, tools))
    builder.add_node("behind", behind)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "behind")
    return builder


def react(model: ScriptedModel, tools: list[BaseTool]) -> Any:
    """The older prebuilt agent, which teams still have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return create_react_agent(model, tools)


class Talk(BaseModel):
    """A state that is no dict."""

    messages: Annotated[list[AnyMessage], add_messages] = []


def typed(model: ScriptedModel, tools: list[BaseTool]) -> Any:
    """A graph whose nodes get a pydantic model."""

    async def agent(state: Talk) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state.messages)]}

    builder = StateGraph(Talk)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder


SHAPES = {
    "an edge": graphs.tools_chat,
    "a task for each call": graphs.sent_tools,
    "create_react_agent": react,
    "create_agent": create_agent,
    "in a subgraph": nested,
    "a pydantic state": typed,
}


async def run(server: Any, body: dict[str, Any]) -> Reader:
    async with server.stream("POST", "/copilotkit", body=body) as reader:
        return await reader.rest()  # type: ignore[no-any-return]


@pytest.mark.parametrize("beside", [True, False], ids=["beside a call of ours", "alone"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_the_pages_tool_runs_and_the_model_waits_for_it(shape: Any, beside: bool, tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    async def search(q: str) -> str:
        """Search."""
        ran.append(q)
        return f"found {q}"

    calls = [call("paint", {"color": "red"}, call_id="page", index=0)]
    if beside:
        calls.append(call("search", {"q": "otters"}, call_id="ours", index=1))
    model = ScriptedModel(turns=[[*calls, finish("tool_calls")], ["All done.", finish()]], strict=True)
    async with stack(tmp_path, agents={"default": lambda: shape(model, [search])}) as server:
        asked = await run(server, run_input(user("paint it", "u1"), tools=[PAINT]))
        results = {one["toolCallId"]: one["content"] for one in asked.events if one["type"] == "TOOL_CALL_RESULT"}
        assert results == ({"ours": "found otters"} if beside else {})
        assert (asked.types[-1], asked.events[-1].get("outcome")) == ("RUN_FINISHED", None)
        assert len(model.seen) == 1
        answer = {"id": "r1", "role": "tool", "toolCallId": "page", "content": "painted"}
        done = await run(server, run_input(user("paint it", "u1"), answer, tools=[PAINT]))
        assert done.text == "All done."
    answered = {one.tool_call_id: one.content for one in model.seen[1] if isinstance(one, ToolMessage)}
    assert answered == {"page": "painted", **results}
    assert ran == (["otters"] if beside else [])


async def test_a_tool_that_neither_side_has_is_still_told_so(tmp_path: Path) -> None:
    @tool
    async def search(q: str) -> str:
        """Search."""
        return q

    model = ScriptedModel(turns=[[call("destroy", {}), finish("tool_calls")], ["Sorry.", finish()]], strict=True)
    async with stack(tmp_path, agents={"default": lambda: graphs.tools_chat(model, [search])}) as server:
        done = await run(server, run_input(user("destroy it"), tools=[PAINT]))
    assert done.text == "Sorry."
    [told] = [one["content"] for one in done.events if one["type"] == "TOOL_CALL_RESULT"]
    assert "destroy is not a valid tool" in told
