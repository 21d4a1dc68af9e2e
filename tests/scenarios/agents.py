"""Agents for scenarios, made of the parts that teams use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import START, StateGraph

from middle_core.agents.dispatch import add_tools
from middle_core.agents.knowledge_copilot.state import State


def tool_agent(model: BaseChatModel, tools: Sequence[BaseTool]) -> StateGraph[Any, Any, Any, Any]:
    """A model that may call tools, each call as its own task."""

    async def agent(state: Any) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    graph = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    add_tools(graph, tools)
    return graph
