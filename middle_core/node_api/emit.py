"""What node code calls to show something before it returns: tokens, messages, state, chunks, progress.

Each function dispatches a LangChain custom event, so that what it shows keeps its order with the tokens of models. They work in nodes
and in tools. Outside of a run they raise RuntimeError, as LangChain does.

A message that is only emitted stays on the screen, also after a reload, and no model is given it. To have it in the thread, for the
model as well, return it from the node under the same id:

    message_id = await emit_message("I am looking it up.")
    return {"messages": [AIMessage("I am looking it up.", id=message_id)]}
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
    """Show a piece of an assistant message. The message ends with the node.

    Args:
        delta: the text to append.
        message_id: from `new_message_id`, the same for each piece and for the AIMessage that the node returns.
        config: the node's config.
    """
    await adispatch_custom_event(Emitted.TOKEN.value, {"id": message_id, "delta": delta}, config=config)


async def emit_message(text: str, *, message_id: str | None = None, config: RunnableConfig | None = None) -> str:
    """Show a whole assistant message. Returns its id, for the AIMessage that the node returns.

    Args:
        text: the message. Nothing is shown for an empty one.
        message_id: its id; a new one by default.
        config: the node's config.
    """
    message_id = message_id or new_message_id()
    await adispatch_custom_event(Emitted.MESSAGE.value, {"id": message_id, "text": text}, config=config)
    return message_id


async def emit_state(state: Mapping[str, Any], *, config: RunnableConfig | None = None) -> None:
    """Show keys of the state now. Keys that are not named stay as they were shown last.

    Args:
        state: the keys with their values.
        config: the node's config.
    """
    await adispatch_custom_event(Emitted.STATE.value, dict(state), config=config)


async def emit_chunk(kind: str, data: Any, *, config: RunnableConfig | None = None) -> None:
    """Send a typed piece of data to the page: CUSTOM `middle_core.chunk`.

    Args:
        kind: tells the page what the data is.
        data: anything that becomes JSON.
        config: the node's config.
    """
    await adispatch_custom_event(Custom.CHUNK.value, {"type": kind, "data": data}, config=config)


async def refuse(reason: str, *, config: RunnableConfig | None = None) -> None:
    """Say that this turn declines what it was asked: CUSTOM `middle_core.refused`. The graph goes on, so the node also routes to its end.

    Args:
        reason: for the person.
        config: the node's config.
    """
    await adispatch_custom_event(Custom.REFUSED.value, {"reason": reason}, config=config)


async def progress(
    label: str, fraction: float | None = None, *, tool_call_id: str | None = None, config: RunnableConfig | None = None
) -> None:
    """Say how far something is: CUSTOM `middle_core.progress`.

    Args:
        label: what is being done, for people.
        fraction: 0 to 1; None where it is not known.
        tool_call_id: of the call that does it.
        config: the node's config.

    Raises:
        ValueError: the fraction is not between 0 and 1.
    """
    if fraction is not None and not 0 <= fraction <= 1:
        raise ValueError(f"fraction is {fraction}: it lies between 0 and 1, or is None.")
    await adispatch_custom_event(Custom.PROGRESS.value, {"label": label, "fraction": fraction, "toolCallId": tool_call_id}, config=config)
