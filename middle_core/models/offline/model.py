"""The chat model for machines without a key: no network, but the same tool calls and the same streaming as any other model.

It picks a tool by plain rules, then answers with quotations of what the tool found. The same conversation gives the same words;
only the ids of tool calls are random. `answers` decides what it writes. This module is the LangChain model around that.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from middle_core.models.offline.answers import Ask, Say, next_step

ARGUMENT_PIECE_CHARS = 12


class OfflineModel(BaseChatModel):
    """A model that streams one word after another.

    Args:
        words_per_second: the pace of streaming; 0 is as fast as possible.
        on_stream_end: called when a stream is over, with "finished", or with "stopped" if its reader left or was cancelled.
    """

    model_name: str = "offline"
    words_per_second: float = Field(default=80.0, ge=0)
    on_stream_end: Callable[[Literal["finished", "stopped"]], None] | None = Field(default=None, exclude=True, repr=False)

    @property
    def _llm_type(self) -> str:
        return "middle-core-offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """This model with tools. A tool without a rule in `answers` is never called; `tool_choice="none"` forbids them all."""
        schemas = [] if tool_choice == "none" else [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        chunks = list(_chunks(messages, kwargs.get("tools") or (), stop))
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole = whole + chunk
        message = AIMessage(
            content=whole.content,
            tool_calls=whole.tool_calls,
            usage_metadata=whole.usage_metadata,
            response_metadata=whole.response_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        """Stream without a pace: no person watches a synchronous call."""
        for message in _chunks(messages, kwargs.get("tools") or (), stop):
            yield ChatGenerationChunk(message=message)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        outcome: Literal["finished", "stopped"] = "stopped"
        pause = 1 / self.words_per_second if self.words_per_second else 0.0
        try:
            for message in _chunks(messages, kwargs.get("tools") or (), stop):
                await asyncio.sleep(pause)  # at pace 0 too, so that a stop can take effect between two words
                yield ChatGenerationChunk(message=message)
            outcome = "finished"
        finally:
            if self.on_stream_end:
                self.on_stream_end(outcome)


def _chunks(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]], stop: Sequence[str] | None) -> Iterator[AIMessageChunk]:
    """The answer in pieces: words, or the parts of a tool call, and last the usage and the finish reason."""
    step = next_step(messages, frozenset(tool["function"]["name"] for tool in tools if "function" in tool))
    match step:
        case Say(text):
            text = _until(text, stop or ())
            written = text
            for word in re.findall(r"\S+\s*|\s+", text):
                yield AIMessageChunk(content=word)
        case Ask(tool, arguments):
            written = json.dumps(arguments, ensure_ascii=False)
            yield AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name=tool, args="", id=f"call_{uuid.uuid4().hex}", index=0)])
            for start in range(0, len(written), ARGUMENT_PIECE_CHARS):
                piece = written[start : start + ARGUMENT_PIECE_CHARS]
                yield AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name=None, args=piece, id=None, index=0)])
    read, wrote = sum(_tokens(message.text) for message in messages), _tokens(written)
    yield AIMessageChunk(
        content="",
        usage_metadata=UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote),
        response_metadata={"model_name": "offline", "finish_reason": "tool_calls" if isinstance(step, Ask) else "stop"},
        chunk_position="last",
    )


def _until(text: str, stop: Sequence[str]) -> str:
    places = [at for word in stop if word and (at := text.find(word)) >= 0]
    return text[: min(places, default=len(text))]


def _tokens(text: str) -> int:
    """An estimate: about four characters to a token."""
    return -(-len(text) // 4)
