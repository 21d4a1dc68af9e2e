"""A client that stops reading is cut, a slow one is not. Neither loses anything, because the events are in the log."""

from __future__ import annotations

import asyncio
import fcntl
import json
import socket
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from middle_core.http_server.connection import UNSENT, Connection
from tests.fakes.graphs import Graph, chat
from tests.fakes.models import ScriptedModel
from tests.fakes.stack import Stack, run_input, stack, user
from tests.fakes.until import until

PIECE = 131_072
"""More than one record of the log, which is written to the socket at once."""
PIECES = [f"<{n}>" + "x" * 100_000 for n in range(100)]
"""More bytes than the kernel's buffers of a connection."""


PACE_S = 0.03
"""The slow client's own, behind each piece that it reads."""


class Hasty(Connection):
    """Waits a second instead of a minute."""

    stalled_s = 1.0


@asynccontextmanager
async def asking(server: Stack) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A raw connection that has asked for the speech, with little room for the answer."""
    plug = socket.socket()
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    plug.setblocking(False)
    host, port = server.url.removeprefix("http://").split(":")
    await asyncio.get_running_loop().sock_connect(plug, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=plug, limit=65_536)
    body = json.dumps(run_input(user("speak"))).encode()
    lines = ["POST /copilotkit HTTP/1.1", f"host: {host}", *(f"{name}: {value}" for name, value in server.headers().items())]
    lines += ["content-type: application/json", f"content-length: {len(body)}", "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def speaker() -> Graph:
    return chat(ScriptedModel(turns=[PIECES]))


async def test_who_reads_nothing_is_cut_and_the_run_goes_on(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": speaker()}, protocol=Hasty) as server, asking(server) as (_, writer):
        connections = server.server.server_state.connections
        await until(lambda: any(one.transport.get_write_buffer_size() for one in connections), within_s=30)
        [stalled] = [one for one in connections if one.transport.get_write_buffer_size()]
        await until(lambda: stalled not in connections, within_s=30)
        assert not writer.transport.is_closing(), "the client did nothing"
        thread = (await server.get("/threads/t1")).json()
        async with server.follow((thread["activeRun"] or thread["lastRun"])["runId"]) as again:
            await again.rest()
        whole = again.text == "".join(PIECES)
        assert whole, "the run went on, and all of it is there"


def in_the_kernel(plug: Any) -> int:
    """Bytes that the kernel keeps for the socket's peer."""
    return int.from_bytes(fcntl.ioctl(plug.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)


async def test_the_kernel_keeps_little_for_who_reads_nothing_and_nothing_after_the_cut(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": speaker()}, protocol=Hasty) as server, asking(server) as (reader, writer):
        connections = server.server.server_state.connections
        await until(lambda: any(one.transport.get_write_buffer_size() for one in connections), within_s=30)
        [stalled] = [one for one in connections if one.transport.get_write_buffer_size()]
        plug = stalled.transport.get_extra_info("socket")
        client = writer.get_extra_info("socket")
        window = client.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        assert in_the_kernel(plug) <= UNSENT + window + PIECE
        await until(lambda: stalled not in connections, within_s=30)
        # A socket that is closed in the usual way goes on offering the rest and says goodbye behind it; this one is reset.
        with pytest.raises(ConnectionResetError):
            while await reader.read(262_144):
                pass


async def test_who_reads_slowly_gets_all_of_it(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": speaker()}, protocol=Hasty) as server, asking(server) as (reader, _):
        got = bytearray()
        started = asyncio.get_running_loop().time()
        async with asyncio.timeout(60):
            while b'"RUN_FINISHED"' not in got[-2_000:]:
                piece = await reader.read(262_144)
                assert piece, "it was cut"
                got += piece
                await asyncio.sleep(PACE_S)
        assert asyncio.get_running_loop().time() - started > Hasty.stalled_s, "slower than the patience with who reads nothing"
        assert [got.count(f"<{n}>x".encode()) for n in range(len(PIECES))] == [1] * len(PIECES)
