"""A scripted HTTP/1.1 server on loopback that works at the socket: it can be silent, hang up, or send garbage.

One request a connection, unless a handler's answer keeps it open. A handler gets the request and returns the
bytes to send, or None to hang up. While a handler works, a client that goes away cancels it and sets `gone`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import httpx
import uvicorn
from starlette.types import ASGIApp

from tests.fakes.ports import free_port


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> bytes | None:
        """The value as it came over the wire."""
        return next((value for key, value in self.headers if key.lower() == name.lower().encode()), None)


Handler = Callable[[Request], Awaitable[bytes | None]]


@dataclass
class HttpServer:
    """Running while its context is open. `url` has no trailing slash."""

    handler: Handler
    requests: list[Request] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def __aenter__(self) -> Self:
        self._connections: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.sleep(0)  # a connection that was accepted in this turn of the loop gets its task
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            request = await read_request(reader)
            self.requests.append(request)
            self.arrived.set()
            answer = await self._answer(request, reader)
            if answer is not None:
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()  # else the loop may end with the socket open
            self._connections.discard(task)

    async def _answer(self, request: Request, reader: asyncio.StreamReader) -> bytes | None:
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(self._handle(request))
            leaving = group.create_task(reader.read(1))
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self.gone.set()
            answering.cancel()
            leaving.cancel()
        return None if answering.cancelled() else answering.result()

    async def _handle(self, request: Request) -> bytes | None:
        return await self.handler(request)


async def read_request(reader: asyncio.StreamReader) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    start, *lines = head[:-4].split(b"\r\n")
    method, target, _ = start.decode("ascii").split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == b"content-length"), 0)
    return Request(method, target, headers, await reader.readexactly(length))


def answer(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """A whole response that closes the connection."""
    sent = {"Content-Length": str(len(body)), "Connection": "close", **(headers or {})}
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def always(response: bytes | None) -> Handler:
    """A handler that gives the same answer each time."""

    async def handle(_: Request) -> bytes | None:
        return response

    return handle


async def never(_: Request) -> bytes | None:
    """A handler that is silent until the client goes away."""
    await asyncio.Event().wait()
    return None


def closed_port() -> str:
    """The URL of a port on which nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


@cache
def tls() -> ssl.SSLContext:
    """Made once. Otherwise each httpx client would read all root certificates, which takes longer than most tests."""
    return ssl.create_default_context()


def http_client(**options: Any) -> httpx.AsyncClient:
    """An httpx client that is cheap to make."""
    return httpx.AsyncClient(verify=tls(), **options)


class Announcing(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """The app behind a real uvicorn on loopback; yields its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = Announcing(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
        async with asyncio.TaskGroup() as group:
            group.create_task(server._serve([listener]))  # `serve` would take the test run's signals
            async with asyncio.timeout(10):
                await server.listening.wait()
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True
