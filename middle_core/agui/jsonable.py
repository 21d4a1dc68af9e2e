"""JSON out of anything that a tool, a node or a graph state may hold.

A value that has no JSON form becomes `<ClassName>`. It never becomes its `repr`, which may hold an address, a secret or an exception's
text. The only exception raised here is `TooBig`, for a value that cannot fit the budget. Knows no event and no policy of sizes.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

import orjson

MAX_DEPTH: Final = 64
_SAFE_INT: Final = 2**53 - 1
"""Beyond it a browser's number is another number (ECMAScript's Number.MAX_SAFE_INTEGER)."""

_IMAGES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class TooBig(Exception):
    """The value needs more room than the budget; nothing of it was kept."""


def text(value: str) -> str:
    """The same text with every code point encodable: surrogate pairs joined, lone surrogates U+FFFD."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def jsonable(value: Any, *, budget: int) -> Any:
    """The value as plain dict, list, str, int, float, bool or None, which any JSON encoder takes.

    Args:
        value: anything.
        budget: characters of JSON at which to give up.

    Raises:
        TooBig: the value cannot fit the budget. Nothing else is raised.
    """
    return _Walk(budget).convert(value, 0)


def content_text(content: Any, *, budget: int) -> str:
    """A message's content as one string: text as it is, text parts joined, anything else as JSON.

    Args:
        content: of a message.
        budget: characters of JSON. A string is taken at any length.

    Raises:
        TooBig: a value that is no string cannot fit the budget.
    """
    if isinstance(content, str):
        return text(content)
    if content is None:
        return ""
    plain = jsonable(content, budget=budget)
    if isinstance(plain, str):
        return plain
    if isinstance(plain, list) and plain and all(map(_is_text_part, plain)):
        return "".join(part["text"] for part in plain)
    return orjson.dumps(plain).decode()


def json_size(value: Any) -> int:
    """Bytes of a plain value as JSON."""
    return len(orjson.dumps(value))


def json_pieces(whole: str, room: int) -> Iterator[str]:
    """A text in pieces, cut between code points.

    Args:
        whole: the text.
        room: bytes of each piece as a JSON string; at least 8.
    """
    start = 0
    while start < len(whole):
        length = min(room - 2, len(whole) - start)
        while (size := json_size(whole[start : start + length])) > room:
            length = max(1, min(length - 1, length * room // size))
        yield whole[start : start + length]
        start += length


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


class _Walk:
    """One conversion: what is left of the budget and which containers are open above."""

    __slots__ = ("above", "left")

    def __init__(self, budget: int) -> None:
        self.left = budget
        self.above: set[int] = set()

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooBig

    def convert(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self.spend(len(value) + 2)
            return text(value)
        if value is None or kind is bool:
            self.spend(4)
            return value
        if kind is int or kind is float:
            self.spend(1)
            return _number(value)
        if depth >= MAX_DEPTH:
            return "<too deep>"
        if id(value) in self.above:
            return "<circular>"
        self.above.add(id(value))
        try:
            return self.compound(value, depth + 1)
        finally:
            self.above.discard(id(value))

    def compound(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is dict or kind is list:  # nearly everything is: no need to ask `_plain`
            plain = value
        else:
            if _length(value) > self.left:  # before it is written out: `range(10**9)` is small, its list is not
                raise TooBig
            plain = _step(value)
        self.spend(2)
        if isinstance(plain, dict):
            # A copy of the items: a tool in a thread may still be writing to it.
            return {self.key(key): self.convert(item, depth) for key, item in list(plain.items())}
        if isinstance(plain, list):
            return [self.convert(item, depth) for item in plain]
        return self.convert(plain, depth)

    def key(self, key: Any) -> str:
        name = text(key) if type(key) is str else _key(key)
        self.spend(len(name) + 4)
        return name


def _length(value: Any) -> int:
    """How many parts it has at least, without touching them."""
    try:
        size = getattr(value, "size", None)  # arrays of several dimensions
        return size if type(size) is int else len(value)
    except Exception:  # noqa: BLE001 - foreign code; what has no length is judged by what it turns into
        return 0


def _step(value: Any) -> Any:
    try:
        return _plain(value)
    except Exception:  # noqa: BLE001 - foreign code (model_dump, properties, __iter__) may raise anything; one odd value must not end a run
        return _nameless(value)


def _plain(value: Any) -> Any:  # noqa: C901, PLR0911, PLR0912 - one line per type is the table
    """One step towards JSON: a dict, a list or a scalar whose parts may still be anything."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _octets(bytes(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type | BaseException):
        return _nameless(value)
    if hasattr(value, "get_secret_value"):  # pydantic's SecretStr and SecretBytes
        return "**********"
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)):
        return dict(dump())
    if callable(fields := getattr(value, "_asdict", None)):
        return dict(fields())
    if callable(image := getattr(value, "_repr_png_", None)):  # Pillow, matplotlib: the rich display protocol
        return _octets(image() or b"")
    if callable(tolist := getattr(value, "tolist", None)):  # NumPy and what follows it
        return tolist()
    if isinstance(value, AbstractSet):
        return _sorted(value)
    if isinstance(value, Sequence):
        return list(value)
    return _nameless(value)


def _sorted(value: AbstractSet[Any]) -> list[Any]:
    """One order for one set, where its members have an order or a short text."""
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=lambda item: (type(item).__name__, "" if isinstance(item, tuple | frozenset) else str(item)))


def _number(value: float) -> float | str:
    """Numbers that JSON or a browser cannot hold become text, as in protobuf's JSON mapping."""
    if isinstance(value, int):
        if -_SAFE_INT <= value <= _SAFE_INT:
            return value
        # Python refuses the decimal text of very long integers (sys.set_int_max_str_digits); hex has no limit.
        return str(value) if value.bit_length() < 4096 else hex(value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _octets(value: bytes) -> str:
    """UTF-8 as text, an image or anything else as a data URL (RFC 2397)."""
    kind = next((mime for magic, mime in _IMAGES if value.startswith(magic)), None)
    if kind is None and value[:4] == b"RIFF" and value[8:12] == b"WEBP":
        kind = "image/webp"
    if kind is None:
        try:
            return value.decode()
        except UnicodeDecodeError:
            kind = "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(value).decode()}"


def _key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, tuple):
        return ",".join(_nameless(part) if isinstance(part, tuple) else _key(part) for part in key)
    plain = _step(key)
    if isinstance(plain, int | float):
        return str(_number(plain))
    return text(plain) if isinstance(plain, str) else _nameless(key)


def _nameless(value: Any) -> str:
    return f"<{value.__name__ if isinstance(value, type) else type(value).__name__}>"
