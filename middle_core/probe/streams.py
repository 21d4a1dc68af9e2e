"""One stream as it was taken, with its verdict, as the report shows it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from middle_core.probe import words
from middle_core.probe.report import Stream
from middle_core.probe.verdict import Judged
from middle_core.probe.wire import Taken


def stream_of(encoding: str, taken: Taken, judged: Judged, *, sent: Sequence[float], arrived: Sequence[float]) -> Stream:
    """sent: empty where nobody told. What cannot be decoded has no events, but its bytes were timed."""
    return Stream(
        accept_encoding=encoding,
        content_encoding=taken.headers.get("content-encoding"),
        verdict=judged.verdict,
        burst=judged.burst,
        late_ms=round(judged.late, 1),
        held_ms=round(judged.held, 1),
        headers_ms=taken.headers_ms,
        first_byte_ms=taken.reads[0][0] if taken.reads else None,
        took_ms=taken.end_ms,
        ended=taken.end,
        wire_reads=len(taken.reads),
        wire_bytes=sum(size for _, size in taken.reads),
        sent_ms=[round(one, 1) for one in sent],
        arrived_ms=[round(one, 1) for one in arrived],
        words=taken.undecodable or words.meaning(judged, taken.headers, ended=taken.end),
    )
