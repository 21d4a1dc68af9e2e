"""Where a client stands in a run's log: what it sends as `Last-Event-ID`. Pure."""

from __future__ import annotations

import re

from middle_core.errors import InvalidCursor
from middle_core.events import RunId

_CURSOR = re.compile(r"(?:(?P<run_id>[0-9a-fA-F-]{1,64}):)?(?P<seq>-1|[0-9]{1,18})", re.ASCII)


def parse_cursor(text: str | None, run_id: RunId) -> int:
    """The seq after which the client wants to read; 0 means from the beginning.

    `<run_id>:<seq>` or a bare `<seq>`; absent, empty and -1 mean 0. Raises `InvalidCursor` for anything
    else, another run's id included. Whether the seq lies beyond the end is for `check_cursor`.
    """
    text = (text or "").strip()
    if not text:
        return 0
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise InvalidCursor
    if match["run_id"] is not None and match["run_id"].lower() != run_id.lower():
        raise InvalidCursor("Last-Event-ID belongs to another run. Attach again without it to start from the beginning.")
    return max(0, int(match["seq"]))


def check_cursor(after: int, *, last_seq: int) -> None:
    """Raise `InvalidCursor` if the cursor lies beyond the end of the run's log."""
    if after > last_seq:
        raise InvalidCursor("Last-Event-ID lies beyond the end of this run. Attach again without it to start from the beginning.")
