"""The graph of `benchmarks.cerebras`: one node that asks the simulator, with or without merging of deltas."""

from __future__ import annotations

import os
from typing import Any

from copilotkit import CopilotKitState
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import SecretStr

from middle_core.models.cerebras.model import ChatCerebras


def _builder(model: BaseChatModel) -> StateGraph[Any, Any, Any, Any]:
    async def node(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(CopilotKitState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph


def _model(**options: Any) -> ChatCerebras:
    return ChatCerebras(api_key=SecretStr("csk-benchmark"), base_url=os.environ["BENCH_MODEL_URL"], **options)  # noqa: TID251 - the benchmark's address


def merged() -> StateGraph[Any, Any, Any, Any]:
    """With merging, as the server makes it."""
    return _builder(_model())


def plain() -> StateGraph[Any, Any, Any, Any]:
    """Without merging, one read for each packet."""
    return _builder(_model(frame_s=0))


def stock() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The plain graph, compiled for the SDK's endpoint."""
    return plain().compile(checkpointer=InMemorySaver())
