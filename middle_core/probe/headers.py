"""What the headers of a stream's response should say, and what it means if they do not. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from middle_core.probe.report import HeaderCheck, Level


def check_headers(headers: Mapping[str, str]) -> list[HeaderCheck]:
    """The checks, in a fixed order. headers: by lower-case name, as they came over the wire."""
    return [
        _content_type(headers.get("content-type")),
        _cache_control(headers.get("cache-control")),
        _accel(headers.get("x-accel-buffering")),
        _length(headers.get("content-length")),
        _encoding(headers.get("content-encoding")),
    ]


def _content_type(value: str | None) -> HeaderCheck:
    good = (value or "").split(";")[0].strip().lower() == "text/event-stream"
    words = "" if good else "This is no event stream to a hop, which then buffers or compresses it. Send text/event-stream."
    return HeaderCheck(name="content-type", value=value, level=Level.OK if good else Level.BAD, words=words)


def _cache_control(value: str | None) -> HeaderCheck:
    said = {part.strip().lower() for part in (value or "").split(",")}
    missing = sorted({"no-cache", "no-transform"} - said)
    words = f"Say {' and '.join(missing)}: without it a hop may cache or compress the stream." if missing else ""
    return HeaderCheck(name="cache-control", value=value, level=Level.WARN if missing else Level.OK, words=words)


def _accel(value: str | None) -> HeaderCheck:
    good = value == "no"
    words = (
        "" if good else "An nginx in front of this hop would buffer. nginx takes the header away itself, so each hop has to say it again."
    )
    return HeaderCheck(name="x-accel-buffering", value=value, level=Level.OK if good else Level.WARN, words=words)


def _length(value: str | None) -> HeaderCheck:
    words = "" if value is None else "The length is known, so somebody had the whole stream before it was sent on."
    return HeaderCheck(name="content-length", value=value, level=Level.OK if value is None else Level.BAD, words=words)


def _encoding(value: str | None) -> HeaderCheck:
    good = value in {None, "identity"}
    words = (
        ""
        if good
        else "A hop compresses the stream. Exclude text/event-stream there: compressors hold text back until there is enough of it."
    )
    return HeaderCheck(name="content-encoding", value=value, level=Level.OK if good else Level.WARN, words=words)
