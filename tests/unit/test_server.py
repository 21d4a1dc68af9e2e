"""Limits of one connection: request heads that never end, and requests that come before the last answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from middle_core.server import AT_ONCE, HEAD_BYTES, PatientProtocol
from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import Stack, stack
from tests.fakes.until import until

HEALTH = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


class Hasty(PatientProtocol):
    """Waits for a head a fifth of a second instead of a minute."""

    head_s = 0.2


@asynccontextmanager
async def connected(server: Stack) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def flood(writer: asyncio.StreamWriter, piece: bytes) -> int:
    """Send until the other side stops reading. Returns the number of bytes that it took, which must be below 50 MB."""
    sent = 0
    try:
        while sent < 50_000_000:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    except ConnectionError:
        pass
    return sent


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"GET /healthz HTTP/1.1\r\nx: ", b"a" * HEAD_BYTES),
        (b"GET /healthz HTTP/1.1\r\n", b"x: y\r\n" * 10_000),
        (b"GET /", b"a" * HEAD_BYTES),
        (b"", b"\r\n" * HEAD_BYTES),
        (b"POST /chat HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 10_000),
    ],
    ids=["one header", "many headers", "path", "empty lines", "trailers"],
)
async def test_a_head_that_never_ends_is_refused(tmp_path: Path, beginning: bytes, piece: bytes) -> None:
    async with stack(tmp_path, agents={"default": chat(ScriptedModel(turns=[]))}) as server, connected(server) as (_, writer):
        writer.write(beginning)
        await writer.drain()
        async with asyncio.timeout(10):
            assert await flood(writer, piece) < 50_000_000
        assert (await server.get("/healthz")).status_code == 200


async def test_a_head_that_is_too_long_is_told_so(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": chat(ScriptedModel(turns=[]))}) as server, connected(server) as (reader, writer):
        [protocol] = await seen(server)
        for piece in (b"GET /healthz HTTP/1.1\r\nx: ", b"a" * HEAD_BYTES, b"a"):
            protocol.data_received(piece)
        answer = await asyncio.wait_for(reader.read(), 5)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(b"The head of the request is too long.")
        assert not writer.is_closing()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nx: ", HEALTH + b"GET"], ids=["nothing", "half", "half of the second"])
async def test_a_head_that_does_not_come_frees_its_connection(tmp_path: Path, sent: bytes) -> None:
    async with (
        stack(tmp_path, agents={"default": chat(ScriptedModel(turns=[]))}, protocol=Hasty) as server,
        connected(server) as (reader, writer),
    ):
        writer.write(sent)
        async with asyncio.timeout(10):
            answers = await reader.read()
        assert answers.count(b"200 OK") == sent.count(HEALTH)


async def test_an_answer_may_take_longer_than_a_head(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["half", gate, "whole", finish()]])
    async with stack(tmp_path, agents={"default": chat(model)}, protocol=Hasty) as server:
        async with server.say("hi") as reader:
            await reader.until_text("half")
            asyncio.get_running_loop().call_later(3 * Hasty.head_s, gate.set)
            await reader.rest()
        assert reader.text == "halfwhole"


async def test_a_large_body_is_no_long_head(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[["ok", finish()]]))}) as server:
        answer = await server.post("/chat", {"message": "x" * 3_000_000}, headers={"x-long": "y" * 40_000})
        assert answer.json()["status"] == "completed"


async def test_many_requests_on_one_connection_are_answered(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": chat(ScriptedModel(turns=[]))}) as server, connected(server) as (reader, writer):
        for at_once in [1, AT_ONCE] * 3:
            writer.write(HEALTH * at_once)
            got = b""
            async with asyncio.timeout(5):
                while got.count(b"HTTP/1.1 200 OK") < at_once or not got.endswith(b"}"):
                    got += await reader.read(65_536)


async def test_too_many_requests_at_once_are_cut(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": chat(ScriptedModel(turns=[]))}) as server, connected(server) as (reader, writer):
        writer.write(HEALTH * 10_000)
        got = b""
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                while piece := await reader.read(65_536):
                    got += piece
        assert got.count(b"HTTP/1.1 200 OK") <= AT_ONCE


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_who_asks_for_more_meanwhile_and_leaves_has_left_both(tmp_path: Path, accept: str) -> None:
    model = ScriptedModel(turns=[["half", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": chat(model)}, disconnect_grace_s=0) as server, connected(server) as (_, writer):
        body = json.dumps({"message": "hi", "thread_id": "t1"}).encode()
        lines = ["POST /chat HTTP/1.1", "host: x", f"accept: {accept}", *(f"{name}: {value}" for name, value in server.headers().items())]
        lines += ["content-type: application/json", f"content-length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await until(lambda: bool(model.seen))
        [protocol] = [one for one in await seen(server) if one.cycle and not one.cycle.response_complete]
        first = protocol.cycle
        writer.write(HEALTH)
        await until(lambda: protocol.cycle is not first)
        writer.transport.abort()
        await until(lambda: model.ended == ["cancelled"])


async def seen(server: Stack) -> list[Any]:
    """The server's side of its connections."""
    await until(lambda: bool(server.server.server_state.connections))
    return list(server.server.server_state.connections)
