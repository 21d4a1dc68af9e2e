"""LangChain's standard tests of chat models, for the offline model."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_tests.unit_tests import ChatModelUnitTests

from middle_core.models.offline.model import OfflineModel


class TestUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return OfflineModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"words_per_second": 0}

    @property
    def has_structured_output(self) -> bool:
        return False
