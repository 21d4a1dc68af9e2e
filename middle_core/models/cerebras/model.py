"""The chat model on Cerebras: LangChain's `BaseChatModel` over the async client of `cerebras-cloud-sdk`.

Every call streams, `invoke` too, so that one path has to be right. The model retries by itself, a bounded number of times and
only before the first token. It raises the errors of `middle_core.errors` only. `request` and `answer` know the format, `errors` knows
what a fault means. This module reads no environment. It does not know the caller: a request carries the server's key, the messages,
the parameters and the headers in `HEADERS`.
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
from middle_core.models.cerebras.answer import Answer, is_visible
from middle_core.models.cerebras.errors import FAULTS, is_transient, translate
from middle_core.models.cerebras.request import Json, traits_of, wire_messages, wire_tool_choice, wire_tools
from middle_core.models.cerebras.stream import stream_frames
from middle_core.models.coalesce import FRAME_S, batches, merged

log = logging.getLogger(__name__)
T = TypeVar("T")

DEFAULT_MODEL = "gpt-oss-120b"
"""A production model of the shared service with tool calling, reasoning and structured output."""
DEFAULT_BASE_URL = "https://api.cerebras.ai"

HEADERS = frozenset({"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent"})
"""The headers that a request may have. All others are removed: the SDK adds details of this machine, and whatever the environment
variable CEREBRAS_CUSTOM_HEADERS holds."""

FIRST_BACKOFF_S = 0.25
MAX_BACKOFF_S = 8.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model has no capacity now. The call is repeated by itself after `seconds`."""

    reason: Literal["rate_limited", "unavailable"]
    seconds: float
    attempt: int
    """The number of the attempt that failed, from 1."""


OnWait = Callable[[Waiting], Awaitable[None]]


class ChatCerebras(BaseChatModel):
    """A chat model of Cerebras.

    Its calls raise `ModelRateLimited`, `ModelUnavailable`, `ModelContextTooLong`, `ModelBadRequest` or `ModelStreamCut`, each with
    the provider's own error as the cause, and `InvalidRequest` for an attachment that the model cannot read.
    """

    model_config = ConfigDict(populate_by_name=True)

    model: str = Field(default=DEFAULT_MODEL, validation_alias=AliasChoices("model", "model_name"))
    api_key: SecretStr
    base_url: str = DEFAULT_BASE_URL

    max_tokens: int = Field(default=8192, gt=0, validation_alias=AliasChoices("max_tokens", "max_completion_tokens"))
    """Always sent, as `max_completion_tokens`. When the service admits a request it reserves this many of the minute's tokens;
    without the field it reserves as many as fit into the context (elizaOS/eliza#8839)."""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: list[str] | None = Field(default=None, validation_alias=AliasChoices("stop", "stop_sequences"), max_length=4)
    reasoning_effort: Literal["none", "low", "medium", "high"] | None = None
    """Not sent to a model that does not take the value."""
    streaming: bool = True

    timeout: float = Field(default=60.0, gt=0)
    """Seconds of silence after which the connection counts as dead."""
    connect_timeout: float = Field(default=5.0, gt=0)
    frame_s: float = Field(default=FRAME_S, ge=0)
    """Seconds for which arriving tokens are collected into one chunk; the socket is not read again before that. The first token is
    never held. 0 reads every packet at once and joins nothing."""
    max_retries: int = Field(default=4, ge=0)
    max_wait_s: float = Field(default=20.0, ge=0)
    """No retry starts later than this many seconds after the call began. Then the error is raised, and its `retry_after` lets the
    caller decide whether to wait longer."""
    on_wait: OnWait | None = Field(default=None, exclude=True, repr=False)
    """Awaited before each wait for capacity, for example to tell the person."""

    _client: tuple[asyncio.AbstractEventLoop, AsyncCerebras] | None = PrivateAttr(default=None)
    _left_out: set[str] = PrivateAttr(default_factory=set)

    @property
    def model_name(self) -> str:
        """The model's name. LangChain reads it as `model` in some places and as `model_name` in others."""
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
        """This model with tools.

        Args:
            tools: tools in any of LangChain's shapes.
            tool_choice: "auto", "none", "any", or the name of a tool that must be called.
            kwargs: `strict`, and any other option of a call.

        Raises:
            ValueError: `tool_choice` is something else.
        """
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
        """This model with answers in the shape of `schema`.

        Args:
            schema: a pydantic model, a TypedDict or a JSON schema.
            include_raw: whether an answer holds the model's message and a parsing error as well.
            method: a forced tool call, constrained decoding (`json_schema`), or JSON without a schema (`json_mode`).
            strict: for `json_schema`, whether the service must keep to the schema; by default it must.
            kwargs: passed on with `function_calling`.
        """
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
        """The request's body: our settings, overridden by the options of this call, without the fields that the model does not take."""
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
        """The chunks of the answer, one list a frame.

        After a fault it waits and asks again, if nothing was shown yet, the fault may pass by itself, and `max_retries` and
        `max_wait_s` allow it. Else it raises the typed error.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.max_wait_s
        attempt = 1
        while True:
            answer = Answer(model=body["model"])
            try:
                frames = stream_frames(client, body, answer, self.frame_s)
                found = batches(frames, is_visible, frame_s=self.frame_s) if self.frame_s else _singly(frames)
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
        """The client of the running event loop. Its connections stay open for later calls, until `aclose`."""
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
            request.headers["accept-encoding"] = "identity"  # a hop that compresses a stream may hold it back

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
        """Close the open connections. The model can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None and client[0] is asyncio.get_running_loop():
            await client[1].close()


async def _singly(items: AsyncGenerator[T, None]) -> AsyncGenerator[list[T], None]:
    async with aclosing(items):
        async for item in items:
            yield [item]


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """The trusted certificates, read once a process: to read them takes longer than a whole request."""
    return httpx.create_ssl_context()


def _backoff(attempt: int) -> float:
    """Seconds before the next attempt if the provider names none. They double, with jitter, so that many callers do not return at once."""
    step: float = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** (attempt - 1))
    return step * random.uniform(0.75, 1.25)  # noqa: S311 - spreads load, guards nothing


def _synchronously(chunks: AsyncGenerator[T, None]) -> Iterator[T]:
    """The items of an async generator, for synchronous code. A thread with an event loop of its own drives it, so this also works inside
    a running loop."""

    async def step() -> T | None:
        return await anext(chunks, None)

    context = copy_context()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="cerebras-sync") as thread:
        runner = asyncio.Runner()
        try:
            while (item := thread.submit(runner.run, step(), context=context).result()) is not None:
                yield item
        finally:
            thread.submit(runner.close).result()  # this closes the generator, which closes the request
