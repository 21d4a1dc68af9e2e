"""`Coalesce`: a wrapper for any chat model that merges its deltas, at most one batch a frame of the screen.

A fast model sends thousands of deltas a second, and every layer above pays for each. A screen shows sixty frames a second.
`Coalesce` gives the same answer in fewer chunks:

    model = Coalesce(inner=ChatOpenAI(model="gpt-4.1-mini"))      # use it like any chat model: bind_tools, astream, ...

The first chunk passes at once. After that, text is joined with text, reasoning with reasoning, and arguments with arguments of the
same call. A chunk that carries anything else (an id, a name, usage, a finish reason, metadata) passes unchanged and in order.

It wraps `_astream`, which is below LangChain's callbacks; a wrapper around `astream` would report every chunk twice. Synchronous
streaming and calls without streaming are not merged.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import count, groupby
from typing import Any, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding, RunnableParallel, RunnableSequence
from pydantic import BaseModel, ConfigDict, Field, model_validator

FRAME_S = 1 / 60
"""Seconds between batches: one frame of a 60 Hz screen."""
LIMIT = 1024
"""The most chunks that wait for the end of a frame. When so many wait they go out early, and the source is read no further until then."""

LABELS = ("model_provider", "output_version")
"""Metadata that some providers repeat on every chunk. They do not keep neighbours with equal values from being joined."""

T = TypeVar("T")
R = TypeVar("R", bound=Runnable[Any, Any])


class Coalesce(BaseChatModel):
    """A chat model that streams as `inner` does, with merged deltas.

    Settings that LangChain itself acts on (callbacks, tags, cache and so on) are taken over from `inner`.

    Args:
        inner: the model to wrap. `Coalesce` owns it: `aclose` closes it too.
        frame_s: seconds between two batches of chunks; 0 merges only what arrives together.
        limit: the most chunks that may wait for the end of a frame.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inner: BaseChatModel
    frame_s: float = Field(default=FRAME_S, ge=0)
    limit: int = Field(default=LIMIT, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _like_inner(cls, values: dict[str, Any]) -> dict[str, Any]:
        inner = values.get("inner")
        if not isinstance(inner, BaseChatModel):
            return values
        shared = {name: getattr(inner, name) for name in BaseChatModel.model_fields if name in inner.model_fields_set}
        if not _streams(inner) or inner._streaming_disabled():  # noqa: SLF001 - the check that LangChain itself makes
            shared["disable_streaming"] = True
        return {"name": inner.get_name(), **shared, **values}

    @property
    def model_name(self) -> str:
        """The name of `inner`'s model, or of its class."""
        return str(getattr(self.inner, "model_name", None) or getattr(self.inner, "model", None) or type(self.inner).__name__)

    @property
    def _llm_type(self) -> str:
        return self.inner._llm_type  # noqa: SLF001 - LangChain's chat models are subclassed by underscored methods; a wrapper has to call them

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.inner._identifying_params)  # noqa: SLF001 - as above

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return self.inner._get_ls_params(stop=stop, **kwargs)  # noqa: SLF001 - as above

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        source = self.inner._astream(messages, stop=stop, **kwargs)  # noqa: SLF001 - as above
        async with aclosing(coalesced(source, frame_s=self.frame_s, limit=self.limit)) as chunks:
            async for chunk in chunks:
                if run_manager:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await self.inner._agenerate(messages, stop, run_manager, **kwargs)  # noqa: SLF001 - as above

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from self.inner._stream(messages, stop, run_manager, **kwargs)  # noqa: SLF001 - as above

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self.inner._generate(messages, stop, run_manager, **kwargs)  # noqa: SLF001 - as above

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """What `inner.bind_tools` returns, with this model in the place of `inner`."""
        return self._in_place_of_inner(self.inner.bind_tools(tools, tool_choice=tool_choice, **kwargs))

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """What `inner.with_structured_output` returns, with this model in the place of `inner`."""
        return self._in_place_of_inner(self.inner.with_structured_output(schema, include_raw=include_raw, **kwargs))

    def _in_place_of_inner(self, runnable: R) -> R:
        """The runnable with `inner` replaced by this model. It knows the shapes that LangChain's models build."""
        if runnable is self.inner:
            return cast("R", self)
        if isinstance(runnable, RunnableBinding):
            return cast("R", runnable.model_copy(update={"bound": self._in_place_of_inner(runnable.bound)}))
        if isinstance(runnable, RunnableSequence):
            return cast("R", RunnableSequence(*map(self._in_place_of_inner, runnable.steps), name=runnable.name))
        if isinstance(runnable, RunnableParallel):
            return cast("R", RunnableParallel({key: self._in_place_of_inner(step) for key, step in runnable.steps__.items()}))
        return runnable

    async def aclose(self) -> None:
        """Close `inner`, if it has something to close."""
        if close := getattr(self.inner, "aclose", None):
            await close()


def _streams(model: BaseChatModel) -> bool:
    kind = type(model)
    return kind._astream is not BaseChatModel._astream or kind._stream is not BaseChatModel._stream  # noqa: SLF001 - the test that LangChain itself makes


async def coalesced(
    source: AsyncIterator[ChatGenerationChunk], *, frame_s: float = FRAME_S, limit: int = LIMIT
) -> AsyncGenerator[ChatGenerationChunk, None]:
    """The chunks of `source`, merged. See `batches` for the arguments."""
    async with aclosing(batches(source, _is_visible, frame_s=frame_s, limit=limit)) as found:
        async for batch in found:
            for chunk in merged(batch):
                yield chunk


async def batches(
    source: AsyncIterator[T], is_visible: Callable[[T], bool], *, frame_s: float = FRAME_S, limit: int = LIMIT
) -> AsyncGenerator[list[T], None]:
    """The items of `source` in batches. The first visible item comes at once, then at most one batch every `frame_s` seconds.

    Items that arrived before the source failed are yielded before its error is raised. Whenever this generator is closed, the
    source is closed and the task that reads it has ended.

    Args:
        source: the items.
        is_visible: whether a person would see something of an item. Only a visible item starts the clock: an empty opening chunk
            would otherwise delay the first word by a frame.
        frame_s: seconds between batches.
        limit: the most items that are held. When so many wait, the source is not read further.
    """
    loop = asyncio.get_running_loop()
    waiting: deque[T] = deque()
    arrived, hurry, room = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def read() -> None:
        try:
            async for item in source:
                waiting.append(item)
                if not arrived.is_set():
                    arrived.set()
                    await asyncio.sleep(0)  # lets the reader take the first item, even if the source never pauses
                if len(waiting) >= limit:
                    hurry.set()
                    room.clear()
                    await room.wait()
        finally:
            if close := getattr(source, "aclose", None):
                await close()

    def over(_: asyncio.Task[None]) -> None:
        arrived.set()
        hurry.set()

    # No TaskGroup: it may not span a `yield`, because the task that closes this generator need not be the one that entered the group.
    reader = asyncio.create_task(read())  # noqa: TID251 - owned by the `finally` below
    reader.add_done_callback(over)  # not in `read`: a task that is cancelled before its first step never enters it
    due = loop.time()
    try:
        while True:
            await arrived.wait()
            await _until(due, hurry)
            arrived.clear()
            hurry.clear()
            batch = list(waiting)
            waiting.clear()
            room.set()
            if any(map(is_visible, batch)):
                due = loop.time() + frame_s
            if batch:
                yield batch
            if reader.done() and not waiting:
                break
        await reader
    finally:
        reader.cancel()
        await asyncio.wait([reader])
        if not reader.cancelled():
            reader.exception()  # marks it as retrieved: it was raised above, or the consumer left and does not need it


async def _until(due: float, hurry: asyncio.Event) -> None:
    """Wait for the loop's time `due`, or for `hurry`. `asyncio.timeout` would raise an exception through this code at every frame."""
    loop = asyncio.get_running_loop()
    if due > loop.time():
        timer = loop.call_at(due, hurry.set)
        try:
            await hurry.wait()
        finally:
            timer.cancel()


def merged(chunks: Iterable[ChatGenerationChunk]) -> Iterator[ChatGenerationChunk]:
    """Neighbours of one kind joined, all others unchanged. The sum of the result equals the sum of `chunks`."""
    unlike = count()
    for key, group in groupby(chunks, key=lambda chunk: _kind(chunk) or (next(unlike),)):
        first, *rest = group
        yield _joined(key, [first, *rest]) if rest else first


def _kind(chunk: ChatGenerationChunk) -> tuple[Any, ...] | None:
    """The chunk's kind: it may be joined with chunks of an equal kind. None means that it may not be joined."""
    message = chunk.message
    if type(message) is not AIMessageChunk or chunk.generation_info or message.usage_metadata or message.name or message.chunk_position:
        return None
    metadata, extra, calls, content = message.response_metadata, message.additional_kwargs, message.tool_call_chunks, message.content
    if not isinstance(content, str) or metadata.keys() - set(LABELS):
        return None
    same = (message.id, *map(metadata.get, LABELS))
    if calls:
        call = calls[0]
        bare = len(calls) == 1 and not (content or extra or call["id"] or call["name"]) and call["index"] is not None
        return ("args", *same, call["index"]) if bare else None
    if extra:
        only_thought = extra.keys() == {"reasoning_content"} and isinstance(extra["reasoning_content"], str) and not content
        return ("thought", *same) if only_thought else None
    return ("text", *same) if content else None


def _joined(kind: tuple[Any, ...], chunks: Sequence[ChatGenerationChunk]) -> ChatGenerationChunk:
    messages = [cast("AIMessageChunk", chunk.message) for chunk in chunks]
    first = messages[0]
    metadata = dict(first.response_metadata)
    match kind[0]:
        case "text":
            joined = AIMessageChunk(content="".join(cast("str", m.content) for m in messages), id=first.id, response_metadata=metadata)
        case "thought":
            thought = "".join(m.additional_kwargs["reasoning_content"] for m in messages)
            joined = AIMessageChunk(content="", id=first.id, additional_kwargs={"reasoning_content": thought}, response_metadata=metadata)
        case _:
            args = "".join(m.tool_call_chunks[0]["args"] or "" for m in messages)
            call = tool_call_chunk(args=args, index=kind[-1])
            joined = AIMessageChunk(content="", id=first.id, tool_call_chunks=[call], response_metadata=metadata)
    return ChatGenerationChunk(message=joined)


def _is_visible(chunk: ChatGenerationChunk) -> bool:
    """Whether a person would see something of the chunk."""
    message = chunk.message
    return bool(message.content or message.additional_kwargs or getattr(message, "tool_call_chunks", None))
