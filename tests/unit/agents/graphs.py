"""Small real graphs for the tests of the dispatch: a scripted agent node and the tools node under test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from middle_core.agents.dispatch import add_tools
from middle_core.agents.frontend import FrontendState

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


def calls(*asked: tuple[str, str, dict[str, Any]], **more: Any) -> AIMessage:
    """An assistant message that asks for tools: (id, name, arguments)."""
    return AIMessage("", tool_calls=[{"id": i, "name": n, "args": a, "type": "tool_call"} for i, n, a in asked], **more)


def graph_of(
    tools: Sequence[BaseTool],
    *script: AIMessage,
    state: type = FrontendState,
    saver: BaseCheckpointSaver[str] | None = None,
    seen: list[list[AnyMessage]] | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph whose agent says the script's messages one after the other, counted from the last human message."""

    async def agent(state: Any) -> dict[str, Any]:
        if seen is not None:
            seen.append(list(state["messages"]))
        said = sum(isinstance(m, AIMessage) for m in state["messages"])
        message = script[said] if said < len(script) else AIMessage("the end")
        return {"messages": [message.model_copy(update={"id": message.id or f"ai-{said}"})]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    add_tools(graph, tools)
    return graph.compile(checkpointer=saver or InMemorySaver())


def human(text: str = "go") -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def results(state: dict[str, Any]) -> dict[str, ToolMessage]:
    """The tool messages by call id; asserts that there is one each."""
    messages = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    found = {m.tool_call_id: m for m in messages}
    assert len(found) == len(messages), "a call has two results"
    return found
