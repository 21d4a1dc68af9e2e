"""The browser's side of a case: the messages that it has after each stream, and what it sends next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from middle_core.events import Event
from tests.fakes.play import client

Message = dict[str, Any]

NEW_ONLY = "new only"
"""A key of the body that is not sent. It says that the body's messages are only the new ones."""


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
        """Send a request; its messages are shown. If it holds only the new messages, the older ones stay too."""
        kept = self.messages if body.pop(NEW_ONLY, False) else []
        self.messages = [*kept, *body["messages"]]
        self.interrupts = []

    def receives(self, events: Sequence[Event]) -> None:
        """Take in a whole stream."""
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

    A snapshot does not replace the client's messages. The client keeps its own order, puts new messages last, and keeps
    reasoning that the snapshot lacks.
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
