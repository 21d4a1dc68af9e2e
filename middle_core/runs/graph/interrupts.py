"""A graph's open questions as AG-UI 1.0 interrupts (https://docs.ag-ui.com/concepts/interrupts).

The SDK's conversion takes every field as it is, and fails the run for a `message` that is no text. There is no
`expiresAt` here: a past one bricks the thread in @ag-ui/client 0.0.59. Duck typing: knows no graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from middle_core.agui.jsonable import TooBig, jsonable
from middle_core.errors import MiddleCoreError

MAX_QUESTION: Final = 256_000
"""Characters of JSON of what a graph asks."""

CANCELLED_ANSWER: Final = {"__agui_cancelled__": True}
"""What `interrupt()` returns for a resume with status `cancelled`, with its `interrupt_id`: the SDK's sentinel, which teams' graphs know."""

_TEXTS: Final = {"message": ("message",), "toolCallId": ("toolCallId", "tool_call_id")}


def open_interrupts(tasks: Iterable[Any]) -> list[dict[str, Any]]:
    """The interrupts of a checkpoint's tasks. Raises MiddleCoreError for a question too large to be shown."""
    return [as_interrupt(one) for task in tasks for one in task.interrupts]


def as_interrupt(raised: Any) -> dict[str, Any]:
    """An interrupt of LangGraph as one of AG-UI. Raises MiddleCoreError for a question too large to be shown."""
    raw = raised.value
    fields: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {"message": raw}
    try:
        value = jsonable(raw, budget=MAX_QUESTION)
    except TooBig as error:
        raise MiddleCoreError("The agent's question is too large to be shown.") from error
    interrupt: dict[str, Any] = {
        "id": raised.id,
        "reason": _text(fields, "reason") or "langgraph:interrupt",
        "metadata": {"langgraph": {"raw": value}},
    }
    for key, names in _TEXTS.items():
        if (text := _text(fields, *names)) is not None:
            interrupt[key] = text
    schema = value.get("responseSchema", value.get("response_schema")) if isinstance(value, dict) else None
    schema = raised.response_schema if schema is None else schema  # `interrupt(value, response_schema=...)`
    if isinstance(schema, dict):
        interrupt["responseSchema"] = schema
    return interrupt


def _text(fields: Mapping[str, Any], *names: str) -> str | None:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), None)
