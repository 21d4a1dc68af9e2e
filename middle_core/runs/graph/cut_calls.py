"""What is known of the calls that a run left without a result, because it was stopped, failed or was lost.

A request to cancel is no outcome: what had begun may take effect all the same, and that is what the model and the person are told. Who
knows better (an approval's row, the ledger, the run's own log) is asked first. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import ErrorCode
from middle_core.eventlog.records import ToolCallStatus
from middle_core.events import ToolOutcome
from middle_core.node_api.outcomes import ToolResult, result
from middle_core.node_api.tool_ledger import LedgerLine
from middle_core.runs.intake.turn import AgentRules

_TEXTS: Final = {
    True: ("the user stopped it", "was stopped while it ran", "Stopped", "Stopped while it ran."),
    False: ("the run was interrupted", "was cut off while it ran", "Interrupted", "Interrupted while it ran."),
}


@dataclass(frozen=True, slots=True)
class Cut:
    """How a run was cut off, and what is known of its calls.

    Args:
        code: `stopped`, or that of the error.
        results: of calls whose outcome somebody knows, by call id.
        ledger: the thread's lines, by the call's key.
        page_tools: names of the tools that the page offered in this run; None where that is not known any more.
    """

    code: OutcomeCode | ErrorCode
    results: Mapping[str, ToolResult] = field(default_factory=lambda: MappingProxyType({}))
    ledger: Mapping[str, LedgerLine] = field(default_factory=lambda: MappingProxyType({}))
    page_tools: Collection[str] | None = None

    @property
    def stopped(self) -> bool:
        """Whether somebody stopped it."""
        return self.code == OutcomeCode.STOPPED


def results_of_cut_calls(
    messages: Sequence[BaseMessage], cut: Cut, rules: AgentRules, *, incomplete: Collection[str]
) -> dict[str, ToolResult]:
    """A result for each call that has none, by the call's id.

    Args:
        messages: of the thread, with what the run has shown.
        cut: how the run was cut off.
        rules: of the agent; they say which tools are whose.
        incomplete: ids of calls whose arguments the model had not finished.
    """
    answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    return {
        call.call_id: cut.results[call.call_id]
        if call.call_id in cut.results
        else _result(call, cut, rules, sound=call.sound and call.call_id not in incomplete)
        for call in _calls(messages)
        if call.call_id not in answered
    }


class _Call(NamedTuple):
    """A call. Its key is that of its line in the ledger (`agents.calls.Call`); it is sound if its arguments are an object."""

    call_id: str
    name: str
    key: str
    sound: bool


def _result(call: _Call, cut: Cut, rules: AgentRules, *, sound: bool) -> ToolResult:
    why, how, short, words = _TEXTS[cut.stopped]
    line = cut.ledger.get(call.key)
    if line is not None and line.result is not None:
        return line.result
    if sound and call.name not in rules.repeatable_tools and _may_have_begun(call.name, cut, rules, line):
        text = f"This call {how}: it may have completed. Check before repeating it."
        return result(text, ToolOutcome.UNKNOWN, cut.code, f"{words} It may have been carried out: check before repeating it.")
    return result(f"This call was not completed: {why}.", ToolOutcome.CANCELLED, cut.code, f"{short} before it was done.")


def _may_have_begun(name: str, cut: Cut, rules: AgentRules, line: LedgerLine | None) -> bool:
    if line is not None:
        return line.status is ToolCallStatus.RUNNING
    if name in rules.recorded_tools or (cut.page_tools is not None and name in cut.page_tools):
        return False  # the ledger would know; the page runs its tools after the run
    # A tool node of the team's writes no ledger, so nobody knows.
    return name in rules.server_tools or not rules.recorded_tools


def _calls(messages: Sequence[BaseMessage]) -> Iterator[_Call]:
    """All calls with an id, malformed ones included."""
    used: set[str] = set()
    for message in messages:
        if not isinstance(message, AIMessage):
            continue
        calls = [(str(one["id"]), str(one.get("name")), sound) for one, sound in _listed(message) if one.get("id")]
        yield from (
            _Call(call_id, name, f"{call_id}@{message.id}" if call_id in used else call_id, sound) for call_id, name, sound in calls
        )
        used |= {call_id for call_id, _, _ in calls}


def _listed(message: AIMessage) -> Iterator[tuple[Mapping[str, Any], bool]]:
    yield from ((cast("Mapping[str, Any]", one), True) for one in message.tool_calls)
    yield from ((cast("Mapping[str, Any]", one), False) for one in message.invalid_tool_calls)
