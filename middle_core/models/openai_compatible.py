"""`langchain-openai`'s chat model for OpenAI-compatible servers. Needs the extra `[openai]`.

The package does nearly everything, its two retries before the first token included. Added here: our errors; the reasoning of servers
that send it beside the content, which the package drops; and an error for a stream that ends without a finish reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from middle_core.errors import ModelError, ModelStreamCut, ModelUnavailable
from middle_core.models.cerebras.errors import by_status

FAULTS = (openai.APIError, httpx.HTTPError)


def openai_compatible(name: str, base_url: str, api_key: str) -> ChatOpenAICompatible:
    """The model at an OpenAI-compatible server.

    Args:
        name: the model's name at that server.
        base_url: the server's address, with its `/v1`.
        api_key: sent as a bearer token. Without one no such header is sent.
    """
    # The key is never None or empty here: the package would then read OPENAI_API_KEY from the environment, or refuse to start.
    asynchronous = openai.DefaultAsyncHttpxClient(event_hooks={} if api_key else {"request": [_without_key_async]})
    synchronous = openai.DefaultHttpxClient(event_hooks={} if api_key else {"request": [_without_key]})
    return ChatOpenAICompatible(
        model=name,
        base_url=base_url,
        api_key=SecretStr(api_key or "none"),
        stream_usage=True,
        http_async_client=asynchronous,
        http_client=synchronous,
    )


def _without_key(request: httpx.Request) -> None:
    del request.headers["authorization"]


async def _without_key_async(request: httpx.Request) -> None:
    _without_key(request)


class ChatOpenAICompatible(ChatOpenAI):
    """Raises the model errors of `middle_core.errors` from its async calls, with the SDK's error as the cause."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self.root_async_client.close()
        self.root_client.close()

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        begun = finished = False
        try:
            async for chunk in super()._astream(*args, **kwargs):
                begun = True
                finished = finished or bool((chunk.generation_info or {}).get("finish_reason"))
                yield chunk
        except FAULTS as fault:
            raise _translate(fault, begun=begun) from fault
        if not finished:  # the package ends in the same way whether the server was done or the connection was cut
            raise ModelStreamCut

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        try:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        except FAULTS as fault:
            raise _translate(fault, begun=False) from fault

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if made is not None and (choices := chunk.get("choices")):
            _add_reasoning(made.message, choices[0].get("delta"))
        return made

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        whole = response if isinstance(response, dict) else response.model_dump()
        for generation, choice in zip(result.generations, whole["choices"], strict=True):
            _add_reasoning(generation.message, choice.get("message"))
        return result


def _add_reasoning(message: BaseMessage, source: Any) -> None:
    """Servers such as vLLM and OpenRouter send reasoning as `reasoning_content` or `reasoning`."""
    if isinstance(source, dict) and isinstance(text := source.get("reasoning_content") or source.get("reasoning"), str):
        message.additional_kwargs["reasoning_content"] = text


def _translate(fault: Exception, *, begun: bool) -> ModelError:
    if isinstance(fault, openai.APIStatusError):
        return by_status(fault.status_code, fault.response.headers, fault.body)
    return ModelStreamCut() if begun else ModelUnavailable()
