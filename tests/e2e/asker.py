"""A team's own graph that asks with LangGraph's `interrupt()` and repeats the answer as JSON."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

QUESTIONS: dict[str, Any] = {
    "words": "What <b>colour</b>\u202e shall it be?",
    "choices": {"question": "How many?", "options": [0, "", False, None, 2, {"label": "A pair", "value": {"of": "shoes"}}]},
    "data": {"action": {"name": "send", "args": {"to": "<img src=x onerror=alert(1)>", "at": [8, 30]}}, "note": "x" * 400},
    "number": {"question": "How old?", "responseSchema": {"type": "integer"}},
}


async def ask(state: MessagesState) -> dict[str, Any]:
    order = str(state["messages"][-1].content)
    if order not in QUESTIONS:
        return {"messages": [AIMessage("I ask, you answer.")]}
    answer = interrupt(QUESTIONS[order])
    if isinstance(answer, dict) and answer.get("__agui_cancelled__"):
        return {"messages": [AIMessage("Cancelled, then.")]}
    return {"messages": [AIMessage(f"Got {json.dumps(answer)}.")]}


def build() -> StateGraph[Any, Any, Any, Any]:
    """The graph."""
    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph
