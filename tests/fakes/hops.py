"""A hop on loopback that does to streams what real hops do: it buffers, compresses, sends in bursts, cuts, or hides that a client left.

    async with serving(Hop(origin_url, buffered)) as url: ...

It asks the server behind it without compression and passes headers on, both ways, as an ordinary reverse proxy does.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal

import brotli
import httpx
from starlette.types import Message, Receive, Scope, Send

from tests.fakes.http_server import http_client

Pieces = AsyncIterator[bytes]
Bend = Callable[[Pieces], Pieces]
"""What the hop does with a body's pieces. Headers leave with the first piece."""

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "accept-encoding"}
IDLE, TOTAL = "stream timeout", "upstream request timeout"
"""Envoy's answers when its stream idle timeout, or its route timeout, ends a request that has no headers yet."""


async def passing(pieces: Pieces) -> Pieces:
    """Each piece as it comes."""
    async for piece in pieces:
        yield piece


async def buffered(pieces: Pieces) -> Pieces:
    """Everything at the end."""
    yield b"".join([piece async for piece in pieces])


def bursts(size: int) -> Bend:
    """So many pieces at a time."""

    async def bend(pieces: Pieces) -> Pieces:
        held: list[bytes] = []
        async for piece in pieces:
            held.append(piece)
            if len(held) == size:
                yield b"".join(held)
                held.clear()
        yield b"".join(held)

    return bend


def delayed(seconds: float) -> Bend:
    """Each piece later by this time, but the end at once, as HAProxy does without `http-no-delay`."""

    async def bend(pieces: Pieces) -> Pieces:
        queue: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

        async def read() -> None:
            async for piece in pieces:
                queue.put_nowait((time.monotonic() + seconds, piece))
            queue.put_nowait(None)

        async with asyncio.TaskGroup() as group:
            group.create_task(read())
            while (held := await queue.get()) is not None:
                await asyncio.sleep(held[0] - time.monotonic())
                yield held[1]

    return bend


async def gzip_held(pieces: Pieces) -> Pieces:
    """A compressor that sends only when it has collected enough."""
    press = zlib.compressobj(wbits=31)
    async for piece in pieces:
        yield press.compress(piece)
    yield press.flush()


async def gzip_flushed(pieces: Pieces) -> Pieces:
    """A compressor that is flushed at each piece."""
    press = zlib.compressobj(wbits=31)
    async for piece in pieces:
        yield press.compress(piece) + press.flush(zlib.Z_SYNC_FLUSH)
    yield press.flush()


async def br_held(pieces: Pieces) -> Pieces:
    press = brotli.Compressor()
    async for piece in pieces:
        yield press.process(piece)
    yield press.finish()


async def br_flushed(pieces: Pieces) -> Pieces:
    press = brotli.Compressor()
    async for piece in pieces:
        yield press.process(piece) + press.flush()
    yield press.finish()


async def without_comments(pieces: Pieces) -> Pieces:
    """Drop heartbeats."""
    async for piece in pieces:
        yield b"" if piece.startswith(b":") else piece


class Cut(Exception):
    """The answer is broken off, without an end."""


@dataclass(eq=False)
class Hop:
    """An ASGI application. notices: when it tells the server behind it that a client left.

    encoding: set where `bend` compresses; then it does so only for clients that accept it. changes: of the answer's
    headers; None takes one away. idle_s, total_s: its timeouts, with Envoy's words.
    """

    target: str
    bend: Bend = passing
    encoding: str = ""
    notices: Literal["at once", "at a write", "never"] = "at once"
    idle_s: float = 3600.0
    total_s: float = 3600.0
    holds: list[float] = field(default_factory=list)
    """Seconds for which the next requests wait here, one each, before they go on."""
    changes: dict[str, str | None] = field(default_factory=dict)
    seen: list[dict[str, str]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append(headers)
        body = b""
        more = True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        gone = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            piping = group.create_task(self._pipe(scope, headers, body, send, gone))
            leaving = group.create_task(self._leave(receive, gone, piping))
            piping.add_done_callback(lambda _: leaving.cancel())

    async def _leave(self, receive: Receive, gone: asyncio.Event, piping: asyncio.Task[None]) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()
        if self.notices == "at once":
            piping.cancel()

    async def _pipe(self, scope: Scope, headers: dict[str, str], body: bytes, send: Send, gone: asyncio.Event) -> None:
        query = scope["query_string"].decode()
        url = self.target + scope["path"] + (f"?{query}" if query else "")
        sent = {name: value for name, value in headers.items() if name not in HOP_BY_HOP}
        pressing = bool(self.encoding) and self.encoding in headers.get("accept-encoding", "")
        started = False
        await asyncio.sleep(self.holds.pop(0) if self.holds else 0)
        end = asyncio.get_running_loop().time() + self.total_s
        async with http_client(timeout=None, trust_env=False) as http:
            try:
                async with asyncio.timeout_at(self._limit(end)):
                    upstream = http.build_request(scope["method"], url, headers={**sent, "accept-encoding": "identity"}, content=body)
                    response = await http.send(upstream, stream=True)
                pieces = self._in_time(response, end)
                async for piece in self.bend(pieces) if pressing or not self.encoding else passing(pieces):
                    if self.notices == "at a write" and gone.is_set():
                        return
                    if piece:
                        if not started:
                            await send(self._start(response, pressing=pressing))
                            started = True
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
            except TimeoutError as late:
                if started:
                    raise Cut from late
                words = (TOTAL if asyncio.get_running_loop().time() >= end else IDLE).encode()
                await send({"type": "http.response.start", "status": 504, "headers": [(b"content-type", b"text/plain")]})
                await send({"type": "http.response.body", "body": words})
                return
            if not started:
                await send(self._start(response, pressing=False))
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _limit(self, end: float) -> float:
        return min(end, asyncio.get_running_loop().time() + self.idle_s)

    async def _in_time(self, response: httpx.Response, end: float) -> Pieces:
        pieces = response.aiter_raw()
        while True:
            try:
                async with asyncio.timeout_at(self._limit(end)):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            yield piece

    def _start(self, response: httpx.Response, *, pressing: bool) -> Message:
        headers = {name: value for name, value in response.headers.items() if name not in HOP_BY_HOP}
        changes = {**self.changes, **({"content-encoding": self.encoding, "content-length": None} if pressing else {})}
        kept = {name: value for name, value in {**headers, **changes}.items() if value is not None}
        raw = [(name.encode(), value.encode()) for name, value in kept.items()]
        return {"type": "http.response.start", "status": response.status_code, "headers": raw}
