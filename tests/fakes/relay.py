"""A TCP relay on a fixed loopback port. The server behind it may be killed, started on another port, or cut off in the middle of an answer.

    async with Relay(port_of_the_server) as relay:
        relay.cuts.append(Cut(after=700, hard=True))   # the next event stream ends so many bytes after its beginning
        relay.answers.clear()                          # hold every answer back; `answers.set()` lets them go
        relay.target = another_port                    # where new connections go; None refuses them
        relay.header("authorization")                  # what the clients sent, byte for byte

It knows just enough HTTP/1.1 to tell an event stream from other answers. Everything it relays is as it came.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

STREAM = b"text/event-stream"
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class Cut:
    """after: bytes of the answer (its head included) that still arrive. hard: reset the connection, else close it."""

    after: int
    hard: bool = True


@dataclass(eq=False)
class _Connection:
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    received: bytearray = field(default_factory=bytearray)
    left: int | None = None
    """Bytes of the current answer that still pass; None: all of them."""
    hard: bool = True
    streaming: bool = False

    def close(self, *, hard: bool = False) -> None:
        for writer in (self.client, self.server):
            if hard:
                writer.transport.abort()
            else:
                writer.close()


class Relay:
    """Relays while its context is open; `port` and `url` say where."""

    def __init__(self, target: int | None = None) -> None:
        self.target = target
        self.cuts: deque[Cut] = deque()
        """Cuts for the next event streams, one for each."""
        self.done: list[Cut] = []
        """The cuts that have happened."""
        self.answers = asyncio.Event()
        self.answers.set()
        self._connections: list[_Connection] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop(self) -> None:
        """Reset every connection that is open."""
        for connection in self._connections:
            connection.close(hard=True)

    def forget(self) -> None:
        """Forget what was received so far."""
        for connection in self._connections:
            connection.received.clear()

    def header(self, name: str) -> list[bytes]:
        """The header's value in each request that had it, in the order of connections."""
        pattern = re.compile(rb"^" + re.escape(name.encode()) + rb":[ \t]*(.*?)[ \t]*\r$", re.IGNORECASE | re.MULTILINE)
        return [value for connection in self._connections for value in pattern.findall(bytes(connection.received))]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._relay(reader, writer)
        finally:
            await _closed(writer)
            self._tasks.discard(task)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.target is None:
                raise ConnectionRefusedError
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(client=writer, server=to_server)
        self._connections.append(connection)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, connection))
                group.create_task(self._back(from_server, connection))
        finally:
            await _closed(to_server)

    async def _forward(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        """Forward requests. A new request cancels the cut that waited for the last answer."""
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK_BYTES):
                connection.received += data
                connection.streaming, connection.left = False, None
                connection.server.write(data)
                await connection.server.drain()
        connection.close()

    async def _back(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        """Forward answers."""
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK_BYTES):
                await self.answers.wait()
                if not connection.streaming and STREAM in data and self.cuts:
                    cut = self.cuts.popleft()
                    self.done.append(cut)
                    connection.left, connection.hard = cut.after, cut.hard
                connection.streaming = connection.streaming or STREAM in data
                if connection.left is not None:
                    data, connection.left = data[: connection.left], connection.left - len(data)
                connection.client.write(data)
                await connection.client.drain()
                if connection.left is not None and connection.left <= 0:
                    connection.close(hard=connection.hard)
                    return
        connection.close()


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close it, and wait for that: the loop must not end with the socket open."""
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
