"""What node code calls to show something before it returns: tokens, messages, state, chunks, progress.

All of it goes through LangChain's custom events and so keeps its order with model tokens. It works in nodes and in tools; outside of
a run it raises RuntimeError, as LangChain does.
What a browser sees must still be returned by the node to be in the thread: return the message with the id given here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.runnables import RunnableConfig

from middle_core.events import Custom


class Emitted(StrEnum):
    """Names of the custom events that become AG-UI events of their own. They never reach the log under these names."""

    TOKEN = "middle_core.emit_token"  # noqa: S105 - the name of an event; id, delta
    MESSAGE = "middle_core.emit_message"  # id, text
    STATE = "middle_core.emit_state"  # the state's keys


def new_message_id() -> str:
    """An id for a message that a node streams itself."""
    return str(uuid.uuid4())


async def emit_token(delta: str, *, message_id: str, config: RunnableConfig | None = None) -> None:
    """A piece of an assistant message. The message ends with the node.

    message_id: from `new_message_id`, the same for each piece and for the AIMessage that the node returns.
    """
    await adispatch_custom_event(Emitted.TOKEN.value, {"id": message_id, "delta": delta}, config=config)


async def emit_message(text: str, *, message_id: str | None = None, config: RunnableConfig | None = None) -> str:
    """A whole assistant message. Returns its id, for the AIMessage that the node returns."""
    message_id = message_id or new_message_id()
    await adispatch_custom_event(Emitted.MESSAGE.value, {"id": message_id, "text": text}, config=config)
    return message_id


async def emit_state(state: Mapping[str, Any], *, config: RunnableConfig | None = None) -> None:
    """Show these keys of the state now; keys that are not named stay as they were shown last."""
    await adispatch_custom_event(Emitted.STATE.value, dict(state), config=config)


async def emit_chunk(kind: str, data: Any, *, config: RunnableConfig | None = None) -> None:
    """A typed piece of data for the page: CUSTOM `middle_core.chunk`."""
    await adispatch_custom_event(Custom.CHUNK.value, {"type": kind, "data": data}, config=config)


async def refuse(reason: str, *, config: RunnableConfig | None = None) -> None:
    """Say that this turn declines what it was asked: CUSTOM `middle_core.refused`. reason: for the person.

    It does not end the graph: the node routes to where nothing more is done.
    """
    await adispatch_custom_event(Custom.REFUSED.value, {"reason": reason}, config=config)


async def progress(
    label: str, fraction: float | None = None, *, tool_call_id: str | None = None, config: RunnableConfig | None = None
) -> None:
    """How far something is. fraction: 0 to 1, None where it is not known. Raises ValueError outside of that."""
    if fraction is not None and not 0 <= fraction <= 1:
        raise ValueError(f"fraction is {fraction}: it lies between 0 and 1, or is None.")
    await adispatch_custom_event(Custom.PROGRESS.value, {"label": label, "fraction": fraction, "toolCallId": tool_call_id}, config=config)
