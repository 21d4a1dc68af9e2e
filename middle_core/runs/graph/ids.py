"""Ids that are unique in a thread: of its messages and of its tool calls.

A message id that comes twice makes LangGraph's reducer replace the earlier message, and shows it twice in
the browser; a tool call id that comes twice ("call_0" in every turn) gives one call another one's result.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable


class Ids:
    """The ids taken so far in one thread. Not thread-safe: the owner locks."""

    def __init__(self, messages: Iterable[str] = (), calls: Iterable[str] = ()) -> None:
        self.messages = set(messages)
        self.calls = set(calls)

    def message(self, wanted: str | None, otherwise: str | None = None) -> str:
        """Take an id for a new message: the wanted one if it is free."""
        return _take(self.messages, wanted, otherwise)

    def call(self, wanted: str | None) -> str:
        """Take an id for a new tool call: the provider's if it is free in this thread."""
        return _take(self.calls, wanted, None, prefix="call_")


def _take(taken: set[str], wanted: str | None, otherwise: str | None, prefix: str = "") -> str:
    for one in (wanted, otherwise):
        if one and one not in taken:
            taken.add(one)
            return one
    stem = wanted or otherwise
    fresh = f"{stem}-{uuid.uuid4().hex[:8]}" if stem else f"{prefix}{uuid.uuid4().hex}"
    taken.add(fresh)
    return fresh
