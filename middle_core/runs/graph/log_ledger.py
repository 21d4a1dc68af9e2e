"""The tool ledger of one attempt: the log's rows, bound to the claim, as node code sees them."""

from __future__ import annotations

import orjson

from middle_core.contract.outcomes import DONE, CallOutcome, OutcomeCode
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Claim, ToolCall, ToolCallStatus
from middle_core.events import ThreadId, ToolOutcome
from middle_core.node_api.outcomes import ToolResult, of_json
from middle_core.node_api.tool_ledger import LedgerLine


class LogLedger:
    """`node_api.tool_ledger.ToolLedger` on the log."""

    def __init__(self, log: EventLog, claim: Claim) -> None:
        self._log = log
        self._claim = claim

    async def begin(self, tool_call_id: str, name: str) -> LedgerLine | None:
        """See `node_api.tool_ledger.ToolLedger`."""
        row = await self._log.tool_begin(self._claim, tool_call_id, name)
        return None if row is None else _line(row)

    async def end(self, tool_call_id: str, result: ToolResult | None) -> None:
        """See `node_api.tool_ledger.ToolLedger`."""
        if result is None:
            await self._log.tool_end(self._claim, tool_call_id, status=ToolCallStatus.PAUSED, result="")
            return
        status = ToolCallStatus.DONE if result.outcome == DONE else ToolCallStatus.FAILED
        outcome = orjson.dumps(result.outcome.model_dump(mode="json", by_alias=True)).decode()
        await self._log.tool_end(self._claim, tool_call_id, status=status, result=result.text, outcome=outcome)


async def ledger_lines(log: EventLog, thread_id: ThreadId) -> dict[str, LedgerLine]:
    """The thread's calls by their keys."""
    return {row.tool_call_id: _line(row) for row in await log.tool_calls(thread_id)}


def _line(row: ToolCall) -> LedgerLine:
    if row.status not in {ToolCallStatus.DONE, ToolCallStatus.FAILED}:
        return LedgerLine(row.name, row.status, None)
    outcome = None if row.outcome is None else of_json(orjson.loads(row.outcome))
    if outcome is None:  # written by a version that kept no outcome
        outcome = DONE if row.status is ToolCallStatus.DONE else CallOutcome(outcome=ToolOutcome.FAILED, code=OutcomeCode.TOOL_ERROR)
    return LedgerLine(row.name, row.status, ToolResult(row.result or "", outcome))
