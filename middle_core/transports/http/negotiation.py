"""Which representation a request wants: its Accept header, read as RFC 9110 (section 12.5.1) says. Pure."""

from __future__ import annotations

import re
from typing import Final

STREAM: Final = "text/event-stream"
JSON: Final = "application/json"

_QUOTED: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A quoted string. One that is never closed goes to the end of the header. So a long header is read once, and not once for each quote."""
_QUALITY: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z", re.ASCII)


def wants_stream(accept: str | None) -> bool:
    """Whether the answer is an event stream: Accept lists `text/event-stream` with at least the q-value of `application/json`.

    Wildcards do not count for the stream, because clients send `*/*` by default. A missing header means JSON.
    """
    ranges = _ranges(accept or "")
    stream = max((q for name, q in ranges if name == STREAM), default=0.0)
    return stream > 0 and stream >= _quality(ranges, JSON)


def _quality(ranges: list[tuple[str, float]], media_type: str) -> float:
    """The q-value of a type, from the most specific range that matches it. 0 if none does."""
    for pattern in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if found := [q for name, q in ranges if name == pattern]:
            return max(found)
    return 0.0


def _ranges(accept: str) -> list[tuple[str, float]]:
    """The media ranges with their q-values, in lower case and without parameters. Malformed ranges are left out."""
    found = []
    for one in _QUOTED.sub('""', accept).split(","):
        name, *parameters = (part.strip().lower() for part in one.split(";"))
        weight = next((value.strip() for key, _, value in (part.partition("=") for part in parameters) if key.strip() == "q"), "1")
        if name and _QUALITY.match(weight):
            found.append((name, float(weight)))
    return found
