"""The tool ledger as node code sees it: has this call been made, and what came of it?

A resume or a retry runs a node again; the ledger, keyed (thread, tool call id), is why a finished tool is
not run again with it. The engine hands in the real one, bound to the run's claim; this module only
names the port and carries it to the tool dispatch (`agents.dispatch`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from middle_core.node_api.outcomes import ToolResult


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """An earlier begin of the same call. status: running | paused | done | failed. result: what answered it, once it has ended.

    running: it began and never ended, so its outcome is unknown. paused: it stopped at an interrupt to ask
    a person, so the resume runs it again.
    """

    name: str
    status: str
    result: ToolResult | None


class ToolLedger(Protocol):
    """Durable, fenced by the run's claim: a superseded run raises `errors.Superseded`."""

    async def begin(self, tool_call_id: str, name: str) -> LedgerLine | None:
        """Write down, durably, that the call starts now. Returns the earlier line, unchanged, if there is one.

        Only a paused line changes: it is running again from now on, and is returned as it was (paused), so
        that a crash after the resume is not taken for another pause.
        """

    async def end(self, tool_call_id: str, result: ToolResult | None) -> None:
        """Write down, durably, what answered the call. None: it stopped at an interrupt to ask a person."""
