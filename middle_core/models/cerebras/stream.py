"""One request to Cerebras and its stream: bytes in, frames of JSON out, closed on every way out.

It knows the connection; what the bytes mean is `cerebras_wire`'s, whether to ask again is the model's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import cast

import httpx
import orjson
from cerebras.cloud.sdk import AsyncCerebras, AsyncStream
from cerebras.cloud.sdk.types.chat import ChatCompletion

from middle_core.models.cerebras.errors import StreamedError, StreamFault
from middle_core.models.cerebras.wire import Answer, FrameReader, Json, shows

DRAIN_S = 0.25
"""How long the end of a body may take after the end marker."""


async def exchange(client: AsyncCerebras, body: Json, answer: Answer, frame_s: float) -> AsyncGenerator[Json | None, None]:
    """One request and the frames of its stream, None for the end marker; closed on every way out. Raises one of `FAULTS`.

    Of the SDK's stream only the response is used: its decoder ends alike with and without `[DONE]`, and the difference is a lost answer.
    """
    reader = FrameReader()
    create = client.chat.completions.create
    async with cast("AsyncStream[ChatCompletion]", await create(**body, stream=True, stream_options={"include_usage": True})) as stream:
        # Not compressed, so these are the bytes of the body (`ChatCerebras` asks for that).
        pieces = stream.response.aiter_raw()
        async for piece in _by_the_frame(pieces, frame_s, answer):
            for data in _events(reader, piece):
                if data == b"[DONE]":
                    yield None
                    await _drain(pieces)
                    return
                yield _frame(data, answer)
    raise StreamFault("The stream ended without its end marker.")


async def _by_the_frame(pieces: AsyncIterator[bytes], frame_s: float, answer: Answer) -> AsyncIterator[bytes]:
    """The pieces, with a pause of up to a frame between reads of the socket once the answer has begun.

    Reading the socket for every token costs more than all that is done with the token. A piece is no read: one read may bring many
    of them, and those come without the event loop taking a turn. So a turn tells a read. Two reads make a frame: one waits for
    whatever comes next, and is held until the frame is over; the other then takes all that has come in meanwhile.
    """
    loop = asyncio.get_running_loop()
    due, takes_all, turned = 0.0, False, True

    def turn() -> None:
        nonlocal turned
        turned = True

    while True:
        if turned:
            turned = False
            watch = loop.call_soon(turn)
        piece = await anext(pieces, None)
        if piece is None:
            watch.cancel()
            return
        if turned and answer.begun and frame_s:
            if not takes_all:
                await asyncio.sleep(due - loop.time())
                due = loop.time() + frame_s
            takes_all = not takes_all
        yield piece


def _events(reader: FrameReader, piece: bytes) -> list[bytes]:
    try:
        return reader.feed(piece)
    except ValueError as broken:
        raise StreamFault("The stream is not made of events.") from broken


def _frame(data: bytes, answer: Answer) -> Json:
    try:
        frame: Json = orjson.loads(data)
        if error := frame.get("error"):
            raise StreamedError(int(frame.get("status_code") or 500), error if isinstance(error, dict) else {})
        answer.begun = shows(frame) or answer.begun
    except (ValueError, AttributeError, TypeError, LookupError) as broken:
        raise StreamFault("The stream holds something that is not a chat completion chunk.") from broken
    return frame


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the few bytes after the end marker: only a body read to its end leaves the connection usable for the next call."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                pass
