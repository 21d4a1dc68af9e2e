"""What Postgres holds in another form than the log's values: ids are uuid columns there and text here.

Pure. Knows no table.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its ids as text."""
    return {name: str(value) if isinstance(value, uuid.UUID) else value for name, value in row.items()}


def uuid_or_none(text: str) -> uuid.UUID | None:
    """The id as a uuid; None where it is none, so that nothing of that name can exist."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def storable(text: str) -> str:
    """The text without U+0000 and lone surrogates, which Postgres takes in no text: each becomes U+FFFD."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
