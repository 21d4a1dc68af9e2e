"""What a tool returned, as the text of its tool message: JSON where it is data, bounded, never a crash.

Pure. It knows nothing of LangChain's messages, of graphs or of the ledger.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

MAX_RESULT_CHARS: Final = 40_000
"""About 10,000 tokens: room for several results in a model's context, and below the size of one event."""


def as_text(value: Any, limit: int = MAX_RESULT_CHARS) -> str:
    """The value as text of at most `limit` characters, with an honest note where something was cut.

    A string stays as it is, bytes are read as UTF-8, text blocks (MCP, Anthropic) become their text,
    everything else becomes JSON: pydantic models, dataclasses, dates, sets; NaN becomes null. What has no
    such form is named by its type; its `repr` is not used, because it may hold what must not be shown.
    """
    return bounded(storable(_text(value)), limit)


def bounded(text: str, limit: int = MAX_RESULT_CHARS) -> str:
    """The text, or its start and a note that says how much is missing. Not more than `limit` characters."""
    if len(text) <= limit:
        return text
    note = f"\n[Cut off: this is the start of {len(text):,} characters.]"
    return text[: max(0, limit - len(note))] + note


def storable(text: str) -> str:
    """The text without what neither UTF-8 (lone surrogates) nor a database (NUL) can hold."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _text(value: Any) -> str:
    match value:
        case str():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return _of_bytes(bytes(value))
        case Iterator() | AsyncIterator():  # may never end, and reading it would be a side effect
            return _nameless(value)
        case list() | tuple() if value and all(_is_text_block(part) for part in value):
            return "\n".join(part if isinstance(part, str) else part["text"] for part in value)
        case _:
            return _json(value)


def _json(value: Any) -> str:
    try:
        return to_json(value, fallback=_nameless, inf_nan_mode="null", bytes_mode="base64").decode("utf-8", "replace")
    except (PydanticSerializationError, ValueError, TypeError, RecursionError, UnicodeError):  # a cycle, a broken model, lone surrogates
        return _nameless(value)


def _of_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"<{len(value):,} bytes of binary data>"


def _is_text_block(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _nameless(value: Any) -> str:
    return f"<{type(value).__name__}: no text form>"
