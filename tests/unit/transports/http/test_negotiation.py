"""Which representation a request gets, for every form of Accept that clients send."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middle_core.transports.http.negotiation import wants_stream

STREAM = [
    "text/event-stream",
    "Text/Event-Stream",
    "TEXT/EVENT-STREAM",
    " text/event-stream ",
    "text/event-stream; charset=utf-8",
    'text/event-stream; x="a, b; q=0"',
    "text/event-stream;q=1",
    "text/event-stream;q=1.000",
    "text/event-stream ; q=0.3",
    "text/event-stream;Q=0.3",
    "application/json, text/event-stream",
    "text/event-stream, application/json",
    "application/json;q=0.9, text/event-stream",
    "text/event-stream;q=0.9, application/json;q=0.8",
    "text/event-stream, */*",
    "text/event-stream, */*;q=0.1",
    "text/html, text/event-stream;q=0.5",
    "application/json;q=0, text/event-stream;q=0.1",
    "text/event-stream;q=0.5, application/*;q=0.4",
    "application/json;q=0.2, text/event-stream;q=0.5, */*",
    ",, text/event-stream ,",
]
JSON = [
    None,
    "",
    "*/*",
    "application/json",
    "Application/JSON",
    "text/*",
    "text/html",
    "text/plain, */*;q=0.8",
    "application/problem+json",
    "text/event-stream;q=0",
    "text/event-stream;q=0.000, */*",
    "text/event-stream;q=0.5, application/json",
    "text/event-stream;q=0.5, */*",
    "text/event-stream;q=0.5, application/*;q=0.6",
    "application/json, text/event-stream;q=0.9",
    "text/event-stream;q=2",
    "text/event-stream;q=-1",
    "text/event-stream;q=0.5555",
    "text/event-stream;q=",
    "text/event-stream;q=abc",
    "text/event-stream-not",
    "x-text/event-stream",
    'application/json; x="text/event-stream"',
    "text/event-stream q=1",
]


@pytest.mark.parametrize("accept", STREAM)
def test_a_stream_is_sent_to_whom_names_it(accept: str) -> None:
    assert wants_stream(accept)


@pytest.mark.parametrize("accept", JSON)
def test_everybody_else_gets_json(accept: str | None) -> None:
    assert not wants_stream(accept)


@given(st.text(max_size=200))
def test_nothing_that_a_header_may_hold_is_an_error(accept: str) -> None:
    assert wants_stream(accept) in {True, False}
    assert not wants_stream(accept.replace("event", "evenl"))


@pytest.mark.parametrize("piece", ['"\\', '"', '"a', "\\", 'a;b="\\"', ",", ";q=", "text/event-stream;q=0.1,"])
def test_a_long_header_takes_no_long_time(piece: str) -> None:
    began = time.process_time()
    wants_stream(piece * (64_000 // len(piece)))
    assert time.process_time() - began < 1


def test_a_quoted_text_that_is_never_closed_goes_to_the_end() -> None:
    assert not wants_stream('application/json; x="a, text/event-stream')
    assert wants_stream('text/event-stream; x="a, application/json')


@given(st.permutations(["application/json;q=0.4", "text/event-stream;q=0.6", "*/*;q=0.5", "text/*;q=1"]))
def test_the_order_means_nothing(ranges: list[str]) -> None:
    assert wants_stream(", ".join(ranges))
