"""One request to Cerebras and the stream of its answer: bytes in, JSON frames out.

This module knows the connection only. `answer` knows what a frame means, and `model` decides whether to ask again.
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

from middle_core.models.cerebras.answer import Answer, FrameReader, is_visible
from middle_core.models.cerebras.errors import StreamedError, StreamFault
from middle_core.models.cerebras.request import Json

DRAIN_S = 0.25
"""Seconds that the end of the body may take after the end marker."""


async def stream_frames(client: AsyncCerebras, body: Json, answer: Answer, frame_s: float) -> AsyncGenerator[Json | None, None]:
    """Send one request and yield the JSON frames of its answer, then None when the end marker `[DONE]` has come.

    The connection is released whenever this generator is closed: at the end, after an error, or when its reader leaves.

    The SDK's own iterator over the stream is not used. It ends in the same way whether `[DONE]` came or the connection was cut,
    so an answer that lost its end would look complete. Here a stream without `[DONE]` raises `StreamFault`.

    Args:
        client: the SDK's client, whose connections are reused.
        body: the request's JSON body, without `stream`.
        answer: told when the answer has begun to show something.
        frame_s: seconds for which arriving tokens are collected before the socket is read again; 0 reads at once.

    Raises:
        one of `models.cerebras.errors.FAULTS`.
    """
    reader = FrameReader()
    create = client.chat.completions.create
    async with cast("AsyncStream[ChatCompletion]", await create(**body, stream=True, stream_options={"include_usage": True})) as stream:
        # The raw bytes are the body itself: the request asks for `Accept-Encoding: identity`.
        pieces = stream.response.aiter_raw()
        async for piece in _paced(pieces, frame_s, answer):
            for data in _events(reader, piece):
                if data == b"[DONE]":
                    yield None
                    await _drain(pieces)
                    return
                yield _frame(data, answer)
    raise StreamFault("The stream ended without its end marker.")


async def _paced(pieces: AsyncIterator[bytes], frame_s: float, answer: Answer) -> AsyncIterator[bytes]:
    """The pieces of the body, with a pause of up to `frame_s` seconds between reads of the socket once the answer has begun.

    A read of the socket for each token would cost more than everything that is done with the token. The iterator does not say
    when it reads: one read may bring many pieces, which then come without a turn of the event loop. So a turn of the loop
    before a piece means that the socket was read for it.

    Reads come in pairs. The first of a pair waits for the next byte of the provider, and its piece is held until the frame is
    over. The second then takes everything that has arrived in the meantime, without a pause.
    """
    loop = asyncio.get_running_loop()
    due, is_second, loop_turned = 0.0, False, True

    def turn() -> None:
        nonlocal loop_turned
        loop_turned = True

    while True:
        if loop_turned:
            loop_turned = False
            watch = loop.call_soon(turn)
        piece = await anext(pieces, None)
        if piece is None:
            watch.cancel()
            return
        if loop_turned and answer.begun and frame_s:
            if not is_second:
                await asyncio.sleep(due - loop.time())
                due = loop.time() + frame_s
            is_second = not is_second
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
        answer.begun = is_visible(frame) or answer.begun
    except (ValueError, AttributeError, TypeError, LookupError) as broken:
        raise StreamFault("The stream holds something that is not a chat completion chunk.") from broken
    return frame


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the few bytes after the end marker. The connection can serve the next call only if the body was read to its end."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                pass
