"""middle-core on a loopback port, in the test's event loop, with graphs and models that the test controls.

`async with stack(tmp_path, agents={"default": chat(model)}) as server:` gives a `Stack`: a real uvicorn with the
real log, saver and doors. `stack.say(...)` opens a run's stream; `Reader` reads it frame by frame, with a bound.
"""

from __future__ import annotations

import asyncio
import json
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx
import uvicorn
from fastapi import FastAPI

from middle_core.app import Parts, create_app
from middle_core.auth.verify import secret_verifier
from middle_core.events import Event
from middle_core.http_server.connection import Connection
from middle_core.http_server.draining import DrainingServer
from middle_core.settings import Settings
from middle_core.transports.sse.frames import Frame, SseParser
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint

PATIENCE_S = 10.0

DATABASES: list[Callable[[Path], str]] = []
"""The URL of a data folder's database, where that is not the file in the folder. `tests/scenarios/conftest.py` sets it for a test."""

READ: list[bytearray] = []
"""The bytes of each stream that is read. `tests/scenarios/conftest.py` takes them after each test and has them validated."""


class Reader:
    """One open stream, read frame by frame; each wait is bounded by `PATIENCE_S`."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.frames: list[Frame] = []
        self.raw = bytearray()
        READ.append(self.raw)
        self.parser = SseParser()
        self._chunks = response.aiter_raw()
        self._queue: list[Frame] = []

    @property
    def events(self) -> list[Event]:
        """What has been read so far."""
        return [json.loads(frame.data) for frame in self.frames]

    @property
    def run_id(self) -> str:
        """Our id of the run."""
        return self.response.headers["x-run-id"]

    @property
    def text(self) -> str:
        """All text deltas so far, joined."""
        return "".join(event["delta"] for event in self.events if event["type"] == "TEXT_MESSAGE_CONTENT")

    @property
    def types(self) -> list[str]:
        """Types so far; for CUSTOM its name."""
        return [event["name"] if event["type"] == "CUSTOM" else event["type"] for event in self.events]

    @property
    def last_id(self) -> str | None:
        """The cursor of the last frame that had one."""
        return next((frame.id for frame in reversed(self.frames) if frame.id is not None), None)

    async def _more(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                return False
        self.raw += chunk
        self._queue += self.parser.feed(chunk)
        return True

    async def next(self) -> Frame | None:
        """The next frame, or None at the end of the stream."""
        while not self._queue:
            if not await self._more():
                return None
        self.frames.append(self._queue.pop(0))
        return self.frames[-1]

    async def until(self, condition: Callable[[Self], bool]) -> Self:
        """Read until the condition holds. Fails at the end of the stream."""
        while not condition(self):
            assert await self.next() is not None, f"the stream ended; it had {self.types}"
        return self

    async def until_type(self, name: str) -> Self:
        """Read until an event of that type (or CUSTOM name) has come."""
        return await self.until(lambda reader: name in reader.types)

    async def until_text(self, text: str) -> Self:
        """Read until the joined text holds it."""
        return await self.until(lambda reader: text in reader.text)

    async def comments(self, count: int) -> Self:
        """Read until so many comments (the hello and the heartbeats) have come."""
        while self.parser.comments < count:
            assert await self._more(), "the stream ended"
        return self

    async def rest(self) -> Self:
        """Read to the end of the stream."""
        while await self.next() is not None:
            pass
        return self


def user(text: str, message_id: str | None = None) -> dict[str, Any]:
    return {"id": message_id or f"u-{uuid.uuid4()}", "role": "user", "content": text}


def run_input(*messages: dict[str, Any], thread: str = "t1", run: str | None = None, **more: Any) -> dict[str, Any]:
    """A RunAgentInput as a browser sends it."""
    return {
        "threadId": thread,
        "runId": run or str(uuid.uuid4()),
        "messages": list(messages),
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **more,
    }


@dataclass
class Stack:
    """A running server and a client for it."""

    url: str
    app: FastAPI
    server: uvicorn.Server
    settings: Settings
    http: httpx.AsyncClient
    token: str = field(default_factory=mint)

    @property
    def parts(self) -> Parts:
        parts: Parts = self.app.state.parts
        return parts

    def headers(self, token: str | None = None, **more: str) -> dict[str, str]:
        return {"authorization": f"Bearer {token or self.token}", **more}

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, token: str | None = None, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Reader]:
        """An open stream; leaving it closes the connection, as a browser does."""
        sent = self.headers(token, **(headers or {}))
        async with self.http.stream(method, self.url + path, headers=sent, json=body) as response:
            if response.status_code != 200:
                await response.aread()
                raise AssertionError(f"{response.status_code}: {response.text}")
            yield Reader(response)

    def say(self, text: str, *, thread: str = "t1", token: str | None = None, agent: str = "", **more: Any) -> Any:
        """Open the stream of a new turn."""
        body = run_input(user(text), thread=thread, **more)
        return self.stream("POST", f"/copilotkit{'/' + agent if agent else ''}", token=token, body=body)

    def connect(self, *, thread: str = "t1", token: str | None = None) -> Any:
        """Open a thread, as a page that is loaded does."""
        return self.stream("POST", "/copilotkit/connect", token=token, body=run_input(thread=thread))

    def follow(self, run_id: str, cursor: str | None = None, *, token: str | None = None) -> Any:
        """Attach again."""
        headers = {} if cursor is None else {"last-event-id": cursor}
        return self.stream("GET", f"/copilotkit/runs/{run_id}/events", token=token, headers=headers)

    async def ask(self, text: str, **more: Any) -> Reader:
        """A whole turn."""
        reader: Reader
        async with self.say(text, **more) as reader:
            return await reader.rest()

    async def post(self, path: str, body: Any = None, *, token: str | None = None, **options: Any) -> httpx.Response:
        sent = self.headers(token, **options.pop("headers", {}))
        if body is not None:
            options["json"] = body
        return await self.http.post(self.url + path, headers=sent, **options)

    async def get(self, path: str, *, token: str | None = None, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return await self.http.get(self.url + path, headers=self.headers(token, **(headers or {})))

    async def stop(self, *, thread: str = "t1", token: str | None = None, run: str | None = None) -> bool:
        body = {"threadId": thread, **({"runId": run} if run else {})}
        response = await self.post("/copilotkit/stop", body, token=token)
        assert response.status_code == 200, response.text
        stopped: bool = response.json()["stopped"]
        return stopped

    async def history(self, *, thread: str = "t1", token: str | None = None) -> list[dict[str, Any]]:
        """The messages that a page gets when it opens the idle thread."""
        async with self.connect(thread=thread, token=token) as reader:
            await reader.rest()
        snapshots = [event["messages"] for event in reader.events if event["type"] == "MESSAGES_SNAPSHOT"]
        messages: list[dict[str, Any]] = snapshots[-1]
        return messages


def settings_for(data_dir: Path, **changes: Any) -> Settings:
    """Settings of a test's server."""
    given = {
        "database_url": DATABASES[-1](data_dir) if DATABASES else "",
        "env": "production",
        "jwt_secret": SECRET,
        "jwt_issuer": ISSUER,
        "jwt_audience": AUDIENCE,
        "model": "offline",
        "drain_s": 0,
        **changes,
    }
    return Settings(data_dir=data_dir, **given)


@asynccontextmanager
async def stack(
    data_dir: Path, *, agents: Mapping[str, Any] | None = None, protocol: type[Connection] = Connection, **changes: Any
) -> AsyncIterator[Stack]:
    """A running server; it ends with the context."""
    settings = settings_for(data_dir, **changes)
    app = create_app(settings, secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE), agents=agents)
    config = uvicorn.Config(app, http=protocol, log_config=None, lifespan="on", timeout_graceful_shutdown=5, timeout_keep_alive=75)
    server = DrainingServer(config)
    # asyncio switches Nagle's algorithm off only for a socket whose protocol is TCP. With Nagle a token waits 40 ms for an ACK.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with (
        asyncio.TaskGroup() as group,
        httpx.AsyncClient(timeout=PATIENCE_S, limits=httpx.Limits(max_connections=None)) as http,
    ):
        serving = group.create_task(server.serve(sockets=[listening]))
        while not server.started:
            assert not serving.done(), "the server did not start"
            await asyncio.sleep(0)
        try:
            yield Stack(url, app, server, settings, http)
        finally:
            server.should_exit = True
