"""The graph that every server runs in the measurements: one node, and a model that streams at any pace.

The question says what to stream: `N` words, or `N@R`: N words at R a second. The model writes down when its stream ended, by the
machine's monotonic clock. All processes share that clock, so another process can time a stop.
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
    """A model that streams words."""

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
            # The stream was cancelled while it waited, or closed because its reader was cancelled. Either would close a provider's stream.
            closed = time.monotonic()
            path = os.environ.get(CLOSED_FILE)  # noqa: TID251 - a benchmark's own switch
            if path and not whole:
                with Path(path).open("a", encoding="utf-8") as file:
                    file.write(f"{closed}\n")


def builder() -> StateGraph[Any, Any, Any, Any]:
    """The graph, not compiled, because middle-core binds its own checkpointer."""

    async def node(state: Any) -> dict[str, Any]:
        return {"messages": [await Words().ainvoke(state["messages"])]}

    graph = StateGraph(CopilotKitState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph


def compiled() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph for the SDK's own endpoint, with the saver in memory, which is the fastest saver."""
    return builder().compile(checkpointer=InMemorySaver())
