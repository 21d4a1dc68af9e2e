"""All that a database holds of one thread, in a form that is the same for every adapter, so that two databases can be compared.

Pure. Knows no database: tables are names, and rows are what stands in them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

TABLES: Final = ("threads", "runs", "run_events", "tool_calls", "interrupts", "interrupt_answers", "checkpoint_writes")
"""What is copied row by row. Checkpoints are not among them: each adapter's saver splits them in its own way."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """One thread.

    Args:
        tables: the rows of each of `TABLES`, in the order of their keys; ids as text, texts as Postgres takes them.
        checkpoints: LangGraph's checkpoint tuples, newest first.
        serializer: LangGraph's, of the saver that the checkpoints are from.
    """

    tables: Mapping[str, Sequence[Row]]
    checkpoints: Sequence[Any]
    serializer: Any

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each."""
        return {**{name: len(self.tables[name]) for name in TABLES}, "checkpoints": len(self.checkpoints)}

    def digest(self) -> str:
        """SHA-256 of everything."""
        digest = hashlib.sha256()
        for name in TABLES:
            for row in self.tables[name]:
                digest.update(repr((name, sorted(row.items()))).encode("utf-8", "surrogatepass"))
        for found in self.checkpoints:
            digest.update(_checkpoint(found, self.serializer))
        return digest.hexdigest()


def _checkpoint(found: Any, serializer: Any) -> bytes:
    """A checkpoint as bytes. The order of its keys is not part of it: jsonb does not keep that."""
    values = {name: serializer.dumps_typed(value) for name, value in found.checkpoint["channel_values"].items()}
    rest = {
        "place": found.config["configurable"],
        "parent": (found.parent_config or {}).get("configurable"),
        "metadata": found.metadata,
        "checkpoint": {name: value for name, value in found.checkpoint.items() if name != "channel_values"},
    }
    return orjson.dumps(rest, option=orjson.OPT_SORT_KEYS) + repr(sorted(values.items())).encode()
