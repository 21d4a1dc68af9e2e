"""Deltas: which neighbours become one event. The table is the grammar's: the parts of a text, a reasoning, and a call's arguments.

Deltas are joined in three places, and each has a reason of its own:

- `models.coalesce` joins chunks of a model before LangChain sees them, because LangChain spends more on each chunk than all of the rest.
- `runs.graph.event_queue` joins what waits for the engine. A sync node in a thread cannot be made to wait, so a log that is slow for
  minutes would fail its run.
- `runs.appender` joins what waits for a commit, so that a slow database gets fewer records and not a longer queue.

Pure: knows no clock and no queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from middle_core.agui.grammar import KINDS
from middle_core.events import Event

DELTAS: Final[Mapping[str, str]] = {kind.part.value: kind.key for kind in KINDS if kind.part}
"""The event types that carry a `delta`, each with the field that names what it belongs to."""

MAX_DELTA_CHARS: Final = 16_384
"""Characters of a joined delta."""


def joins(one: Event, following: Event, *, size: int | None = None, max_chars: int = MAX_DELTA_CHARS) -> bool:
    """Whether the second of two neighbouring events can be appended to the first.

    Args:
        one: the first.
        following: the second.
        size: characters of the first one's delta, where its text is collected elsewhere; by default they are counted.
        max_chars: of both deltas together.
    """
    key = DELTAS.get(following["type"])
    if key is None or one["type"] != following["type"] or one[key] != following[key]:
        return False
    return (len(one["delta"]) if size is None else size) + len(following["delta"]) <= max_chars


def merge_deltas(events: Sequence[Event], *, max_chars: int = MAX_DELTA_CHARS) -> list[Event]:
    """Join neighbouring deltas. The input is not changed.

    Args:
        events: in order.
        max_chars: of a joined delta. A delta that is longer already stays as it is.
    """
    merged: list[Event] = []
    parts: list[str] = []
    size = 0

    def close() -> None:
        if len(parts) > 1:
            joined: dict[str, Any] = {**merged[-1], "delta": "".join(parts)}
            merged[-1] = joined
        parts.clear()

    for event in events:
        if parts and joins(merged[-1], event, size=size, max_chars=max_chars):
            parts.append(event["delta"])
            size += len(event["delta"])
            continue
        close()
        merged.append(event)
        if event["type"] in DELTAS:
            parts.append(event["delta"])
            size = len(event["delta"])
    close()
    return merged
