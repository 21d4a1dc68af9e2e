"""Each header of a stream: which values are right, which are wrong, and that the probe says why."""

from __future__ import annotations

import pytest

from middle_core.probe.headers import check_headers
from middle_core.probe.report import Level
from middle_core.transports.sse.streams import HEADERS

OURS = {name.lower(): value for name, value in HEADERS.items()}


def levels(**changes: str | None) -> dict[str, Level]:
    headers = {**OURS, **{name.replace("_", "-"): value for name, value in changes.items()}}
    checks = check_headers({name: value for name, value in headers.items() if value is not None})
    assert all(check.words for check in checks if check.level is not Level.OK)
    return {check.name: check.level for check in checks if check.level is not Level.OK}


def test_our_own_are_right() -> None:
    assert levels() == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"content_type": None}, {"content-type": Level.BAD}),
        ({"content_type": "text/html"}, {"content-type": Level.BAD}),
        ({"content_type": "TEXT/EVENT-STREAM"}, {}),
        ({"cache_control": None}, {"cache-control": Level.WARN}),
        ({"cache_control": "no-cache"}, {"cache-control": Level.WARN}),
        ({"cache_control": "No-Transform,no-cache"}, {}),
        ({"x_accel_buffering": None}, {"x-accel-buffering": Level.WARN}),
        ({"x_accel_buffering": "yes"}, {"x-accel-buffering": Level.WARN}),
        ({"content_length": "10"}, {"content-length": Level.BAD}),
        ({"content_encoding": "gzip"}, {"content-encoding": Level.WARN}),
        ({"content_encoding": "identity"}, {}),
    ],
)
def test_what_is_not(changes: dict[str, str | None], expected: dict[str, Level]) -> None:
    assert levels(**changes) == expected
