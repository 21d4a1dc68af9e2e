"""One answer of a model, with the arguments of its tool calls taken literally.

`model.ainvoke` completes what a stream broke off: `{"path": "/home/us` becomes `{"path": "/home/us"}`, a valid
call with another meaning. Here a call whose arguments are not one whole JSON object stays malformed, and the
dispatch refuses it. Streaming is as with `ainvoke`. This module knows no tool and no graph.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, InvalidToolCall, ToolCall, message_chunk_to_message
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable


async def answer(model: Runnable[LanguageModelInput, AIMessage], messages: Sequence[BaseMessage]) -> AIMessage:
    """What the model says to these messages. Raises what the model raises."""
    streamed = [message async for message in model.astream(list(messages))]
    chunks = [message for message in streamed if isinstance(message, AIMessageChunk)]
    if not chunks:
        return streamed[-1]  # the model does not stream: nothing was completed
    return literal(add_ai_message_chunks(chunks[0], *chunks[1:]))


def literal(whole: AIMessageChunk) -> AIMessage:
    """The message of all chunks, its tool calls read strictly from what was streamed."""
    message = message_chunk_to_message(whole)
    assert isinstance(message, AIMessage)
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for chunk in whole.tool_call_chunks:
        arguments = _object(chunk["args"] or "")
        if arguments is None:
            bad.append(InvalidToolCall(name=chunk["name"], args=chunk["args"], id=chunk["id"], error=None, type="invalid_tool_call"))
        else:
            good.append(ToolCall(name=chunk["name"] or "", args=arguments, id=chunk["id"], type="tool_call"))
    return message.model_copy(update={"tool_calls": good, "invalid_tool_calls": bad})


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object; of nothing, which is how some providers write no arguments, an empty one."""
    try:
        found = json.loads(text, strict=False) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
