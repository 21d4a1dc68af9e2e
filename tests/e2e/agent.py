"""The product's own agent with two more tools (letters, questions), and a node that raises on request.

The text of its exception holds a secret.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from middle_core.agents.knowledge_copilot.graph import graph
from middle_core.agents.knowledge_copilot.selection import SELECTED
from middle_core.agents.knowledge_copilot.tools import knowledge_tools
from middle_core.agents.registry import AgentDeps, AgentSpec
from tests.e2e.letters import ask_user, post_letter

BREAK = "break the node"
SECRET = "postgres://app:hunter2@db.internal/prod"


class Fragile:
    """As much of a model as the agent's node uses."""

    def __init__(self, model: Runnable[Any, AIMessage] | BaseChatModel) -> None:
        self._model = model

    def bind_tools(self, tools: Sequence[Any]) -> Fragile:
        assert isinstance(self._model, BaseChatModel)
        return Fragile(self._model.bind_tools(tools))

    async def astream(self, messages: list[BaseMessage]) -> AsyncIterator[BaseMessage]:
        if BREAK in str(messages[-1].content):
            raise ValueError(f"cannot connect to {SECRET}")
        async for message in self._model.astream(messages):
            yield message


def build(deps: AgentDeps) -> AgentSpec:
    """The knowledge copilot on a model that may break."""
    tools = [*knowledge_tools(deps.backend), post_letter(), ask_user()]
    made = graph(cast("BaseChatModel", Fragile(deps.model)), tools)
    return AgentSpec(graph=made, client_writable=frozenset({SELECTED}), tools=tools)
