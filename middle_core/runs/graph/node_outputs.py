"""The messages in what models, tools and nodes give back. Knows LangChain's and LangGraph's return types, and no run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration
from langgraph.types import Command


def messages_in(output: Any) -> Iterator[BaseMessage]:
    """The messages in what a node or a tool returned: an update, a Command, a message, or a list of these."""
    match output:
        case BaseMessage():
            yield output
        case Command():
            yield from messages_in(output.update)
        case Mapping():
            found = output.get("messages")
            yield from messages_in(found if isinstance(found, (list, tuple)) else [found])
        case list() | tuple():
            for one in output:
                if isinstance(one, (BaseMessage, Command, Mapping)):
                    yield from messages_in(one)
        case _:
            if isinstance(found := getattr(output, "messages", None), list):
                yield from messages_in(found)


def own_copy(generation: ChatGeneration) -> BaseMessage:
    """The answer as an object that no one else holds, so that ids can be set in it. A model may give one object at each call."""
    message = generation.message
    if type(message) is AIMessage:
        calls = {
            "tool_calls": [call.copy() for call in message.tool_calls],
            "invalid_tool_calls": [call.copy() for call in message.invalid_tool_calls],
        }
        generation.message = message = message.model_copy(update=calls)
    return message
