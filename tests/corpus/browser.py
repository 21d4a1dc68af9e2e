"""The browser's side of a case: what it holds after each stream, and what it sends next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from middle_core.events import Event
from tests.fakes.play import client

Message = dict[str, Any]

NEW_ONLY = "new only"
"""In a body, and not sent: the messages are those that are new."""


class Browser:
    """One tab: the messages that it shows, the questions that are open."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.interrupts: list[dict[str, Any]] = []
        self._said = 0

    def words(self, content: Any) -> Message:
        """A new user message; its id counts."""
        self._said += 1
        return {"id": f"h{self._said}", "role": "user", "content": content}

    def sends(self, body: dict[str, Any]) -> None:
        """A request goes out; what it holds is shown. A browser that sends what is new only keeps the rest."""
        kept = self.messages if body.pop(NEW_ONLY, False) else []
        self.messages = [*kept, *body["messages"]]
        self.interrupts = []

    def receives(self, events: Sequence[Event]) -> None:
        """A stream has come in."""
        self.messages = folded(self.messages, events)
        self.interrupts = [
            asked for one in events if one["type"] == "RUN_FINISHED" for asked in (one.get("outcome") or {}).get("interrupts", [])
        ]

    def open_calls(self) -> list[str]:
        """Ids of the tool calls without a result."""
        answered = {one["toolCallId"] for one in self.messages if one["role"] == "tool"}
        return [call["id"] for one in self.messages for call in one.get("toolCalls") or () if call["id"] not in answered]


def folded(shown: Sequence[Message], events: Sequence[Event]) -> list[Message]:
    """What @ag-ui/client 0.0.59 shows after these events.

    A snapshot does not replace its messages: it keeps its own order, puts what is new last, and keeps the reasoning that the
    snapshot lacks altogether.
    """
    messages, since = list(shown), 0
    for at, one in enumerate(events):
        if one["type"] == "MESSAGES_SNAPSHOT":
            before = {message["id"]: message for message in client(messages, events[since:at])}
            snapshot = {message["id"]: message for message in one["messages"]}
            keeps = not any(message["role"] == "reasoning" for message in snapshot.values())
            kept = {key: message for key, message in before.items() if key in snapshot or (keeps and message["role"] == "reasoning")}
            messages, since = list((kept | snapshot).values()), at + 1
    return client(messages, events[since:])
