"""A slow line: answers pass in pieces of random size. So a cut can fall at any byte, also within a frame or a character."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Self


class Trickle:
    """Relays to `target` while its context is open. pieces: the most bytes at once. pause_s: between two pieces."""

    def __init__(self, target: int, *, seed: int, pieces: int = 200, pause_s: float = 0.003) -> None:
        self._target = target
        self._dice = random.Random(seed)
        self._pieces = pieces
        self._pause_s = pause_s
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        """How many there have been."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, to_server, whole=True))
                group.create_task(self._pass(from_server, writer, whole=False))
        finally:
            self._tasks.discard(task)
            for each in (writer, to_server):
                each.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, whole: bool) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(64 * 1024 if whole else self._dice.randint(1, self._pieces)):
                writer.write(data)
                await writer.drain()
                if not whole:
                    await asyncio.sleep(self._pause_s)
        writer.close()
