"""An agent for servers in another process: it says what it is told to, and is silent where it is told to.

"a b ~2 c" is answered with "a b ", two seconds of silence, and "c ".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from tests.fakes.graphs import Graph, chat

PATH = "default=tests.integration.agent:build"


class Reciting(BaseChatModel):
    """See the module's docstring."""

    @property
    def _llm_type(self) -> str:
        return "reciting"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise TypeError("this model only streams")

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in str(messages[-1].content).split():
            if word.startswith("~"):
                await asyncio.sleep(float(word[1:]))
            else:
                yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


def build() -> Graph:
    """The graph."""
    return chat(Reciting())
