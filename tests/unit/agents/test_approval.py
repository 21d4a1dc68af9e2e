"""The decorator alone: what it guards, what it refuses, and that nothing runs without a row. The other tests are scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.types import Command

from middle_core.agents.approval import Card, needs_approval
from middle_core.agents.approval_results import EXPIRED, LEFT, NO_CARD, NOBODY, REJECTED, TOO_LARGE, WITHDRAWN, unknown
from middle_core.contract.cards import MARK
from middle_core.errors import ErrorCode
from middle_core.eventlog.interrupts import InterruptStatus
from middle_core.events import ToolOutcome
from middle_core.node_api.approvals import MAX_CARD_CHARS, Approval, digest
from middle_core.node_api.context import within
from middle_core.node_api.outcomes import ToolResult, outcome_of, result
from tests.unit.agents.graphs import CONFIG, calls, graph_of, human, results


async def describe(args: Mapping[str, Any]) -> Card:
    return Card(f"Send to {args['to']}?", {"To": args["to"]})


@dataclass
class Rows:
    """`Approvals` in memory: one row, which the test sets. `log` holds the calls."""

    row: Approval | None = None
    log: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)

    async def of_call(self, call_key: str) -> Approval | None:
        return self.row

    async def begin(self, approval: Approval, *, digest: str) -> bool:
        self.digests.append(digest)
        return approval.status in {"approved", "edited", "indeterminate"}

    async def end(self, approval: Approval, result: ToolResult) -> None:
        self.log.append(f"{result.outcome.outcome}: {result.text}")

    async def drop(self, approval: Approval, result: ToolResult) -> None:
        self.log.append(f"dropped: {result.text}")


def a_row(question: Mapping[str, Any], *, status: str = "approved", **changes: Any) -> Approval:
    plain = Approval(
        interrupt_id="i1",
        status=InterruptStatus(status),
        question=question,
        answer={"approved": True},
        stale=False,
        root_id="i1",
        idempotency_key="approval-i1",
        result=None,
    )
    return replace(plain, **changes)


@pytest.fixture
def rows() -> Iterator[Rows]:
    rows = Rows()
    with within(approvals=rows):
        yield rows


def sender(sent: list[str], **options: Any) -> BaseTool:
    @needs_approval(describe=describe, **options)
    async def send(to: str, body: str = "") -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    return send


NOWHERE = result("no such person", ToolOutcome.FAILED, ErrorCode.NOT_FOUND, "There is no such person.")
ASKED = calls(("c1", "send", {"to": "bob"}))


async def question_of(made: BaseTool) -> tuple[Any, Mapping[str, Any]]:
    graph = graph_of([made], ASKED)
    state = await graph.ainvoke(human(), CONFIG)
    [asked] = state["__interrupt__"]
    return graph, {"id": asked.id, **asked.value}


async def test_it_asks_with_what_describe_says_and_keeps_name_and_schema(rows: Rows) -> None:
    made = sender([], roles=("admin",), expires=60, editable=("body",))
    assert (made.name, made.description, set(made.args)) == ("send", "Send a letter.", {"to", "body"})
    _, asked = await question_of(made)
    about = asked[MARK]
    assert about["card"]["facts"] == [{"label": "To", "value": "bob"}]
    assert (about["argsDigest"], about["ttlS"], about["roles"]) == (digest({"to": "bob"}), 60, ["admin"])
    assert asked["responseSchema"]["properties"]["edits"]["properties"].keys() == {"body"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"facts": [{"label": "To", "value": "bob"}]}, "facts=...) holds values by label, such as {'Name': 'Streams', 'Objects': 12}"),
        ({"facts": {1: "bob"}}, "holds values by label"),
        ({"facts": "To: bob"}, "it was given a str"),
        ({"title": ""}, "Card(title=...) is a text for people"),
        ({"title": {"text": "Send?"}}, "Card(title=...) is a text for people"),
        ({"confirm": None}, "such as 'Delete permanently'"),
        ({"danger": "yes"}, "Card(danger=...) is True or False"),
    ],
)
def test_a_card_says_what_it_wants_when_it_is_made(given: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError) as caught:
        Card(**{"title": "Send?", **given})
    assert says in str(caught.value)


async def not_a_card(args: Mapping[str, Any]) -> Any:
    return {"title": "Send?"}


def not_async(args: Mapping[str, Any]) -> Any:
    return Card("Send?")


async def wrong_facts(args: Mapping[str, Any]) -> Card:
    return Card("Send?", facts=[])  # type: ignore[arg-type]  # the fault


async def in_words(args: Mapping[str, Any]) -> Card:
    raise ToolException("There is nobody called bob.")


@pytest.mark.parametrize(
    ("describing", "told", "logged"),
    [
        (not_a_card, NO_CARD.text, "describe has to return a Card"),
        (wrong_facts, NO_CARD.text, "holds values by label"),
        (in_words, "There is nobody called bob.", ""),
    ],
)
async def test_a_card_that_cannot_be_made_is_told_to_the_operator(
    describing: Any, told: str, logged: str, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    @needs_approval(describe=describing)
    async def send(to: str) -> str:
        """Send a letter."""
        raise AssertionError(to)

    state = await graph_of([send], ASKED).ainvoke(human(), CONFIG)
    assert told in results(state)["c1"].text
    assert logged in caplog.text


async def test_describe_may_be_a_plain_function(rows: Rows) -> None:
    @needs_approval(describe=not_async)
    async def send(to: str) -> str:
        """Send a letter."""
        raise AssertionError(to)

    _, asked = await question_of(send)
    assert asked[MARK]["card"]["title"] == "Send?"


async def test_a_resume_without_an_approved_row_runs_nothing(rows: Rows) -> None:
    sent: list[str] = []
    graph, asked = await question_of(sender(sent))
    rows.row = a_row(asked, status="pending")
    state = await graph.ainvoke(Command(resume={asked["id"]: {"approved": True}}), CONFIG)
    assert "__interrupt__" in state
    assert (sent, rows.digests) == ([], [])


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"status": "rejected", "answer": False}, REJECTED),
        ({"status": "rejected", "answer": {"comment": "No!"}}, ToolResult(f"{REJECTED.text} They wrote: No!", REJECTED.outcome)),
        ({"status": "rejected", "root_id": "i0"}, LEFT),
        ({"status": "withdrawn"}, WITHDRAWN),
        ({"status": "withdrawn", "result": unknown(ErrorCode.RUN_LOST)}, unknown(ErrorCode.RUN_LOST)),
        ({"status": "expired"}, EXPIRED),
        ({"status": "executed", "result": ToolResult("sent before")}, ToolResult("sent before")),
        ({"status": "executed", "result": NOWHERE}, NOWHERE),
        ({"stale": True}, EXPIRED),
    ],
)
async def test_a_row_that_is_not_to_be_carried_out_runs_nothing(changes: dict[str, Any], answer: ToolResult, rows: Rows) -> None:
    sent: list[str] = []
    graph, asked = await question_of(sender(sent, idempotent=True))
    rows.row = a_row(asked, **changes)
    state = await graph.ainvoke(Command(resume={asked["id"]: True}), CONFIG)
    found = results(state)["c1"]
    assert (found.text, outcome_of(found)) == (answer.text, answer.outcome)
    assert (sent, rows.digests) == ([], [])


async def test_an_approved_row_runs_it_with_the_digest_of_what_was_shown(rows: Rows) -> None:
    sent: list[str] = []
    graph, asked = await question_of(sender(sent))
    rows.row = a_row(asked)
    state = await graph.ainvoke(Command(resume={asked["id"]: "whatever"}), CONFIG)
    assert results(state)["c1"].text == "sent to bob"
    assert (sent, rows.digests, rows.log) == (["bob"], [digest({"to": "bob"})], ["done: sent to bob"])


async def test_what_was_changed_stays_changed_when_a_crash_asks_again(rows: Rows) -> None:
    """The changed action may have happened, so the card shows the changed action, and that one is tried again."""
    sent: list[str] = []
    graph, asked = await question_of(sender(sent, editable=("to",)))
    rows.row = a_row(asked, status="indeterminate", answer={"approved": True, "edits": {"to": "ann"}})
    [again] = (await graph.ainvoke(Command(resume={asked["id"]: True}), CONFIG))["__interrupt__"]
    about = again.value[MARK]
    assert (about["card"]["state"], about["card"]["fromModel"], about["card"]["editable"]) == ("unknown", {"to": "ann"}, [])
    assert (about["argsDigest"], about["rootId"]) == (digest({"to": "ann"}), "i1")
    second = a_row(again.value, interrupt_id="i2", answer={"approved": True, "edits": {"to": "eve"}})
    rows.row = second
    [refused] = (await graph.ainvoke(Command(resume={again.id: True}), CONFIG))["__interrupt__"]
    assert (refused.value[MARK]["card"]["problem"], refused.value[MARK]["rootId"]) == ("This cannot be changed: to.", "i1")
    rows.row = replace(second, question=refused.value, interrupt_id="i3", answer=True)
    state = await graph.ainvoke(Command(resume={refused.id: True}), CONFIG)
    assert results(state)["c1"].text == "sent to ann"
    assert (sent, rows.digests) == (["ann"], [digest({"to": "ann"})])


async def test_where_nobody_can_be_asked_nothing_runs() -> None:
    sent: list[str] = []
    state = await graph_of([sender(sent)], ASKED).ainvoke(human(), CONFIG)
    assert (results(state)["c1"].text, results(state)["c1"].status) == (NOBODY.text, "error")
    assert sent == []


async def test_what_a_card_could_not_show_whole_is_not_asked(rows: Rows) -> None:
    asked = calls(("c1", "send", {"to": "bob", "body": "x" * MAX_CARD_CHARS}))
    state = await graph_of([sender([])], asked).ainvoke(human(), CONFIG)
    assert results(state)["c1"].text == TOO_LARGE.text


def test_what_it_cannot_guard_is_said_at_once() -> None:
    @tool
    def sync(x: str) -> str:
        """Do."""
        return x

    schema = {"type": "object", "properties": {"x": {"type": "string"}}}

    async def function(**kwargs: Any) -> str:
        return ""

    loose = StructuredTool(name="loose", description="d", args_schema=schema, coroutine=function)
    with pytest.raises(TypeError, match="sync has none"):
        needs_approval(describe=describe)(sync)
    with pytest.raises(TypeError, match="loose has a JSON schema"):
        needs_approval(describe=describe)(loose)
    with pytest.raises(ValueError, match="send has no argument bdy"):
        sender([], editable=("bdy",))
