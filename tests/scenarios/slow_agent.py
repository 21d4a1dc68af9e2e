"""An agent for servers in another process: it counts as slowly as it is asked to, and writes what it does into a file."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from tests.fakes.graphs import Graph, chat, one_node

PACE_S = 0.02


class Counting(BaseChatModel):
    """Answers "count N" with N words, `PACE_S` apart."""

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise TypeError("this model only streams")

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        count = int(str(messages[-1].content).split()[1])
        for number in range(1, count + 1):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"w{number} "))
            await asyncio.sleep(PACE_S)


def build() -> Graph:
    """The graph."""
    return chat(Counting())


def build_blocking() -> Graph:
    """A sync node that blocks its thread for longer than any test waits."""

    def blocks(_state: Any) -> Any:
        threading.Event().wait(600)
        return {}

    return one_node(blocks)


def whole(count: int) -> str:
    """The answer to "count N"."""
    return "".join(f"w{number} " for number in range(1, count + 1))
