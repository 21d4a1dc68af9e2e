"""An agent whose subgraph says something and then asks, beside a note that it emits and does not return."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from middle_core.emit import emit_message
from tests.scenarios.slow_agent import Counting

NOTE = "I look at the offers."
OFFERS = "These are the offers: A, B and C."


async def note(state: Any) -> Any:
    """Emit a message that no thread holds."""
    await emit_message(NOTE)
    return {}


async def say(state: Any) -> Any:
    """Say the offers."""
    return {"messages": [AIMessage(OFFERS)]}


async def ask(state: Any) -> Any:
    """Ask, then count as far as the answer says, in the words of `slow_agent`."""
    if any("never mind" in str(one.content) for one in state["messages"]):
        return {"messages": [AIMessage(" / ".join(str(one.content) for one in state["messages"][:-1]))]}
    return {"messages": [await Counting().ainvoke([HumanMessage(f"count {interrupt('How many?')}")])]}


async def count(state: Any) -> Any:
    """Count for a while, so that a test can kill the server meanwhile."""
    return {"messages": [await Counting().ainvoke([HumanMessage("count 60")])]}


def build_slow() -> StateGraph[Any, Any, Any, Any]:
    """note -> say -> count -> ask, likewise."""
    return nested(note, say, count, ask)


def build() -> StateGraph[Any, Any, Any, Any]:
    """note -> say -> ask, in a subgraph of a subgraph."""
    return nested(note, say, ask)


def nested(*nodes: Any) -> StateGraph[Any, Any, Any, Any]:
    """The nodes one after the other, in a subgraph of a subgraph."""
    inner = StateGraph(MessagesState)
    inner.add_sequence(nodes)
    inner.add_edge(START, nodes[0].__name__)
    middle = StateGraph(MessagesState)
    middle.add_node("inner", inner.compile())
    middle.add_edge(START, "inner")
    outer = StateGraph(MessagesState)
    outer.add_node("middle", middle.compile())
    outer.add_edge(START, "middle")
    return outer
