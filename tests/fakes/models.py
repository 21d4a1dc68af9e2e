"""Scripted chat models: a test says what the model streams, and when.

`ScriptedModel(turns=[[...], [...]])` answers call n with turn n. A turn is a list of items:

- `str`: a text delta; `AIMessageChunk`: streamed as it is (see `call`, `args`, `finish`);
- `asyncio.Event`: wait until the test sets it, so that the test decides when the model goes on;
- an exception: raised there.

`seen` holds the messages of each call, `bound` its tools and other arguments, `ended` how each stream
ended: "end", "cancelled", "closed" (the consumer went away) or "error". `strict=True` refuses invalid
histories like a real provider does (`complaints`). `streams=False` makes a model that cannot stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

Item = str | AIMessageChunk | asyncio.Event | Exception


class BadHistory(Exception):
    """What a real provider answers with HTTP 400."""


def complaints(messages: Sequence[BaseMessage]) -> list[str]:
    """What a strict provider (OpenAI, Cerebras, Anthropic taken together) would refuse in this history."""
    bad: list[str] = []
    open_calls: list[str] = []
    answered: set[str] = set()
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id in answered:
                bad.append(f"{at}: a second result for {message.tool_call_id!r}")
            elif message.tool_call_id not in open_calls:
                bad.append(f"{at}: a result for {message.tool_call_id!r}, which is not called right before")
            else:
                open_calls.remove(message.tool_call_id)
                answered.add(message.tool_call_id)
            continue
        if open_calls:
            bad.append(f"{at}: calls without a result: {open_calls}")
        open_calls, answered = [], set()
        if isinstance(message, SystemMessage) and any(not isinstance(m, SystemMessage) for m in messages[:at]):
            bad.append(f"{at}: a system message in the middle")
        if isinstance(message, AIMessage):
            if message.invalid_tool_calls:
                bad.append(f"{at}: tool calls whose arguments are no JSON object")
            ids = [str(one["id"]) for one in message.tool_calls]
            if len(set(ids)) != len(ids) or "" in ids or "None" in ids:
                bad.append(f"{at}: tool call ids missing or not unique: {ids}")
            if any(not one["name"] for one in message.tool_calls):
                bad.append(f"{at}: a tool call without a name")
            if not ids and not message.content:
                bad.append(f"{at}: an assistant message with nothing in it")
            open_calls = ids
    if open_calls:
        bad.append(f"end: calls without a result: {open_calls}")
    return bad


class ScriptedModel(BaseChatModel):
    """See the module's docstring."""

    turns: list[list[Any]]
    strict: bool = False
    streams: bool = True
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[dict[str, Any]] = Field(default_factory=list)
    ended: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    def _next(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> list[Item]:
        self.seen.append(list(messages))
        self.bound.append(kwargs)
        if self.strict and (bad := complaints(messages)):
            raise BadHistory("; ".join(bad))
        if len(self.seen) > len(self.turns):
            raise AssertionError(f"The script has {len(self.turns)} turns; this is call {len(self.seen)}.")
        return self.turns[len(self.seen) - 1]

    def _should_stream(self, **kwargs: Any) -> bool:
        return self.streams and super()._should_stream(**kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        how = "error"
        try:
            for item in self._next(messages, kwargs):
                if isinstance(item, asyncio.Event):
                    await item.wait()
                else:
                    yield _chunk(item)
            how = "end"
        except asyncio.CancelledError:
            how = "cancelled"
            raise
        except GeneratorExit:
            how = "closed"
            raise
        finally:
            self.ended.append(how)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for item in self._next(messages, kwargs):
            if not isinstance(item, asyncio.Event):
                yield _chunk(item)
        self.ended.append("end")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _whole(list(self._stream(messages, stop, None, **kwargs)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _whole([one async for one in self._astream(messages, stop, None, **kwargs)])


def _chunk(item: str | AIMessageChunk | Exception) -> ChatGenerationChunk:
    if isinstance(item, Exception):
        raise item
    # A copy: the layers above write ids into chunks, and a script is used more than once.
    message = AIMessageChunk(content=item) if isinstance(item, str) else item.model_copy(deep=True)
    return ChatGenerationChunk(message=message)


def _whole(chunks: list[ChatGenerationChunk]) -> ChatResult:
    message = chunks[0].message
    for one in chunks[1:]:
        message = message + one.message
    assert isinstance(message, AIMessageChunk)
    whole = AIMessage(
        content=message.content,
        id=message.id,
        tool_calls=message.tool_calls,
        invalid_tool_calls=message.invalid_tool_calls,
        usage_metadata=message.usage_metadata,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
    )
    return ChatResult(generations=[ChatGeneration(message=whole)])


# Items ---------------------------------------------------------------------------------------------


def call(
    name: str | None, arguments: dict[str, Any] | str = "", *, call_id: str | None = "call_1", index: int | None = 0, content: str = ""
) -> AIMessageChunk:
    """A chunk that opens a tool call: with all of its arguments, some, or none (`args` brings the rest)."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return AIMessageChunk(
        content=content, tool_call_chunks=[{"name": name, "args": text, "id": call_id, "index": index, "type": "tool_call_chunk"}]
    )


def args(text: str, *, index: int | None = 0, call_id: str | None = None) -> AIMessageChunk:
    """A chunk that brings more arguments for the call at `index`."""
    return AIMessageChunk(
        content="", tool_call_chunks=[{"name": None, "args": text, "id": call_id, "index": index, "type": "tool_call_chunk"}]
    )


def finish(reason: str = "stop", *, content: str = "", tokens_in: int = 3, tokens_out: int = 5) -> AIMessageChunk:
    """The last chunk of a provider: finish reason and usage."""
    return AIMessageChunk(
        content=content,
        response_metadata={"finish_reason": reason, "model_name": "scripted-1"},
        usage_metadata={"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out},
    )
