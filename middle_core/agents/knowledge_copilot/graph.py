"""The knowledge copilot as a graph: the model decides, tools run as tasks of their own, the model answers.

    START -> agent -> tools -> agent -> ... -> END

The agent node gives the model the server's tools and those of the page, and a history that every provider
accepts. It knows nothing of runs, events or the web.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, StateGraph

from middle_core.agents.answer import answer
from middle_core.agents.calls import for_model
from middle_core.agents.dispatch import add_tools
from middle_core.agents.frontend import frontend_tools, readables
from middle_core.agents.knowledge_copilot.prompts import system_prompt
from middle_core.agents.knowledge_copilot.selection import SELECTED
from middle_core.agents.knowledge_copilot.state import State
from middle_core.agents.knowledge_copilot.tools import knowledge_tools
from middle_core.agents.registry import AgentDeps, AgentSpec

MAX_ROUNDS: Final = 8
"""Rounds of tool calls for one question; after them the model has to answer with what it has."""

RECURSION_LIMIT: Final = 2 * MAX_ROUNDS + 9
"""Supersteps: two a round, and some room. Only a model that calls tools it was not given gets there."""


def build(deps: AgentDeps) -> AgentSpec:
    """The agent for `agents.registry`."""
    tools = knowledge_tools(deps.backend)
    compiled = graph(deps.model, tools).compile().with_config(recursion_limit=RECURSION_LIMIT)
    return AgentSpec(
        graph=compiled,
        description="Answers questions from the team's knowledge base.",
        client_writable=frozenset({SELECTED}),
        tools=tools,
    )


def graph(model: BaseChatModel, tools: Sequence[BaseTool]) -> StateGraph[State, Any, Any, Any]:
    """The graph, not yet compiled."""
    names = {tool.name for tool in tools}
    schemas = [convert_to_openai_tool(tool) for tool in tools]

    async def agent(state: State) -> dict[str, list[AIMessage]]:
        enough = rounds_so_far(state["messages"]) >= MAX_ROUNDS
        prompt = system_prompt(readables(state), answer_now=enough)
        able = model if enough else model.bind_tools([*schemas, *frontend_tools(state, shadowed_by=names)])
        return {"messages": [await answer(able, [SystemMessage(prompt), *for_model(state["messages"])])]}

    made = StateGraph(State)
    made.add_node("agent", agent)
    made.add_edge(START, "agent")
    add_tools(made, tools)
    return made


def rounds_so_far(messages: Sequence[AnyMessage]) -> int:
    """How often the model has asked for tools since the last question."""
    rounds = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        rounds += isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)
    return rounds
