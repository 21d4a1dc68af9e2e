"""The relay of the browser tests cuts where it is told to, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.http_server import HttpServer, always, answer
from tests.fakes.relay import Cut, Relay

STREAM = answer(200, b"data: 0123456789\n\n" * 50, {"Content-Type": "text/event-stream"})
PAGE = answer(200, b"x" * 900, {"Content-Type": "text/html"})
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc.def\r\n\r\n"


async def ask(relay: Relay) -> bytes:
    """All bytes of one answer; a reset ends it like a close."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    got = bytearray()
    try:
        writer.write(REQUEST)
        async with asyncio.timeout(5):
            while data := await reader.read(4096):
                got += data
    except ConnectionResetError:
        pass  # a hard cut
    finally:
        writer.close()
    return bytes(got)


def port_of(server: HttpServer) -> int:
    return int(server.url.rpartition(":")[2])


async def test_what_passes_is_as_it_came() -> None:
    async with HttpServer(always(STREAM)) as server, Relay(port_of(server)) as relay:
        assert await ask(relay) == STREAM
        assert relay.header("authorization") == [b"Bearer abc.def"]
        relay.forget()
        assert relay.header("authorization") == []


@pytest.mark.parametrize("after", [1, 17, 100, len(STREAM) - 1])
async def test_a_soft_cut_lets_exactly_so_many_bytes_through(after: int) -> None:
    async with HttpServer(always(STREAM)) as server, Relay(port_of(server)) as relay:
        relay.cuts.append(Cut(after=after, hard=False))
        assert await ask(relay) == STREAM[:after]
        assert await ask(relay) == STREAM, "one cut, one stream"
        assert relay.done == [Cut(after=after, hard=False)]


async def test_a_hard_cut_lets_no_more_through() -> None:
    async with HttpServer(always(STREAM)) as server, Relay(port_of(server)) as relay:
        relay.cuts.append(Cut(after=60))
        got = await ask(relay)
        assert STREAM[:60].startswith(got)


async def test_only_event_streams_are_cut() -> None:
    async with HttpServer(always(PAGE)) as server, Relay(port_of(server)) as relay:
        relay.cuts.append(Cut(after=10))
        assert await ask(relay) == PAGE
        assert list(relay.cuts) == [Cut(after=10)]


async def test_held_answers_and_targets_that_are_gone() -> None:
    async with HttpServer(always(PAGE)) as server, Relay(port_of(server)) as relay:
        relay.answers.clear()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(ask(relay))
            await asyncio.wait_for(server.arrived.wait(), 5)
            assert not asking.done()
            relay.answers.set()
        assert asking.result() == PAGE
        relay.target = None
        assert await ask(relay) == b""
