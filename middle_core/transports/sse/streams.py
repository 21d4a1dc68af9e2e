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

from middle_core.auth.principal import Principal
from middle_core.eventlog.records import Run
from middle_core.events import Custom, Record, custom
from middle_core.runs.service import RunService
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


async def follow(
    service: RunService,
    principal: Principal,
    run: Run,
    *,
    after: int,
    policy: StreamPolicy,
    before: Sequence[bytes] = (),
    encode: Encode,
    goodbye: Goodbye = reattach,
    hold: bool = False,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[bytes]:
    """The run's records as bytes, until the run's end, the token's end, the maximum age, or a drain.

    hold: as in `RunService.follow`. Records without bytes count as silence.
    """
    yield HELLO + b"".join(before)
    run_id = run.run_id
    opened = spoke = clock()
    ends = [(principal.expires_at, "token_expired")]
    if policy.max_stream_s:
        ends.append((opened + policy.max_stream_s, "max_age"))
    end_at, reason = min(ends)
    while True:
        left = end_at - clock()
        if left <= 0:
            service.send_away(run_id)
            yield goodbye(reason, 0)
            return
        batches = service.follow(run_id, after=after, tick_s=min(policy.heartbeat_s, left), hold=hold)
        async with aclosing(batches):
            async for batch in batches:
                chunk = b"".join(map(encode, batch))
                if batch:
                    run_id, after = batch[-1].run_id, batch[-1].seq
                over = bool(batch) and batch[-1].terminal
                if service.draining and not over:
                    service.send_away(run_id)
                    yield chunk + goodbye("drain", 1000)
                    return
                if chunk or not batch or clock() - spoke >= policy.heartbeat_s:
                    yield chunk or HEARTBEAT
                    spoke = clock()
                if over and not hold:
                    return
                if end_at - clock() < policy.heartbeat_s:
                    break  # follow again with the shorter tick, so that the end is not late
            else:
                return
