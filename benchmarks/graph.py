"""The graph that is measured, the same for every server: one node, a model that streams at any pace.

The question says what to stream: `N` words, or `N@R` words at R a second. What became of a stream is written down with
the machine's monotonic clock, which all processes share, so that a stop can be timed from outside.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from copilotkit import CopilotKitState
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

CLOSED_FILE = "BENCH_CLOSED_FILE"


class Words(BaseChatModel):
    """Streams words."""

    @property
    def _llm_type(self) -> str:
        return "words"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise TypeError("this model only streams")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        count, _, rate = str(messages[-1].content).partition("@")
        pause = 1 / float(rate) if rate else 0.0
        whole = False
        try:
            for number in range(int(count)):
                yield ChatGenerationChunk(message=AIMessageChunk(content=f"w{number} "))
                if pause:
                    await asyncio.sleep(pause)
            whole = True
        finally:
            # Cancelled while it waited, or closed while its reader was cancelled: both are the end of a provider's stream.
            closed = time.monotonic()
            path = os.environ.get(CLOSED_FILE)  # noqa: TID251 - a benchmark's own switch
            if path and not whole:
                with Path(path).open("a", encoding="utf-8") as file:
                    file.write(f"{closed}\n")


def builder() -> StateGraph[Any, Any, Any, Any]:
    """The graph, not compiled: middle-core binds its own checkpointer."""

    async def node(state: Any) -> dict[str, Any]:
        return {"messages": [await Words().ainvoke(state["messages"])]}

    graph = StateGraph(CopilotKitState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph


def compiled() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph as the SDK's own endpoint gets it: with the saver in memory, the fastest there is."""
    return builder().compile(checkpointer=InMemorySaver())
