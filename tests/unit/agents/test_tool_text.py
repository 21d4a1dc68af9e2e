"""Whatever a tool returns becomes bounded, storable text."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from middle_core.agents.tool_text import MAX_RESULT_CHARS, as_text, bounded


class Model(BaseModel):
    name: str
    day: dt.date


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Connection:
    """Its repr holds what must not be shown."""

    def __repr__(self) -> str:
        return "postgres://user:hunter2@db"


def endless() -> Iterator[int]:
    while True:
        yield 1


async def endless_too() -> AsyncIterator[int]:
    while True:
        yield 1


def cycle() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


PICTURE = {"type": "image", "source_type": "base64", "data": "aGk=", "mime_type": "image/png"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (2**80, str(2**80)),
        (float("nan"), "null"),
        ([1, "a", None], '[1,"a",null]'),
        (
            {
                "a": {
                    1,
                },
                2: "two",
            },
            '{"a":[1],"2":"two"}',
        ),
        ((), "[]"),
        (b"bytes", "bytes"),
        (b"\xff\xfe\x00", "<3 bytes of binary data>"),
        ({"raw": b"\xff"}, '{"raw":"_w=="}'),
        (Model(name="n", day=dt.date(2026, 1, 2)), '{"name":"n","day":"2026-01-02"}'),
        (Point(1, 2.5), '{"x":1,"y":2.5}'),
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), '"2026-01-02T00:00:00Z"'),
        (decimal.Decimal("1.10"), '"1.10"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Path("a/b"), '"a/b"'),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([PICTURE], json.dumps([PICTURE], separators=(",", ":"))),
        (Connection(), '"<Connection: no text form>"'),
        ({"db": Connection()}, '{"db":"<Connection: no text form>"}'),
        (endless(), "<generator: no text form>"),
        (endless_too(), "<async_generator: no text form>"),
        (cycle(), "<list: no text form>"),
        ("nul \x00 and half a pair \ud83d", "nul \N{REPLACEMENT CHARACTER} and half a pair ?"),
        ({"half": "\ud83d"}, "<dict: no text form>"),
        ("你 🌍 é \u0085 \u2028", "你 🌍 é \u0085 \u2028"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_become_text(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_a_long_text_is_cut_with_a_note_that_says_how_much_there_was() -> None:
    text = as_text("x" * 1_234_567)
    assert len(text) == MAX_RESULT_CHARS
    assert text.endswith("\n[Cut off: this is the start of 1,234,567 characters.]")
    assert as_text("x" * MAX_RESULT_CHARS) == "x" * MAX_RESULT_CHARS


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.dates()
    | st.builds(Connection),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(value=ANYTHING, limit=st.integers(60, 200))
def test_whatever_it_is_the_text_is_bounded_storable_and_shows_no_repr(value: Any, limit: int) -> None:
    text = as_text(value, limit)
    assert len(text) <= limit
    assert "\x00" not in text
    assert "hunter2" not in text
    orjson.dumps(text)


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=300), limit=st.integers(60, 200))
def test_a_bound_keeps_the_start(text: str, limit: int) -> None:
    cut = bounded(text, limit)
    assert cut == text if len(text) <= limit else text.startswith(cut.partition("\n[Cut off")[0])
