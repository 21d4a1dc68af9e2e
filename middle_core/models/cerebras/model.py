"""The chat model on Cerebras: LangChain's `BaseChatModel` over the async client of `cerebras-cloud-sdk`.

Every call streams, also `invoke`: there is one path to keep right. It retries by itself, bounded and only before the first
token, and it raises the errors of `middle_core.errors` only. What the format looks like is `cerebras_wire`'s, what a fault
means is `cerebras_errors`'s. It reads no environment, and it never sees who is asking: a request carries the server's key,
the messages and the parameters, and a short list of headers.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Literal, TypeVar

import httpx
from cerebras.cloud.sdk import AsyncCerebras
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.output_parsers.base import OutputParserLike
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PrivateAttr, SecretStr

from middle_core.errors import ModelError, ModelRateLimited
from middle_core.models.cerebras.errors import FAULTS, is_transient, translate
from middle_core.models.cerebras.stream import exchange
from middle_core.models.cerebras.wire import Answer, Json, shows, traits_of, wire_messages, wire_tool_choice, wire_tools
from middle_core.models.coalesce import FRAME_S, batches, merged

log = logging.getLogger(__name__)
T = TypeVar("T")

DEFAULT_MODEL = "gpt-oss-120b"
"""A production model of the shared service with tool calling, reasoning and structured output."""
DEFAULT_BASE_URL = "https://api.cerebras.ai"

HEADERS = frozenset({"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent"})
"""All that leaves this machine beside the body. The SDK adds machine details and, from CEREBRAS_CUSTOM_HEADERS, anything."""

FIRST_BACKOFF_S = 0.25
MAX_BACKOFF_S = 8.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model has no capacity now; the call goes on by itself after `seconds`."""

    reason: Literal["rate_limited", "unavailable"]
    seconds: float
    attempt: int
    """Which attempt failed, from 1."""


OnWait = Callable[[Waiting], Awaitable[None]]


class ChatCerebras(BaseChatModel):
    """A chat model of Cerebras.

    Raises `ModelRateLimited`, `ModelUnavailable`, `ModelContextTooLong`, `ModelBadRequest`, `ModelStreamCut`, with the
    provider's own error as the cause, and `InvalidRequest` for an attachment that the model cannot read.
    """

    model_config = ConfigDict(populate_by_name=True)

    model: str = Field(default=DEFAULT_MODEL, validation_alias=AliasChoices("model", "model_name"))
    api_key: SecretStr
    base_url: str = DEFAULT_BASE_URL

    max_tokens: int = Field(default=8192, gt=0, validation_alias=AliasChoices("max_tokens", "max_completion_tokens"))
    """Sent as `max_completion_tokens`, always: the service reserves this much of the minute's tokens when it admits a request,
    and everything the context has room for if it is not set (elizaOS/eliza#8839)."""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: list[str] | None = Field(default=None, validation_alias=AliasChoices("stop", "stop_sequences"), max_length=4)
    reasoning_effort: Literal["none", "low", "medium", "high"] | None = None
    """Left out for a model that does not take the value."""
    streaming: bool = True

    timeout: float = Field(default=60.0, gt=0)
    """Seconds of silence after which the connection counts as dead."""
    connect_timeout: float = Field(default=5.0, gt=0)
    frame_s: float = Field(default=FRAME_S, ge=0)
    """Seconds for which arriving tokens are collected: into one chunk, and before the socket is read again. Never before the first.
    0: read every packet, and nothing is joined."""
    max_retries: int = Field(default=4, ge=0)
    max_wait_s: float = Field(default=20.0, ge=0)
    """No retry starts later than this after the call began; a longer wait is the caller's to decide (`retry_after`)."""
    on_wait: OnWait | None = Field(default=None, exclude=True, repr=False)
    """Awaited before each wait for capacity; the place to tell the person."""

    _client: tuple[asyncio.AbstractEventLoop, AsyncCerebras] | None = PrivateAttr(default=None)
    _left_out: set[str] = PrivateAttr(default_factory=set)

    @property
    def model_name(self) -> str:
        """The model's name, under the other name that LangChain looks for."""
        return self.model

    @property
    def _llm_type(self) -> str:
        return "cerebras-chat"

    @property
    def _identifying_params(self) -> Json:
        return {"model": self.model, "base_url": self.base_url, "max_tokens": self.max_tokens, "temperature": self.temperature}

    # --- what LangChain calls ----------------------------------------------------------------------------------------

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with aclosing(self._answer(self._shared_client(), self._body(messages, stop, kwargs))) as answer:
            async for messages_of_frame in answer:
                for chunk in merged([ChatGenerationChunk(message=message) for message in messages_of_frame]):
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
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for message in _synchronously(self._one_off(self._body(messages, stop, kwargs))):
            chunk = ChatGenerationChunk(message=message)
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def bind_tools(
        self,
        tools: Sequence[Json | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | bool | Json | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools in any of LangChain's shapes. `tool_choice`: "auto", "none", "any" or a tool's name; ValueError for another."""
        wire = [convert_to_openai_tool(tool, strict=kwargs.get("strict")) for tool in tools]
        kwargs.pop("strict", None)
        choice = wire_tool_choice(tool_choice, [tool["function"]["name"] for tool in wire])
        return self.bind(tools=wire, **({} if choice is None else {"tool_choice": choice}), **kwargs)

    def with_structured_output(
        self,
        schema: Json | type,
        *,
        include_raw: bool = False,
        method: Literal["function_calling", "json_schema", "json_mode"] = "function_calling",
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Json | BaseModel]:
        """Answers in the shape of `schema`: by a forced tool call (default), by constrained decoding, or as free JSON."""
        if method == "function_calling":
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        traced = {"ls_structured_output_format": {"kwargs": {"method": method}, "schema": schema}}
        if method == "json_mode":
            model = self.bind(response_format={"type": "json_object"}, **traced)
        else:
            wanted = convert_to_json_schema(schema, strict=strict is not False)
            json_schema = {"name": wanted.get("title", "answer"), "strict": strict is not False, "schema": wanted}
            model = self.bind(response_format={"type": "json_schema", "json_schema": json_schema}, **traced)
        is_pydantic = isinstance(schema, type) and issubclass(schema, BaseModel)
        parser: OutputParserLike[Any] = PydanticOutputParser(pydantic_object=schema) if is_pydantic else JsonOutputParser()
        if not include_raw:
            return model | parser
        parsed = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
        unparsed = RunnablePassthrough.assign(parsed=lambda _: None)
        return RunnableMap(raw=model) | parsed.with_fallbacks([unparsed], exception_key="parsing_error")

    # --- the request -------------------------------------------------------------------------------------------------

    def _body(self, messages: list[BaseMessage], stop: list[str] | None, options: Json) -> Json:
        """The request's body: what the model takes of our settings and of the call's own options, which win."""
        model = options.get("model") or self.model
        traits = traits_of(model)
        settings = {name: getattr(self, name) for name in ("temperature", "top_p", "seed", "reasoning_effort")}
        tokens = options.get("max_completion_tokens") or options.get("max_tokens") or self.max_tokens
        aliases = {"model", "max_tokens", "stream"}
        wanted = {
            **settings,
            **{k: v for k, v in options.items() if k not in aliases},
            "max_completion_tokens": tokens,
            "stop": stop or self.stop,
        }
        if wanted.get("tools"):
            wanted["tools"] = wire_tools(wanted["tools"], traits)
        body = {name: value for name, value in wanted.items() if value not in (None, []) and traits.takes(name, value)}
        left_out = {name for name, value in wanted.items() if value not in (None, [])} - body.keys() - self._left_out
        if left_out:
            self._left_out |= left_out
            log.warning("The model %s does not take %s: left out.", model, ", ".join(sorted(left_out)))
        return {"model": model, "messages": wire_messages(messages, traits), **body}

    async def _answer(self, client: AsyncCerebras, body: Json) -> AsyncGenerator[list[AIMessageChunk], None]:
        """The answer's chunks, those of a frame together. Waits and asks again while nothing was shown, the fault may pass and the time allows."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.max_wait_s
        attempt = 1
        while True:
            answer = Answer(model=body["model"])
            try:
                frames = exchange(client, body, answer, self.frame_s)
                found = batches(frames, shows, frame_s=self.frame_s) if self.frame_s else _singly(frames)
                async with aclosing(found):
                    async for batch in found:
                        yield list(answer.chunks(frame for frame in batch if frame is not None))
                        if batch[-1] is None:
                            yield [answer.last()]
            except FAULTS as fault:
                error = translate(fault)
                delay = error.retry_after if error.retry_after is not None else _backoff(attempt)
                late = clock() + delay > deadline
                if answer.begun or late or attempt > self.max_retries or not is_transient(fault):
                    raise error from fault
                log.info("The model is not available (%s), attempt %d; waiting %.1f s.", error.code, attempt, delay)
            else:
                return
            await self._wait(error, delay, attempt)
            attempt += 1

    async def _wait(self, error: ModelError, delay: float, attempt: int) -> None:
        if self.on_wait:
            reason: Literal["rate_limited", "unavailable"] = "rate_limited" if isinstance(error, ModelRateLimited) else "unavailable"
            await self.on_wait(Waiting(reason=reason, seconds=delay, attempt=attempt))
        await asyncio.sleep(delay)

    # --- the client --------------------------------------------------------------------------------------------------

    def _shared_client(self) -> AsyncCerebras:
        """The client of the running event loop, so that calls share warm connections. `aclose` closes it."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            self._client = (loop, self._new_client())
        return self._client[1]

    def _new_client(self) -> AsyncCerebras:
        key = self.api_key.get_secret_value()

        async def only_ours(request: httpx.Request) -> None:
            for name in set(request.headers) - HEADERS:
                del request.headers[name]
            request.headers["authorization"] = f"Bearer {key}"
            request.headers["accept-encoding"] = "identity"  # whoever compresses a stream may hold it back

        http = httpx.AsyncClient(
            verify=_trusted_authorities(),
            timeout=httpx.Timeout(self.timeout, connect=self.connect_timeout, pool=self.connect_timeout),
            limits=httpx.Limits(max_connections=1000, max_keepalive_connections=100),
            event_hooks={"request": [only_ours]},
        )
        return AsyncCerebras(
            api_key=key, base_url=self.base_url, timeout=http.timeout, max_retries=0, http_client=http, warm_tcp_connection=False
        )

    async def _one_off(self, body: Json) -> AsyncGenerator[AIMessageChunk, None]:
        async with self._new_client() as client, aclosing(self._answer(client, body)) as answer:
            async for chunks in answer:
                for chunk in chunks:
                    yield chunk

    async def aclose(self) -> None:
        """Close the pooled connections. The model can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None and client[0] is asyncio.get_running_loop():
            await client[1].close()


async def _singly(items: AsyncGenerator[T, None]) -> AsyncGenerator[list[T], None]:
    async with aclosing(items):
        async for item in items:
            yield [item]


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """Read once a process: it takes longer than the request that a one-off client is for."""
    return httpx.create_ssl_context()


def _backoff(attempt: int) -> float:
    """Seconds before the next attempt where the provider names none: doubling, with jitter so that a crowd spreads out."""
    step: float = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** (attempt - 1))
    return step * random.uniform(0.75, 1.25)  # noqa: S311 - spreads load, guards nothing


def _synchronously(chunks: AsyncGenerator[T, None]) -> Iterator[T]:
    """An async generator from synchronous code: in a thread with its own event loop, so it works where a loop runs already."""

    async def step() -> T | None:
        return await anext(chunks, None)

    context = copy_context()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="cerebras-sync") as thread:
        runner = asyncio.Runner()
        try:
            while (item := thread.submit(runner.run, step(), context=context).result()) is not None:
                yield item
        finally:
            thread.submit(runner.close).result()  # closes the generator, and with it the request
