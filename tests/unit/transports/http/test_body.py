"""A body is read within limits of size and time, or refused in words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import Request

from middle_core.errors import InvalidRequest, TooLarge
from middle_core.transports.http.body import parse_json, read_json


def request(*pieces: bytes, ends: bool = True, headers: Sequence[tuple[bytes, bytes]] = ()) -> Request:
    """A request whose body comes in these pieces. If it does not end, nothing more comes after them."""
    waiting = list(pieces)

    async def receive() -> dict[str, Any]:
        if waiting:
            piece = waiting.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(waiting) or not ends}
        await asyncio.Event().wait()
        raise AssertionError

    return Request({"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json"), *headers]}, receive)


async def test_pieces_make_one_body() -> None:
    assert (await read_json(request(b'{"a"', b": [1, ", b"2]}"), max_bytes=100)).value == {"a": [1, 2]}


def test_the_digest_is_of_what_is_said_and_not_of_how_it_is_written() -> None:
    assert parse_json(b'{"a": 1, "b": [2]}').digest == parse_json(b'{"b":[2],\n"a":1}').digest
    assert parse_json(b'{"a": 1}').digest != parse_json(b'{"a": "1"}').digest


@pytest.mark.parametrize("text", [b"{", b"NaN", b"1e999", b'"\\ud800"', b"[" * 400 + b"]" * 400])
def test_what_is_no_json_for_everybody_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_json(text)


def test_a_number_is_what_a_browser_reads() -> None:
    assert parse_json(b"[100000000000000000000]").value == [1e20]


async def test_an_upload_that_stands_still_is_not_waited_for() -> None:
    with pytest.raises(InvalidRequest, match=r"within 0\.01 s\. Send it again"):
        await read_json(request(b'{"a"', ends=False), max_bytes=100, within_s=0.01)


async def test_too_large_is_refused_by_its_declaration_and_by_what_comes() -> None:
    with pytest.raises(TooLarge):
        await read_json(request(ends=False, headers=[(b"content-length", b"101")]), max_bytes=100)
    with pytest.raises(TooLarge):
        await read_json(request(b"[" * 60, b"[" * 60, ends=False), max_bytes=100)
