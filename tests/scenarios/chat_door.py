"""A client of /chat for scenarios: turns in both forms, and short summaries of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from tests.fakes.stack import Reader, Stack

ACCEPT = {"accept": "text/event-stream"}


@dataclass
class Chat:
    """A client of /chat."""

    server: Stack
    thread: str = "t1"
    agent: str = ""
    token: str | None = None

    def stream(self, message: str, *, query: str = "", headers: Mapping[str, str] | None = None, **more: Any) -> Any:
        """Open the stream of a message."""
        path = f"/chat{'/' + self.agent if self.agent else ''}{query}"
        body = {"message": message, "thread_id": self.thread, **more}
        return self._open("POST", path, body=body, headers=headers)

    def resuming(self, *answers: Mapping[str, Any], query: str = "", **more: Any) -> Any:
        """Open the stream of answers."""
        return self._open("POST", f"/chat/resume{query}", body={"thread_id": self.thread, "answers": list(answers), **more})

    def attach(self, run_id: str, cursor: str | None = None, *, query: str = "") -> Any:
        headers = {} if cursor is None else {"last-event-id": cursor}
        return self._open("GET", f"/chat/runs/{run_id}/events{query}", headers=headers)

    def _open(
        self, method: str, path: str, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Reader]:
        opened: AbstractAsyncContextManager[Reader] = self.server.stream(
            method, path, token=self.token, body=body, headers={**ACCEPT, **(headers or {})}
        )
        return opened

    async def turn(self, message: str, **more: Any) -> Reader:
        """A whole turn as a stream."""
        reader: Reader
        async with self.stream(message, **more) as reader:
            return await reader.rest()

    async def resume(self, *answers: Mapping[str, Any], **more: Any) -> Reader:
        reader: Reader
        async with self.resuming(*answers, **more) as reader:
            return await reader.rest()

    async def ask(self, message: str, **more: Any) -> dict[str, Any]:
        """A whole turn as JSON."""
        headers = more.pop("headers", {})
        body = {"message": message, "thread_id": self.thread, **more}
        return await self._json(f"/chat{'/' + self.agent if self.agent else ''}", body, headers)

    async def answer(self, *answers: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return await self._json("/chat/resume", {"thread_id": self.thread, "answers": list(answers), **more}, {})

    async def _json(self, path: str, body: Any, headers: Mapping[str, str]) -> dict[str, Any]:
        response = await self.server.post(path, body, token=self.token, headers=dict(headers))
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found


def approve(interrupt: Mapping[str, Any]) -> dict[str, Any]:
    return {"interrupt_id": interrupt["interrupt_id"], "decision": "approve"}


def reject(interrupt: Mapping[str, Any]) -> dict[str, Any]:
    return {"interrupt_id": interrupt["interrupt_id"], "decision": "reject"}


def value(interrupt: Mapping[str, Any], given: Any) -> dict[str, Any]:
    return {"interrupt_id": interrupt["interrupt_id"], "decision": "answer", "value": given}


def sequence(reader: Reader) -> list[str]:
    """For each event its type, then path and outcome, or status."""
    return [short(event) for event in reader.events]


def short(event: Mapping[str, Any]) -> str:
    status = (event.get("response") or {}).get("status")
    return " ".join(str(one) for one in (event["type"], ":".join(event.get("path", ())), event.get("outcome"), status) if one)


def response(reader: Reader) -> dict[str, Any]:
    """The ChatResponse of a whole stream."""
    assert reader.events[-1]["type"] == "turn_completed", sequence(reader)
    found: dict[str, Any] = reader.events[-1]["response"]
    return found


def text(answer: Mapping[str, Any]) -> str:
    """The words of a ChatResponse."""
    return "".join(part["text"] for part in (answer["reply"] or {"parts": []})["parts"] if part["type"] == "text")


def plain(found: Any) -> Any:
    """An answer without ids and times, which differ from run to run."""
    volatile = {
        "run_id",
        "task_id",
        "message_id",
        "started_at",
        "latency_ms",
        "duration_ms",
        "correlation_id",
        "interrupt_id",
        "asked_at",
        "answer_by",
        "expires_in_s",
    }
    if isinstance(found, dict):
        return {key: plain(one) for key, one in found.items() if key not in volatile}
    return [plain(one) for one in found] if isinstance(found, list) else found
