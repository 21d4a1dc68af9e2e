"""Bytes are timed when they arrive, and events when their last byte arrives, whatever the encoding."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.probe.wire import MAX_BYTES, Taken, Undecodable, Unprobed, decoder, take
from tests.fakes.http_server import HttpServer, always, answer, http_client


def br(data: bytes) -> bytes:
    press = brotli.Compressor(quality=1)
    return bytes(press.process(data) + press.finish())


PRESSED: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": lambda data: zlib.compress(data, wbits=31),
    "deflate": zlib.compress,
    "br": br,
}
STREAM = {"content-type": "text/event-stream"}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PRESSED)), st.binary(max_size=2_000), st.integers(1, 50))
def test_any_pieces_decode_to_the_whole(encoding: str, data: bytes, size: int) -> None:
    wire = PRESSED[encoding](data)
    decode = decoder(encoding)
    assert b"".join(decode(wire[at : at + size]) for at in range(0, len(wire), size)) == data


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_what_is_not_compressed_as_it_says(encoding: str) -> None:
    with pytest.raises(Undecodable):
        decoder(encoding)(b"data: plain text\n\n" * 10)


def test_an_encoding_that_nobody_asked_for() -> None:
    with pytest.raises(Undecodable, match="zstd"):
        decoder("zstd")


async def taken(response: bytes | None, **options: Any) -> Taken:
    async with HttpServer(always(response)) as server, http_client() as client:
        return await take(client, "GET", server.url, headers={}, quiet_s=5, total_s=5, **options)


async def test_a_stream_that_cannot_be_decoded_is_timed_all_the_same() -> None:
    got = await taken(answer(200, b"x" * 100, {**STREAM, "content-encoding": "zstd"}))
    assert got.frames == []
    assert sum(size for _, size in got.reads) == 100
    assert "zstd" in got.undecodable


@pytest.mark.parametrize(("response", "end"), [
    (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n3\r\n: a\r\n", "closed"),
    (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: a\n\n", "ended"),
    (b"not http at all", "closed"),
    (None, "closed"),
])  # fmt: skip
async def test_how_it_ended(response: bytes | None, end: str) -> None:
    assert (await taken(response)).end == end


async def test_our_patience_ends_a_silence_and_until_ends_what_was_enough() -> None:
    async def never(_: Any) -> bytes | None:
        raise AssertionError("the request is not complete")

    async with HttpServer(never) as server, http_client() as client:
        promised = {"content-length": "5"}
        got = await take(client, "POST", server.url, headers=promised, body=b"12345", quiet_s=0.2, total_s=5)
    assert got.status in {0, 200}
    enough = await taken(answer(200, b"data: 1\n\ndata: 2\n\n", STREAM), until=lambda so_far: len(so_far.frames) >= 1)
    assert enough.end == "left"


async def test_what_is_no_stream_is_read_to_a_bound() -> None:
    got = await taken(answer(500, b"y" * 100_000))
    assert not got.streaming
    assert len(got.body) == 4096


@pytest.mark.parametrize("encoding", ["gzip", "br"])
async def test_a_bomb_is_left(encoding: str) -> None:
    bomb = PRESSED[encoding]((b": " + b"x" * 100_000 + b"\n\n") * (2 * MAX_BYTES // 100_000))
    got = await taken(answer(200, bomb, {**STREAM, "content-encoding": encoding}))
    assert got.end == "left"


async def test_a_frame_without_end_is_left_unread() -> None:
    got = await taken(answer(200, b"data: " + b"x" * 2_000_000, STREAM))
    assert "more than" in got.undecodable


async def test_no_tls_there(origin: str) -> None:
    async with http_client() as client:
        with pytest.raises(Unprobed) as why:
            await take(client, "GET", origin.replace("http", "https"), headers={}, quiet_s=5, total_s=5)
    assert why.value.code == "tls"
