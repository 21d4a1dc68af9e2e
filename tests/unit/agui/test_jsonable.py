from __future__ import annotations

import base64
import enum
import json
from collections import OrderedDict, UserDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from middle_core.agui.jsonable import MAX_DEPTH, TooBig, content_text, json_pieces, json_size, jsonable, text

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Shout(str):  # a subclass of a plain type, as libraries make them
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


@dataclass
class Inner:
    when: date


@dataclass
class Outer:
    name: str
    inner: Inner
    tags: set[str] = field(default_factory=set)


class Model(BaseModel):
    name: str
    secret: SecretStr
    at: datetime


class Point(NamedTuple):
    x: int
    y: set[int]


class Opaque:
    def __repr__(self) -> str:
        return "Opaque(password=hunter2)"


class Picture:
    """What Pillow and matplotlib do for notebooks."""

    def _repr_png_(self) -> bytes:
        return PNG


class Array:
    def tolist(self) -> list[float]:
        return [1.0, float("nan")]


class Broken(BaseModel):
    def model_dump(self, **_: Any) -> dict[str, Any]:
        raise RuntimeError("postgres://u:p@h")


class BrokenMapping(UserDict[str, int]):
    def __getitem__(self, key: str) -> int:
        raise RuntimeError("postgres://u:p@h")


def generator() -> Iterator[int]:
    yield 1


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)

TABLE: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "true": (True, True),
    "text": ("é\u2028", "é\u2028"),
    "a surrogate pair": ("\ud83d\ude00", "😀"),
    "lone surrogates": ("\ude00a\ud83d", "\ufffda\ufffd"),
    "int": (5, 5),
    "the largest int a browser holds": (2**53 - 1, 2**53 - 1),
    "a larger one": (2**53, "9007199254740992"),
    "a huge one": (-(10**300), "-1" + "0" * 300),
    "one without a decimal text": (1 << 20000, hex(1 << 20000)),
    "float": (0.1, 0.1),
    "nan": (float("nan"), "NaN"),
    "infinity": ([float("inf"), float("-inf")], ["Infinity", "-Infinity"]),
    "decimal": (Decimal("1.10"), "1.10"),
    "datetime": (NOON, "2026-11-30T12:00:00+00:00"),
    "date and time": ([date(2026, 1, 2), time(3, 4)], ["2026-01-02", "03:04:00"]),
    "duration": (timedelta(minutes=1.5), 90.0),
    "uuid": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "path": (PurePosixPath("a/b"), "a/b"),
    "enum": ([Colour.RED, Level.HIGH], ["red", 3]),
    "a subclass of str": (Shout("hi"), "hi"),
    "bytes that are text": (b"caf\xc3\xa9", "café"),
    "other bytes": (b"\xff\x00", "data:application/octet-stream;base64,/wA="),
    "memoryview and bytearray": ([memoryview(b"a"), bytearray(b"b")], ["a", "b"]),
    "png": (PNG, "data:image/png;base64," + base64.b64encode(PNG).decode()),
    "jpeg, gif and webp": (
        [b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\x00\x00\x00\x00WEBP"],
        ["data:image/jpeg;base64,/9j/4A==", "data:image/gif;base64,R0lGODlh", "data:image/webp;base64,UklGRgAAAABXRUJQ"],
    ),
    "an image object": (Picture(), "data:image/png;base64," + base64.b64encode(PNG).decode()),
    "tuple and deque": ([(1, 2), deque([3])], [[1, 2], [3]]),
    "sets, in one order": ([{10, 9, 2}, frozenset("ba")], [[2, 9, 10], ["a", "b"]]),
    "a mixed set": ({1, "a", None}, [None, 1, "a"]),
    "named tuple": (Point(1, {2}), {"x": 1, "y": [2]}),
    "range": (range(3), [0, 1, 2]),
    "dataclass": (Outer("n", Inner(date(2026, 1, 2)), {"b", "a"}), {"name": "n", "inner": {"when": "2026-01-02"}, "tags": ["a", "b"]}),
    "pydantic, secrets hidden": (
        Model(name="n", secret=SecretStr("hunter2"), at=NOON),
        {"name": "n", "secret": "**********", "at": "2026-11-30T12:00:00+00:00"},
    ),
    "array": (Array(), [1.0, "NaN"]),
    "ordered dict": (OrderedDict(a=1), {"a": 1}),
    "keys that are no text": ({2: "a", None: "b", True: "c", (1, "x"): "d", NOON: "e", 1.5: "f", b"g": "h"} | {Opaque: "i"}, {
        "2": "a", "true": "c", "null": "b", "1,x": "d", "2026-11-30T12:00:00+00:00": "e", "1.5": "f", "g": "h", "<Opaque>": "i",
    }),
    "a key with a surrogate": ({"\ud83d": 1}, {"\ufffd": 1}),
    "an object": (Opaque(), "<Opaque>"),
    "a class, a function, a generator": ([Opaque, len, generator()], ["<Opaque>", "<builtin_function_or_method>", "<generator>"]),
    "an exception": (ValueError("postgres://u:p@h"), "<ValueError>"),
    "what raises": ([Broken(), BrokenMapping(a=1)], ["<Broken>", "<BrokenMapping>"]),
}  # fmt: skip


@pytest.mark.parametrize(("value", "wanted"), TABLE.values(), ids=TABLE)
def test_everything_has_one_json_form(value: Any, wanted: Any) -> None:
    plain = jsonable(value, budget=100_000)
    assert plain == wanted
    assert json.loads(orjson.dumps(plain)) == wanted


def test_what_holds_itself_is_named_and_what_is_shared_is_kept() -> None:
    loop: dict[str, Any] = {"shared": (shared := [1])}
    loop |= {"self": loop, "list": [loop], "again": shared}
    assert jsonable(loop, budget=1000) == {"shared": [1], "self": "<circular>", "list": ["<circular>"], "again": [1]}


def test_depth_is_bounded() -> None:
    deep: Any = "end"
    for _ in range(10_000):
        deep = [deep]
    plain = jsonable(deep, budget=100_000)
    depth = 0
    while isinstance(plain, list):
        plain, depth = plain[0], depth + 1
    assert (plain, depth) == ("<too deep>", MAX_DEPTH)


@pytest.mark.parametrize(
    "value", ["x" * 200, b"x" * 200, ["x"] * 60, {str(n): n for n in range(60)}, {"x" * 200: 1}, [[[]] * 90], list(range(200)), [None] * 60]
)
def test_a_value_over_the_budget_is_given_up(value: Any) -> None:
    with pytest.raises(TooBig):
        jsonable(value, budget=150)


def test_what_is_small_and_would_be_large_is_given_up_before_it_is_written_out() -> None:
    class Matrix:
        size = 10**12

        def tolist(self) -> list[int]:
            raise AssertionError("the array was written out")

    for value in (range(10**12), Matrix(), b"x" * 200_000):
        with pytest.raises(TooBig):
            jsonable(value, budget=10_000)


def test_deep_keys_and_members_stay_short() -> None:
    deep: Any = ()
    for _ in range(2000):
        deep = (deep,)
    assert jsonable({deep: 1, (deep, 2): 2}, budget=1000) == {"<tuple>": 1, "<tuple>,2": 2}
    assert json.dumps(jsonable({deep, 1}, budget=1000)).count("<too deep>") == 1


def test_one_object_many_times_is_given_up_before_it_is_written_out() -> None:
    bomb: Any = ["x"]
    for _ in range(60):
        bomb = [bomb, bomb]
    with pytest.raises(TooBig):
        jsonable(bomb, budget=10_000)


@settings(deadline=None, max_examples=80)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(st.characters())
        | st.binary()
        | st.datetimes()
        | st.decimals()
        | st.uuids(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()) | st.integers() | st.none(), inner) | st.tuples(inner),
        max_leaves=20,
    )
)
def test_the_result_is_json_and_stays_as_it_is(value: Any) -> None:
    plain = jsonable(value, budget=1_000_000)
    assert orjson.loads(orjson.dumps(plain)) == plain
    assert jsonable(plain, budget=1_000_000) == plain


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (None, ""),
        ("a\ud83d", "a\ufffd"),
        ([], "[]"),
        ({"a": {1, 2}}, '{"a":[1,2]}'),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}], '[{"type":"text","text":"a"},{"type":"image_url"}]'),
        (True, "true"),
        (NOON, "2026-11-30T12:00:00+00:00"),
    ],
)
def test_content_is_one_string(content: Any, wanted: str) -> None:
    assert content_text(content, budget=1000) == wanted


def test_a_string_is_taken_at_any_length_and_other_values_are_not() -> None:
    assert content_text("x" * 500, budget=10) == "x" * 500
    with pytest.raises(TooBig):
        content_text(["x" * 500], budget=10)


@settings(deadline=None, max_examples=80)
@given(st.text(st.characters()))
def test_text_is_encodable_and_only_surrogates_change(value: str) -> None:
    clean = text(value)
    assert clean.encode().decode() == clean
    if not any("\ud800" <= c <= "\udfff" for c in value):
        assert clean is value


@settings(deadline=None, max_examples=80)
@given(st.text(alphabet=st.sampled_from('a"\x01é你😀'), max_size=300), st.integers(8, 60))
def test_pieces_fit_and_join_to_the_whole(whole: str, room: int) -> None:
    pieces = list(json_pieces(whole, room))
    assert "".join(pieces) == whole
    assert all(piece and json_size(piece) <= room for piece in pieces)
