"""What is said of the calls that a run left without a result."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from middle_core.contract.outcomes import DONE, OutcomeCode
from middle_core.errors import ErrorCode
from middle_core.eventlog.records import ToolCallStatus
from middle_core.events import ToolOutcome
from middle_core.node_api.outcomes import ToolResult, result
from middle_core.node_api.tool_ledger import LedgerLine
from middle_core.runs.graph.cut_calls import Cut, results_of_cut_calls
from middle_core.runs.intake.turn import AgentRules

OURS = AgentRules(server_tools=frozenset({"pay", "look"}), recorded_tools=frozenset({"pay", "look"}), repeatable_tools=frozenset({"look"}))
THEIRS = AgentRules(server_tools=frozenset({"pay"}))
BEGAN = {"c": LedgerLine("pay", ToolCallStatus.RUNNING, None)}
REFUSED = result("no", ToolOutcome.REFUSED, ErrorCode.FORBIDDEN, "No.")


def asks(name: str, call_id: str = "c", message_id: str = "a") -> AIMessage:
    return AIMessage("", id=message_id, tool_calls=[{"id": call_id, "name": name, "args": {}}])


def came_of(
    messages: list[BaseMessage], rules: AgentRules = OURS, *, incomplete: set[str] | None = None, **cut: Any
) -> dict[str, ToolResult]:
    return results_of_cut_calls(messages, Cut(**{"code": OutcomeCode.STOPPED, **cut}), rules, incomplete=incomplete or set())


@pytest.mark.parametrize(
    ("name", "rules", "cut", "outcome"),
    [
        ("pay", OURS, {"ledger": BEGAN}, "unknown"),
        ("pay", OURS, {}, "cancelled"),
        ("pay", OURS, {"ledger": {"c": LedgerLine("pay", ToolCallStatus.PAUSED, None)}}, "cancelled"),
        ("look", OURS, {"ledger": {"c": LedgerLine("look", ToolCallStatus.RUNNING, None)}}, "cancelled"),
        ("pay", THEIRS, {}, "unknown"),  # a ToolNode of LangGraph's keeps no ledger
        ("paint", OURS, {"page_tools": {"paint"}}, "cancelled"),
        ("paint", OURS, {}, "cancelled"),
        ("paint", AgentRules(), {"page_tools": {"paint"}}, "cancelled"),
        ("anything", AgentRules(), {}, "unknown"),  # a node of the team's may run what it likes
    ],
)
def test_what_may_have_begun_is_unknown_and_what_did_not_is_cancelled(
    name: str, rules: AgentRules, cut: dict[str, Any], outcome: str
) -> None:
    found = came_of([asks(name)], rules, **cut)["c"].outcome
    assert (found.outcome, found.code) == (outcome, "stopped")


def test_the_words_say_who_ended_it_and_that_it_may_have_happened() -> None:
    stopped = came_of([asks("pay")], ledger=BEGAN)["c"]
    assert stopped.text == "This call was stopped while it ran: it may have completed. Check before repeating it."
    assert stopped.outcome.message == "Stopped while it ran. It may have been carried out: check before repeating it."
    lost = came_of([asks("pay")], ledger=BEGAN, code=ErrorCode.RUN_LOST)["c"]
    assert lost.text == "This call was cut off while it ran: it may have completed. Check before repeating it."
    assert (lost.outcome.outcome, lost.outcome.code) == ("unknown", "run_lost")
    never = came_of([asks("pay")], code=ErrorCode.MODEL_UNAVAILABLE)["c"]
    assert (never.text, never.outcome.message) == (
        "This call was not completed: the run was interrupted.",
        "Interrupted before it was done.",
    )


def test_a_call_whose_arguments_were_never_finished_was_never_begun() -> None:
    assert came_of([asks("pay")], THEIRS, incomplete={"c"})["c"].outcome.outcome == "cancelled"
    broken: list[Any] = [{"id": "c", "name": "pay", "args": '{"to', "error": None, "type": "invalid_tool_call"}]
    found = came_of([AIMessage("", id="a", invalid_tool_calls=broken)], THEIRS)["c"]
    assert (found.outcome.outcome, found.text) == ("cancelled", "This call was not completed: the user stopped it.")


def test_who_knows_better_is_asked_first() -> None:
    ended = {"c": LedgerLine("pay", ToolCallStatus.FAILED, REFUSED)}
    assert came_of([asks("pay")], ledger=ended) == {"c": REFUSED}
    assert came_of([asks("pay")], ledger=ended, results={"c": ToolResult("paid")}) == {"c": ToolResult("paid", DONE)}


def test_an_answered_call_and_one_without_an_id_get_nothing() -> None:
    nameless = AIMessage("", id="b", tool_calls=[{"id": None, "name": "pay", "args": {}}])
    assert came_of([HumanMessage("hi"), asks("pay"), ToolMessage("paid", tool_call_id="c"), nameless]) == {}


def test_an_id_that_a_provider_uses_again_has_a_line_of_its_own() -> None:
    ledger = {"c": LedgerLine("pay", ToolCallStatus.RUNNING, None), "c@b": LedgerLine("pay", ToolCallStatus.DONE, ToolResult("paid"))}
    assert came_of([asks("pay"), asks("pay", message_id="b")], ledger=ledger)["c"].text == "paid"
