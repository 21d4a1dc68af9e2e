"""What all event streams have in common: headers, a first comment at once, heartbeats, and an end at the token's end.

The caller's `encode` makes bytes of records. This module knows no event except the hint to attach again.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import orjson
from starlette.responses import StreamingResponse

from middle_core.events import Custom, Record, custom
from middle_core.runs.follower import Follower, SentAway
from middle_core.transports.sse.frames import comment, encode_frame

HEADERS: Final = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Type": "text/event-stream; charset=utf-8",
}
HELLO: Final = comment("middle-core")
HEARTBEAT: Final = comment("keep-alive")

Encode = Callable[[Record], bytes]
Goodbye = Callable[[str, int], bytes]
"""Makes the hint before a stream closes while its run goes on. Takes the reason, and the milliseconds after which to attach again."""


@dataclass(frozen=True, slots=True)
class StreamPolicy:
    """Times of a stream, in seconds.

    Args:
        heartbeat_s: silence before a heartbeat.
        max_stream_s: age at which the stream is closed; 0 for never.
    """

    heartbeat_s: float
    max_stream_s: float


def reattach(reason: str, retry_after_ms: int) -> bytes:
    """CUSTOM `middle_core.reattach`: this stream closes and the run goes on, so attach again. It has no id, because no log has it."""
    return encode_frame(orjson.dumps(custom(Custom.REATTACH, reason=reason, retryAfterMs=retry_after_ms)))


def response(chunks: AsyncIterator[bytes], *, run_id: str | None = None) -> StreamingResponse:
    """The streaming response. Its first chunk leaves with the headers, because proxies hold both until then."""
    headers = dict(HEADERS)
    if run_id is not None:
        headers["X-Run-Id"] = run_id
    return StreamingResponse(chunks, headers=headers, media_type=None)


async def synthetic(frames: Iterable[bytes]) -> AsyncIterator[bytes]:
    """A stream whose events are all known before it starts."""
    yield HELLO + b"".join(frames)


async def event_stream(
    follower: Follower,
    *,
    policy: StreamPolicy,
    encode: Encode,
    goodbye: Goodbye = reattach,
    before: Sequence[bytes] = (),
    after: int | None = None,
    hold: bool = False,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[bytes]:
    """What a follower reads, as bytes. Records for which `encode` gives no bytes count as silence.

    Args:
        follower: from `RunService`.
        policy: heartbeat and maximum age.
        encode: the bytes of one record.
        goodbye: what is said before a stream closes whose run goes on.
        before: frames to send first.
        after: as `Follower.records`.
        hold: as `Follower.records`.
        clock: seconds since the epoch.
    """
    yield HELLO + b"".join(before)
    spoke = clock()
    items = follower.records(tick_s=policy.heartbeat_s, max_age_s=policy.max_stream_s, after=after, hold=hold, clock=clock)
    async with aclosing(items):
        async for item in items:
            if isinstance(item, SentAway):
                yield goodbye(item.reason, item.retry_after_ms)
                return
            chunk = b"".join(map(encode, item))
            if chunk or not item or clock() - spoke >= policy.heartbeat_s:
                yield chunk or HEARTBEAT
                spoke = clock()
