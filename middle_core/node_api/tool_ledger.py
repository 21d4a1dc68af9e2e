"""The tool ledger as node code sees it: has this call been made, and what came of it?

A resume or a retry runs a node again. The ledger, keyed by thread and tool call id, is why a finished tool is not run again with it.
The engine puts the real one, bound to the run's claim, into the run's context. This module names the port and knows no database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from middle_core.eventlog.records import ToolCallStatus
from middle_core.node_api.outcomes import ToolResult


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """An earlier begin of the same call.

    Args:
        name: the tool's.
        status: where the call stands. A call that is running began and never ended, so its outcome is unknown.
        result: what answered it; None before the call has ended.
    """

    name: str
    status: ToolCallStatus
    result: ToolResult | None


class ToolLedger(Protocol):
    """Durable, fenced by the run's claim: a superseded run raises `errors.Superseded`."""

    async def begin(self, tool_call_id: str, name: str) -> LedgerLine | None:
        """Write down, durably, that the call starts now. Returns the earlier line, unchanged, if there is one.

        Only a paused line changes: it is running from now on. It is returned as it was, paused, so that a crash after the resume is
        not taken for another pause.

        Args:
            tool_call_id: the call's key in its thread.
            name: the tool's.
        """

    async def end(self, tool_call_id: str, result: ToolResult | None) -> None:
        """Write down, durably, how the call ended.

        Args:
            tool_call_id: the call's key in its thread.
            result: what answered it; None where it stopped at an interrupt to ask a person.
        """
