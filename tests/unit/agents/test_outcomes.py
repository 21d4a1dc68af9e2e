"""What the dispatch says became of a call. Its words for the model are tested in test_dispatch.py."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.types import Command

from middle_core.auth.principal import Credential, Principal
from middle_core.contract.outcomes import CallOutcome
from middle_core.errors import Forbidden, NotFound
from middle_core.node_api.context import within
from middle_core.node_api.outcomes import outcome_of
from tests.unit.agents.graphs import CONFIG, calls, graph_of, human, results
from tests.unit.agents.test_approval import Rows, sender


async def outcome(made: BaseTool | list[BaseTool], message: AIMessage, call_id: str = "c0", **state: Any) -> CallOutcome:
    found = results(await graph_of(made if isinstance(made, list) else [made], message).ainvoke({**human(), **state}, CONFIG))
    return outcome_of(found[call_id])


def act_that(raises: Exception | None = None, returns: Any = "fine") -> BaseTool:
    @tool
    async def act(n: int = 0) -> Any:
        """Act."""
        if raises is not None:
            raise raises
        return returns

    return act


ACT = calls(("c0", "act", {}))


@pytest.mark.parametrize("returns", ["fine", "Error: that is what the log says", {"error": "of the engine"}, None, Command(update={})])
async def test_what_a_tool_returns_is_done_whatever_it_says(returns: Any) -> None:
    assert (await outcome(act_that(returns=returns), ACT)).outcome == "done"


@pytest.mark.parametrize(
    ("raises", "came_of_it"),
    [
        (Forbidden("This needs the role contributor."), ("refused", "forbidden", "This needs the role contributor.")),
        (NotFound("There is no such source."), ("failed", "not_found", "There is no such source.")),
        (ToolException("The bank is closed."), ("failed", "tool_error", "The bank is closed.")),
        (RuntimeError("secret"), ("failed", "tool_error", "The operator of this server can look up the reason under c0.")),
    ],
)
async def test_a_tool_that_raises_is_refused_or_has_failed(raises: Exception, came_of_it: tuple[str, str, str]) -> None:
    found = await outcome(act_that(raises), ACT)
    assert (found.outcome, found.code, found.message) == came_of_it


async def test_a_tools_own_message_keeps_what_it_says() -> None:
    failed = await outcome(act_that(returns=ToolMessage("no paper", tool_call_id="", status="error")), ACT)
    assert (failed.outcome, failed.code, failed.message) == ("failed", "tool_error", "no paper")


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        (calls(("c0", "act", {"n": "many"})), "invalid_arguments", "n: Input should be a valid integer"),
        (calls(("c0", "format_disk", {})), "unknown_tool", "There is no tool called “format_disk”"),
        (calls(("c0", "act", {}), response_metadata={"finish_reason": "length"}), "length", "cut off at its length limit"),
        (
            AIMessage("", invalid_tool_calls=[{"id": "c0", "name": "act", "args": '{"n":', "error": None, "type": "invalid_tool_call"}]),
            "invalid_arguments",
            "not valid",
        ),
    ],
)
async def test_a_call_that_cannot_be_run_is_not_run(message: AIMessage, code: str, words: str) -> None:
    found = await outcome(act_that(AssertionError("it ran")), message)
    assert (found.outcome, found.code) == ("not_run", code)
    assert words in found.message


async def test_one_call_too_many_is_not_run() -> None:
    message = calls(*((f"c{n}", "act", {}) for n in range(33)))
    found = await outcome(act_that(), message, "c32")
    assert (found.outcome, found.code) == ("not_run", "too_many_calls")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (calls(("c0", "paint", {"colour": "re"}), response_metadata={"finish_reason": "length"}), "length"),
        (
            AIMessage("", invalid_tool_calls=[{"id": "c0", "name": "paint", "args": '{"co', "error": None, "type": "invalid_tool_call"}]),
            "invalid_arguments",
        ),
    ],
)
async def test_the_page_is_not_left_with_a_call_that_it_must_not_run(message: AIMessage, code: str) -> None:
    paint = {"name": "paint", "description": "", "parameters": {"type": "object", "properties": {}}}
    found = await outcome(act_that(), message, copilotkit={"actions": [paint], "context": []})
    assert (found.outcome, found.code) == ("not_run", code)


async def test_a_refusal_names_the_role_that_is_missing() -> None:
    credential = Credential("t", 0)
    reader = Principal("issuer", "subject", "A reader", frozenset({"reader"}), 0, {}, credential)
    with within(approvals=Rows(), caller=reader):
        found = await outcome(sender([], roles=("admin",), doing="Sending"), calls(("c0", "send", {"to": "bob"})))
    assert (found.outcome, found.code, found.message) == ("refused", "forbidden", "Sending needs the role admin.")


async def test_where_nobody_can_be_asked_it_is_refused() -> None:
    found = await outcome(sender([]), calls(("c0", "send", {"to": "bob"})))
    assert (found.outcome, found.code) == ("refused", "nobody_to_ask")
