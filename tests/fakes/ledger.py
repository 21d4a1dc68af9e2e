"""A tool ledger in memory that keeps the port's promises. It lives longer than a run, as the real one does."""

from __future__ import annotations

import asyncio

from middle_core.contract.outcomes import DONE
from middle_core.eventlog.records import ToolCallStatus
from middle_core.node_api.outcomes import ToolResult
from middle_core.node_api.tool_ledger import LedgerLine


class MemoryLedger:
    """`lines` is what a database would hold, `log` every write in order."""

    def __init__(self) -> None:
        self.lines: dict[str, LedgerLine] = {}
        self.log: list[tuple[str, str]] = []
        self._changed = asyncio.Event()

    async def begin(self, tool_call_id: str, name: str) -> LedgerLine | None:
        earlier = self.lines.get(tool_call_id)
        if earlier is None or earlier.status == "paused":
            self.lines[tool_call_id] = LedgerLine(name, ToolCallStatus.RUNNING, None)
            self.log.append((tool_call_id, "running"))
            self._changed.set()
        return earlier

    async def end(self, tool_call_id: str, result: ToolResult | None) -> None:
        ended = ToolCallStatus.DONE if result is not None and result.outcome == DONE else ToolCallStatus.FAILED
        status = ToolCallStatus.PAUSED if result is None else ended
        line = self.lines[tool_call_id]
        assert line.status == "running", f"{tool_call_id} is {line.status}: only a running call ends"
        self.lines[tool_call_id] = LedgerLine(line.name, status, result)
        self.log.append((tool_call_id, status))
        self._changed.set()

    async def reached(self, tool_call_id: str, status: str) -> None:
        """Wait until the call has been in that status; the caller bounds the wait."""
        while (tool_call_id, status) not in self.log:
            self._changed.clear()
            await self._changed.wait()
