"""What each hop does for the server behind it, so that the server need not: a request's head has an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel
from tests.fakes.stack import stack
from tests.integration.hops import HOPS, Hop, Made
from tests.integration.lab import port_of

ENOUGH = 50_000_000
"""Bytes of a head that a hop must not take."""
BEGINNINGS = {
    "one header": (b"GET /healthz HTTP/1.1\r\nx: ", b"a" * 65_536),
    "many headers": (b"GET /healthz HTTP/1.1\r\nhost: x\r\n", b"x: y\r\n" * 10_000),
    "path": (b"GET /", b"a" * 65_536),
}


@asynccontextmanager
async def connected(hop: Hop) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", hop.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def refused(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, piece: bytes) -> bool:
    """Send the piece again and again, until the hop says 4xx or is gone. False if it takes `ENOUGH`."""
    try:
        for _ in range(ENOUGH // len(piece)):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)  # for what came in the meantime
            if reader._buffer:  # type: ignore[attr-defined]  # reading would wait, and there may be nothing
                return (await reader.read(12)).startswith(b"HTTP/1.1 4")
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("hop", HOPS)
async def test_a_head_that_never_ends_does_not_reach_the_server(hop: Made, beginning: str, tmp_path: Path) -> None:
    first, piece = BEGINNINGS[beginning]
    async with stack(tmp_path, agents={"default": chat(ScriptedModel(turns=[]))}) as server, hop(tmp_path, port_of(server)) as front:
        connections = server.server.server_state.connections
        assert not connections
        async with connected(front) as (reader, writer), asyncio.timeout(30):
            writer.write(first)
            assert await refused(reader, writer, piece)
        assert not connections
