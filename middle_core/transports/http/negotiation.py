"""Which representation a request wants: its Accept header, read as RFC 9110 (section 12.5.1) says. Pure."""

from __future__ import annotations

import re
from typing import Final

STREAM: Final = "text/event-stream"
JSON: Final = "application/json"

_QUOTED: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""One that is never closed goes to the end. It matches wherever it begins, so a long header is read once and not once for each quote."""
_QUALITY: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z", re.ASCII)


def wants_stream(accept: str | None) -> bool:
    """Whether the answer is to be an event stream: it is named, and JSON is not wanted more.

    Named itself: `*/*` and `text/*`, which clients send without a thought, are JSON, as is a missing header. Where both are
    wanted alike it is the stream, which nobody names by accident.
    """
    ranges = _ranges(accept or "")
    stream = max((q for name, q in ranges if name == STREAM), default=0.0)
    return stream > 0 and stream >= _quality(ranges, JSON)


def _quality(ranges: list[tuple[str, float]], media_type: str) -> float:
    """How much a type is wanted: the most specific range that takes it in says so. 0 where none does."""
    for pattern in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if found := [q for name, q in ranges if name == pattern]:
            return max(found)
    return 0.0


def _ranges(accept: str) -> list[tuple[str, float]]:
    """The media ranges, in lower case and without their parameters, with their quality. One that is malformed is left out."""
    found = []
    for one in _QUOTED.sub('""', accept).split(","):
        name, *parameters = (part.strip().lower() for part in one.split(";"))
        weight = next((value.strip() for key, _, value in (part.partition("=") for part in parameters) if key.strip() == "q"), "1")
        if name and _QUALITY.match(weight):
            found.append((name, float(weight)))
    return found
