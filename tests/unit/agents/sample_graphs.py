"""What a team's module may hold at the end of an import path; the table is in test_registry.py."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from middle_core.agents.dispatch import add_tools
from middle_core.agents.frontend import FrontendState
from middle_core.agents.registry import AgentDeps, AgentSpec
from middle_core.errors import BackendUnavailable

Graph = CompiledStateGraph[Any, Any, Any, Any]


@tool
async def own_tool() -> str:
    """Do it."""
    return "done"


@tool
async def named_tool() -> str:
    """Do it otherwise."""
    return "done"


async def answer(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("hello")]}


def a_graph() -> StateGraph[Any, Any, Any, Any]:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


uncompiled = a_graph()
own_saver = InMemorySaver()
compiled = a_graph().compile(checkpointer=own_saver).with_config(recursion_limit=7)
without_memory = a_graph().compile(checkpointer=False)


def factory() -> Graph:
    return a_graph().compile()


async def async_factory() -> StateGraph[Any, Any, Any, Any]:
    return a_graph()


def with_deps(deps: AgentDeps) -> AgentSpec:
    assert isinstance(deps, AgentDeps)
    return AgentSpec(graph=a_graph(), description="with deps", client_writable=frozenset({"messages"}), tools=[named_tool])


async def async_with_deps(anything: AgentDeps, /) -> AgentSpec:
    assert isinstance(anything, AgentDeps)
    return AgentSpec(graph=a_graph(), description="with deps")


def keyword_deps(*, deps: AgentDeps) -> Graph:
    assert isinstance(deps, AgentDeps)
    return a_graph().compile()


def optional_deps(deps: AgentDeps | None = None, **more: Any) -> Graph:
    assert deps is not None
    return a_graph().compile()


def optional_other(colour: str = "red", *more: Any) -> Graph:
    assert colour == "red"
    return a_graph().compile()


class Builder:
    @staticmethod
    def build() -> Graph:
        return a_graph().compile()


def with_tools() -> AgentSpec:
    inner: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    inner.add_node("old_tools", ToolNode([named_tool]))
    inner.add_edge(START, "old_tools")
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(FrontendState)
    graph.add_node("agent", answer)
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "agent")
    add_tools(graph, [own_tool])
    graph.add_edge("agent", "inner")
    return AgentSpec(graph=graph)


def looping() -> Graph:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState).add_node("model", answer).add_node("tools", ToolNode([named_tool]))
    return graph.add_edge(START, "model").add_edge("tools", "model").add_conditional_edges("model", tools_condition).compile()


number = 42


def returns_nothing() -> None:
    return None


def needs_two(deps: AgentDeps, colour: str) -> Graph:
    raise AssertionError((deps, colour))


def fails() -> Graph:
    raise RuntimeError("postgres://user:hunter2@db")


def crm_url() -> str:
    raise ValueError("MY_CRM_URL is not set")


def lacks_a_setting() -> Graph:
    raise AssertionError(crm_url())


def fails_in_a_library() -> Graph:
    raise AssertionError(json.loads("no JSON"))


class TeamSettings(BaseModel):
    password: int


def refuses_a_value() -> Graph:
    raise AssertionError(TeamSettings.model_validate({"password": "hunter2"}))


def fails_in_words() -> Graph:
    raise BackendUnavailable


def writes_what_is_not_there() -> AgentSpec:
    return AgentSpec(graph=a_graph(), client_writable=frozenset({"approved"}))


def broken_graph() -> StateGraph[Any, Any, Any, Any]:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge("answer", "nowhere")
    return graph
