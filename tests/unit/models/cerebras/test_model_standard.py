"""LangChain's standard chat-model tests, unit and integration, for the model and for the model as `build_model` hands it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from middle_core.models.cerebras.model import ChatCerebras
from middle_core.models.coalesce import Coalesce
from tests.fakes.cerebras_server import CerebrasServer, Reply, serve_in_thread


class MergedCerebras(Coalesce):
    """What `build_model` makes, with the arguments of the model inside."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(inner=ChatCerebras(**fields))


class TestUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatCerebras

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "gpt-oss-120b", "api_key": "test"}


class TestIntegration(ChatModelIntegrationTests):
    server: CerebrasServer

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls) -> Iterator[None]:
        with serve_in_thread(keep_alive=False) as cls.server:
            yield

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatCerebras

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "gpt-oss-120b", "api_key": "test", "base_url": self.server.url}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_anthropic_inputs(self) -> bool:
        return True

    @property
    def supports_model_override(self) -> bool:
        return True

    @property
    def model_override_value(self) -> str:
        return "qwen-3.8-27b"

    @property
    def supported_usage_metadata_details(self) -> dict[Any, Any]:
        return {"invoke": ["reasoning_output", "cache_read_input"], "stream": ["reasoning_output", "cache_read_input"]}

    def invoke_with_reasoning_output(self, *, stream: bool = False) -> AIMessage:
        self.server.script(Reply("Hello.", reasoning="The person greets."))
        return self._ask(stream=stream)

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        return self._ask(stream=stream)

    def _ask(self, *, stream: bool) -> AIMessage:
        model = self.chat_model_class(**self.chat_model_params)
        if not stream:
            return model.invoke("Hello")
        first, *rest = model.stream("Hello")
        return sum(rest, start=first)


class TestMergedUnit(TestUnit):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return MergedCerebras


class TestMergedIntegration(TestIntegration):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return MergedCerebras
