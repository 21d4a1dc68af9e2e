"""State values that LangGraph's Postgres saver would write into a jsonb column, which does not take each of them.

The saver writes primitive values of a checkpoint as JSON and all others as bytes. JSON in Postgres knows no U+0000, no lone surrogate, no
NaN, no infinity and no exponent, all of which a state may hold: a model said them, or a tool read them from a file. Such a value goes with the bytes.
Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol

from middle_core.stores.postgres.values import storable


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A primitive value that shall go with the bytes."""

    value: Any


class WrappedSerializer:
    """LangGraph's serializer, which also takes what `jsonb_safe` wrapped. Such a value is read as what it was."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self._inner: Final = inner

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The kind and the bytes of a value."""
        value = obj.value if isinstance(obj, _Bytes) else obj
        if isinstance(value, str) and not _encodes(value):
            return _SURROGATES, value.encode("utf-8", "surrogatepass")
        return self._inner.dumps_typed(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value."""
        return data[1].decode("utf-8", "surrogatepass") if data[0] == _SURROGATES else self._inner.loads_typed(data)


_SURROGATES: Final = "middle_core.text"
"""The kind of a text with lone surrogates, which LangGraph's own serializer refuses."""


def jsonb_safe(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint, with each primitive value that jsonb does not take wrapped. The checkpoint given is not changed."""
    values = {name: value if _fits(value) else _Bytes(value) for name, value in checkpoint["channel_values"].items()}
    return {**checkpoint, "channel_values": values}


def _fits(value: Any) -> bool:
    if isinstance(value, str):
        return storable(value) == value
    # A number with an exponent would come back without one, as an int.
    return math.isfinite(value) and "e" not in repr(value) if isinstance(value, float) else True


def _encodes(text: str) -> bool:
    return text.encode("utf-8", "ignore") == text.encode("utf-8", "surrogatepass")
