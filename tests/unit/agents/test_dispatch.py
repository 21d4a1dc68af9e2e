"""The dispatch on real graphs with real savers: each call once, none able to crash the run."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Self

import pytest
from langchain_core.callbacks import dispatch_custom_event
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, Tool, ToolException, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, Field, model_validator

from middle_core.agents.calls import MAX_CALLS, REFUSED
from middle_core.agents.dispatch import add_tools, route_tools, tools_node
from middle_core.agents.frontend import FrontendState
from middle_core.agents.guard import UNKNOWN_OUTCOME, FailRun, repeatable
from middle_core.agents.sync_tools import stop_requested
from middle_core.contract.outcomes import CallOutcome, OutcomeCode
from middle_core.errors import BackendUnavailable, ErrorCode, Superseded
from middle_core.eventlog.records import ToolCallStatus
from middle_core.events import ToolOutcome
from middle_core.node_api.context import within
from middle_core.node_api.outcomes import ToolResult, outcome_of, result
from middle_core.node_api.tool_ledger import LedgerLine
from middle_core.runs.graph.log_ledger import LogLedger
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import start
from tests.fakes.ledger import MemoryLedger
from tests.unit.agents.graphs import CONFIG, calls, graph_of, human, results

SECRET = "postgres://user:hunter2@db/prod"  # as in the text of a driver's exception


@pytest.fixture
def ledger() -> Iterator[MemoryLedger]:
    ledger = MemoryLedger()
    with within(ledger=ledger):
        yield ledger


@asynccontextmanager
async def saver_of(kind: str, folder: Path) -> AsyncIterator[BaseCheckpointSaver[str]]:
    if kind == "memory":
        yield InMemorySaver()
    else:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
            yield saver


@asynccontextmanager
async def ledger_of(kind: str, folder: Path) -> AsyncIterator[Callable[[], Awaitable[dict[str, str]]]]:
    """Set the ledger; yields a function that tells the status of each call."""
    ledger = MemoryLedger()

    async def in_memory() -> dict[str, str]:
        return {key: line.status for key, line in ledger.lines.items()}

    if kind != "in the log":
        with within(ledger=ledger if kind == "in memory" else None):
            yield in_memory
        return
    async with open_store(f"sqlite:///{folder / 'log.sqlite'}") as store:
        log = store.log
        started = await start(log)

        async def in_the_log() -> dict[str, str]:
            return {call.tool_call_id: call.status for call in await log.tool_calls(started.claim.thread_id)}

        with within(ledger=LogLedger(log, started.claim)):
            yield in_the_log


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("remembers", ["in the log", "in memory", "not at all"])
async def test_a_mail_is_sent_once_while_its_neighbours_are_approved_one_by_one(kind: str, remembers: str, tmp_path: Path) -> None:
    ran: list[Any] = []

    @tool
    async def send_mail(to: str) -> str:
        """Send."""
        ran.append(("mail", to))
        return "sent"

    @tool
    async def delete(name: str) -> str:
        """Delete after a person said so."""
        answer = interrupt({"delete": name})
        ran.append((name, answer))
        return f"deleted {name}: {answer}"

    asked = calls(
        ("c0", "send_mail", {"to": "bob"}),
        ("c1", "delete", {"name": "X"}),
        ("c2", "delete", {"name": "Y"}),
        ("c3", "delete", {"name": "Z"}),
    )
    async with saver_of(kind, tmp_path) as saver, ledger_of(remembers, tmp_path) as lines:
        graph = graph_of([send_mail, delete], asked, saver=saver)
        await graph.ainvoke(human(), CONFIG)
        for answer in (False, "", {"ok": 1}):  # falsy answers arrive as they are
            state = await graph.aget_state(CONFIG)
            pending = {i.value["delete"]: i.id for i in state.interrupts}
            name = min(pending)
            await graph.ainvoke(Command(resume={pending[name]: answer}), CONFIG)
        values = (await graph.aget_state(CONFIG)).values
        assert await lines() == ({} if remembers == "not at all" else dict.fromkeys(["c0", "c1", "c2", "c3"], "done"))
    assert ran == [("mail", "bob"), ("X", False), ("Y", ""), ("Z", {"ok": 1})]
    assert [results(values)[c].content for c in ("c0", "c1", "c2")] == ["sent", "deleted X: False", "deleted Y: "]
    assert values["messages"][-1].content == "the end"


async def test_what_a_finished_call_gave_is_returned_and_the_tool_not_run_again(ledger: MemoryLedger) -> None:
    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError("it ran again")

    poor = result("no money", ToolOutcome.REFUSED, ErrorCode.FORBIDDEN, "You have no money.")
    ledger.lines = {
        "c0": LedgerLine("pay", ToolCallStatus.DONE, ToolResult("paid 5")),
        "c1": LedgerLine("pay", ToolCallStatus.FAILED, poor),
    }
    state = await graph_of([pay], calls(("c0", "pay", {"amount": 5}), ("c1", "pay", {"amount": 6}))).ainvoke(human(), CONFIG)
    assert {c: (m.content, m.status) for c, m in results(state).items()} == {"c0": ("paid 5", "success"), "c1": ("no money", "error")}
    assert outcome_of(results(state)["c1"]) == poor.outcome
    assert ledger.log == []


async def test_a_call_that_a_crash_cut_off_is_told_and_not_run_again_unless_it_is_repeatable(ledger: MemoryLedger) -> None:
    ran: list[str] = []

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append("pay")
        return "paid"

    @tool
    async def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    ledger.lines = {"c0": LedgerLine("pay", ToolCallStatus.RUNNING, None), "c1": LedgerLine("look", ToolCallStatus.RUNNING, None)}
    state = await graph_of([pay, repeatable(look)], calls(("c0", "pay", {"amount": 5}), ("c1", "look", {}))).ainvoke(human(), CONFIG)
    assert ran == ["look"]
    assert results(state)["c0"].content == UNKNOWN_OUTCOME.text
    assert results(state)["c0"].status == "error"
    assert results(state)["c1"].content == "seen"
    assert ledger.lines["c0"].status == "running", "its outcome stays unknown"


async def test_a_crash_in_the_middle_of_a_resumed_tool_is_not_taken_for_a_pause(ledger: MemoryLedger) -> None:
    class Crash(BaseException):
        pass

    attempts: list[str] = []

    @tool
    async def delete(name: str) -> str:
        """Delete."""
        interrupt(name)
        attempts.append(name)
        raise Crash

    graph = graph_of([delete], calls(("c0", "delete", {"name": "X"})))
    await graph.ainvoke(human(), CONFIG)
    with pytest.raises(Crash):
        await graph.ainvoke(Command(resume="yes"), CONFIG)
    state = await graph.ainvoke(None, CONFIG)  # the next attempt goes on from the checkpoint
    assert attempts == ["X"]
    assert results(state)["c0"].content == UNKNOWN_OUTCOME.text


async def test_an_id_that_a_provider_uses_again_is_another_call(ledger: MemoryLedger) -> None:
    @tool
    async def echo(text: str) -> str:
        """Echo."""
        return text

    graph = graph_of([echo], calls(("call_0", "echo", {"text": "one"})), calls(("call_0", "echo", {"text": "two"})))
    state = await graph.ainvoke(human(), CONFIG)
    found = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert [(m.content, m.tool_call_id) for m in found] == [("one", "call_0"), ("two", "call_0")]
    assert len({m.id for m in found}) == 2
    assert len(ledger.lines) == 2


async def test_a_stop_keeps_the_finished_result_and_the_other_tool_sees_the_cancellation(ledger: MemoryLedger) -> None:
    started, seen = asyncio.Event(), []

    @tool
    async def quick() -> str:
        """Quick."""
        return "quick is done"

    @tool
    async def slow() -> str:
        """Slow."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "never"

    graph = graph_of([quick, slow], calls(("c0", "quick", {}), ("c1", "slow", {})))
    async with asyncio.timeout(10):
        run = asyncio.ensure_future(graph.ainvoke(human(), CONFIG))  # noqa: TID251 - the test is the run's owner here
        await started.wait()
        await ledger.reached("c0", "done")
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert seen == ["cancelled"]
    assert ledger.lines == {
        "c0": LedgerLine("quick", ToolCallStatus.DONE, ToolResult("quick is done")),
        "c1": LedgerLine("slow", ToolCallStatus.RUNNING, None),
    }


async def test_a_synchronous_tool_that_blocks_stalls_nobody_and_its_late_result_is_dropped(ledger: MemoryLedger) -> None:
    release, entered, told = threading.Event(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool
    def block() -> str:
        """Block."""
        loop.call_soon_threadsafe(entered.set)
        assert release.wait(10)
        if stop_requested():
            told.set()
        return "too late"

    @tool
    async def quick() -> str:
        """Quick."""
        await entered.wait()  # returns only while the other tool blocks
        return "quick"

    graph = graph_of([block, quick], calls(("c0", "block", {}), ("c1", "quick", {})))
    async with asyncio.timeout(10):
        run = asyncio.ensure_future(graph.ainvoke(human(), CONFIG))  # noqa: TID251 - the test is the run's owner here
        await ledger.reached("c1", "done")
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        release.set()
        assert await asyncio.to_thread(told.wait, 5), "the tool can see that its work is in vain"
    assert ledger.lines["c0"] == LedgerLine("block", ToolCallStatus.RUNNING, None)
    state = await graph.aget_state(CONFIG)
    assert all("too late" not in str(m.content) for m in state.values["messages"])


async def test_a_synchronous_tool_may_ask_a_person_and_report_progress(ledger: MemoryLedger) -> None:
    @tool
    def ask(what: str) -> str:
        """Ask."""
        dispatch_custom_event("working", {"on": what})
        return f"{what}: {interrupt(what)}"

    graph = graph_of([ask], calls(("c0", "ask", {"what": "tea?"})))
    events = [e async for e in graph.astream_events(human(), CONFIG, version="v2") if e["event"] == "on_custom_event"]
    assert [(e["name"], e["data"]) for e in events] == [("working", {"on": "tea?"})]
    assert ledger.lines["c0"].status == "paused"
    state = await graph.ainvoke(Command(resume="yes"), CONFIG)
    assert results(state)["c0"].content == "tea?: yes"
    assert ledger.log == [("c0", "running"), ("c0", "paused"), ("c0", "running"), ("c0", "done")]


class Ticket(BaseModel):
    title: str
    level: int = Field(ge=1, le=3)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (calls(("c0", "file", {})), ["ticket", "Field required"]),
        (calls(("c0", "file", {"ticket": {"title": "x", "level": 9}})), ["ticket.level", "less than or equal to 3"]),
        (calls(("c0", "file", {"ticket": "no object"})), ["ticket", "Ticket"]),
        (
            AIMessage(
                "", invalid_tool_calls=[{"id": "c0", "name": "file", "args": '{"ticket":', "error": None, "type": "invalid_tool_call"}]
            ),
            ["JSON", "ticket", "urgent (optional)"],
        ),
        (
            AIMessage(
                "", invalid_tool_calls=[{"id": "c0", "name": "file", "args": '{"a":1}{"b":2}', "error": None, "type": "invalid_tool_call"}]
            ),
            ["JSON", "ticket"],
        ),
        (
            AIMessage("", invalid_tool_calls=[{"id": None, "name": None, "args": None, "error": None, "type": "invalid_tool_call"}]),
            ["There is no tool"],
        ),
        (
            calls(("c0", "file", {"ticket": {"title": "cu", "level": 1}}), response_metadata={"finish_reason": "length"}),
            ["limit of its length"],
        ),
        (
            calls(("c0", "file", {"ticket": {"title": "cu", "level": 1}}), response_metadata={"stop_reason": "max_tokens"}),
            ["limit of its length"],
        ),
        (calls(("c0", "format_disk", {})), ["There is no tool 'format_disk'", "file"]),
    ],
)
async def test_arguments_that_do_not_fit_never_run_a_tool(message: AIMessage, named: list[str], ledger: MemoryLedger) -> None:
    @tool
    async def file(ticket: Ticket, urgent: bool = False) -> str:
        """File a ticket."""
        raise AssertionError("it ran")

    graph = graph_of([file], message)
    events = [e async for e in graph.astream_events(human(), CONFIG, version="v2")]
    (found,) = results((await graph.aget_state(CONFIG)).values).values()
    assert found.status == "error"
    assert all(word in found.content for word in named), found.content
    assert ledger.log == []
    announced = [e["data"]["output"] for e in events if e["event"] == "on_tool_end"]
    assert [(m.id, m.content) for m in announced] == [(found.id, found.content)], "streams show what the thread keeps"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError(f"connect {SECRET}"), "The tool act failed. The operator of this server can look up the reason under c0."),
        (KeyError(SECRET), "The tool act failed. The operator of this server can look up the reason under c0."),
        (BackendUnavailable(), "The tool act could not do this. The knowledge service cannot be reached right now. Try again in a moment."),
        (ToolException("There is no customer 42."), "The tool act could not do this. There is no customer 42."),
        (TimeoutError(), "The tool act failed. The operator of this server can look up the reason under c0."),
        (StopIteration(), "The tool act failed. The operator of this server can look up the reason under c0."),
    ],
)
@pytest.mark.parametrize("synchronous", [True, False])
async def test_an_error_reaches_the_model_in_words_and_the_run_goes_on(
    error: Exception, words: str, synchronous: bool, ledger: MemoryLedger, caplog: pytest.LogCaptureFixture
) -> None:
    def act() -> str:
        """Act."""
        raise error

    async def act_later() -> str:
        """Act."""
        raise error

    if isinstance(error, StopIteration) and not synchronous:
        error = RuntimeError("what Python makes of it in a coroutine")
    made = tool(act) if synchronous else tool("act")(act_later)
    with caplog.at_level(logging.WARNING):
        state = await graph_of([made], calls(("c0", "act", {}))).ainvoke(human(), CONFIG)
    assert (results(state)["c0"].content, results(state)["c0"].status) == (words, "error")
    assert state["messages"][-1].content == "the end"
    line = ledger.lines["c0"].result
    assert line is not None
    assert (line.text, line.outcome) == (words, outcome_of(results(state)["c0"]))
    assert "c0" in caplog.text


async def test_a_message_with_too_many_calls_runs_the_first_ones_and_says_so() -> None:
    ran: list[int] = []

    @tool
    async def count(n: int) -> str:
        """Count."""
        ran.append(n)
        return "counted"

    state = await graph_of([count], calls(*[(f"c{n}", "count", {"n": n}) for n in range(40)])).ainvoke(human(), CONFIG)
    assert sorted(ran) == list(range(MAX_CALLS))
    assert len(results(state)) == 40
    assert results(state)["c39"].content == REFUSED[OutcomeCode.TOO_MANY_CALLS].text


async def test_a_state_may_be_a_pydantic_model() -> None:
    class State(BaseModel):
        messages: Annotated[list[AnyMessage], add_messages] = []
        copilotkit: dict[str, Any] = {}

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    async def agent(state: State) -> dict[str, Any]:
        return {"messages": [calls(("c0", "look", {}), ("c1", "pick_colour", {})) if len(state.messages) == 1 else AIMessage("the end")]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    add_tools(graph, [look])
    state = await graph.compile().ainvoke({**human(), "copilotkit": {"actions": [CLIENT_TOOL]}})
    assert set(results(state)) == {"c0"}
    assert state["messages"][-1].content == "seen"


async def test_a_tool_may_fail_the_run(ledger: MemoryLedger) -> None:
    @tool
    async def act() -> str:
        """Act."""
        raise FailRun("Your licence has ended.")

    graph = graph_of([act], calls(("c0", "act", {})))
    with pytest.raises(FailRun, match="licence"):
        await graph.ainvoke(human(), CONFIG)
    assert ledger.lines["c0"].status == "failed"


async def test_a_superseded_attempt_ends_and_writes_nothing(ledger: MemoryLedger) -> None:
    @tool
    async def act() -> str:
        """Act."""
        raise Superseded

    with pytest.raises(Superseded):
        await graph_of([act], calls(("c0", "act", {}))).ainvoke(human(), CONFIG)
    assert ledger.log == [("c0", "running")]


async def test_a_ledger_that_fails_fails_the_run_and_is_not_blamed_on_the_tool() -> None:
    class Broken(MemoryLedger):
        async def begin(self, tool_call_id: str, name: str) -> LedgerLine | None:
            raise Superseded

    @tool
    async def act() -> str:
        """Act."""
        raise AssertionError("it ran unrecorded")

    with within(ledger=Broken()), pytest.raises(Superseded):
        await graph_of([act], calls(("c0", "act", {}))).ainvoke(human(), CONFIG)


CLIENT_TOOL: dict[str, Any] = {"name": "pick_colour", "description": "In the page.", "parameters": {"type": "object", "properties": {}}}


async def test_the_browsers_calls_end_the_run_after_the_servers_own_are_done(ledger: MemoryLedger) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    graph = graph_of([look], calls(("c0", "look", {}), ("c1", "pick_colour", {}), ("c2", "look", {})))
    state = await graph.ainvoke({**human(), "copilotkit": {"actions": [CLIENT_TOOL]}}, CONFIG)
    assert set(results(state)) == {"c0", "c2"}
    assert isinstance(state["messages"][-1], ToolMessage), "the agent did not go on without the browser's answer"
    answer = ToolMessage("blue", tool_call_id="c1", id="from-the-browser")
    state = await graph.ainvoke({"messages": [answer], "copilotkit": {"actions": [CLIENT_TOOL]}}, CONFIG)
    assert state["messages"][-1].content == "the end"
    assert set(ledger.lines) == {"c0", "c2"}


async def test_a_message_of_browser_calls_only_ends_the_run_and_no_browser_tool_shadows_a_server_tool() -> None:
    ran: list[str] = []

    @tool
    async def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    actions = [CLIENT_TOOL, {**CLIENT_TOOL, "name": "look"}]
    state = await graph_of([look], calls(("c0", "pick_colour", {}))).ainvoke({**human(), "copilotkit": {"actions": actions}}, CONFIG)
    assert results(state) == {}
    await graph_of([look], calls(("c0", "look", {}))).ainvoke({**human(), "copilotkit": {"actions": actions}}, CONFIG)
    assert ran == ["look"]


async def test_state_and_call_id_are_injected_and_a_model_cannot_forge_them() -> None:
    @tool
    async def whoami(state: Annotated[dict[str, Any], InjectedState], call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Who."""
        return f"{len(state['messages'])} {call_id}"

    state = await graph_of([whoami], calls(("c0", "whoami", {"state": {"messages": []}, "call_id": "forged"}))).ainvoke(human(), CONFIG)
    assert results(state)["c0"].content == "2 c0"


async def test_runtime_and_config_reach_the_tools_that_ask_for_them() -> None:
    @tool
    async def thread(runtime: ToolRuntime, config: RunnableConfig) -> str:
        """Thread."""
        return f"{runtime.tool_call_id} {config['configurable']['thread_id']}"

    @tool
    def thread_too(runtime: ToolRuntime, config: RunnableConfig) -> str:
        """Thread."""
        return f"{len(runtime.state['messages'])} {config['configurable']['thread_id']}"

    state = await graph_of([thread, thread_too], calls(("c0", "thread", {}), ("c1", "thread_too", {}))).ainvoke(human(), CONFIG)
    assert {c: m.content for c, m in results(state).items()} == {"c0": "c0 t", "c1": "2 t"}


@pytest.mark.parametrize(("handler", "words"), [("Ask the desk.", "Ask the desk."), (lambda e: f"So: {e}", "So: closed"), (True, "closed")])
async def test_a_tools_own_words_for_its_errors_are_used(handler: Any, words: str) -> None:
    @tool
    async def act() -> str:
        """Act."""
        raise ToolException("closed")

    state = await graph_of([act.model_copy(update={"handle_tool_error": handler})], calls(("c0", "act", {}))).ainvoke(human(), CONFIG)
    assert results(state)["c0"].content == f"The tool act could not do this. {words}"


async def test_a_command_updates_the_state_and_its_message_is_in_our_form(ledger: MemoryLedger) -> None:
    class State(FrontendState):
        colour: str

    @tool
    async def paint(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Paint."""
        return Command(update={"colour": "red", "messages": [ToolMessage("painted", tool_call_id=call_id)]})

    @tool
    async def quietly() -> Command[Any]:
        """Paint without a word."""
        return Command(update={"colour": "blue"})

    state = await graph_of([paint, quietly], calls(("c0", "paint", {})), calls(("c1", "quietly", {})), state=State).ainvoke(human(), CONFIG)
    assert state["colour"] == "blue"
    assert (results(state)["c0"].id, results(state)["c0"].content) == ("c0-result", "painted")
    assert results(state)["c1"].content == "Done."
    assert ledger.lines["c0"] == LedgerLine("paint", ToolCallStatus.DONE, ToolResult("painted"))


async def test_an_artifact_stays_beside_the_text() -> None:
    @tool(response_format="content_and_artifact")
    async def draw() -> tuple[str, dict[str, int]]:
        """Draw."""
        return "a picture", {"pixels": 4}

    state = await graph_of([draw], calls(("c0", "draw", {}))).ainvoke(human(), CONFIG)
    assert (results(state)["c0"].content, results(state)["c0"].artifact) == ("a picture", {"pixels": 4})


class Shout(BaseTool):
    """A tool as an old library writes it: a class, no schema."""

    name: str = "shout"
    description: str = "Shout."

    def _run(self, word: str) -> str:
        return word.upper() + threading.current_thread().name


class ShoutLater(Shout):
    async def _arun(self, word: str) -> str:
        return word.upper()


@pytest.mark.parametrize(
    ("made", "arguments", "text"),
    [
        (Tool(name="shout", func=str.upper, description="Shout."), {"__arg1": "abc"}, "ABC"),
        (Shout(), {"word": "abc"}, "ABCmiddle-core-tool"),
        (ShoutLater(), {"word": "abc"}, "ABC"),
        (ShoutLater(), {"words": "abc"}, "The arguments of shout are not valid, so nothing was run. word: Field required."),
    ],
)
async def test_a_tool_of_another_class_runs_too(made: BaseTool, arguments: dict[str, Any], text: str) -> None:
    state = await graph_of([made], calls(("c0", "shout", arguments))).ainvoke(human(), CONFIG)
    assert results(state)["c0"].content == text


async def test_a_tool_with_a_json_schema_checks_its_own_arguments() -> None:
    async def remote(**arguments: Any) -> str:
        return f"got {arguments}"

    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    made = StructuredTool(name="remote", description="As MCP gives it.", args_schema=schema, coroutine=remote)
    broken = AIMessage("", invalid_tool_calls=[{"id": "c1", "name": "remote", "args": "{", "error": None, "type": "invalid_tool_call"}])
    state = await graph_of([made], calls(("c0", "remote", {"x": 1})), broken).ainvoke(human(), CONFIG)
    assert results(state)["c0"].content == "got {'x': 1}"
    assert results(state)["c1"].content == "The arguments of remote are not valid, so nothing was run. They are not a complete JSON object."


class Span(BaseModel):
    start: int
    end: int

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.start > self.end:
            raise ValueError("start is after end")
        return self


async def test_what_only_the_tools_own_schema_refuses_is_an_error_result_too(ledger: MemoryLedger) -> None:
    @tool(args_schema=Span)
    async def cut(start: int, end: int) -> str:
        """Cut."""
        raise AssertionError("it ran")

    state = await graph_of([cut], calls(("c0", "cut", {"start": 2, "end": 1}))).ainvoke(human(), CONFIG)
    assert results(state)["c0"].text.endswith("nothing was run. arguments: Value error, start is after end.")
    assert ledger.log == []


async def test_a_tool_message_of_the_tools_own_gets_our_id_and_keeps_its_status(ledger: MemoryLedger) -> None:
    @tool
    async def act(call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Act."""
        return ToolMessage("refused", tool_call_id=call_id, id="its-own", status="error", artifact=7)

    found = results(await graph_of([act], calls(("c0", "act", {}))).ainvoke(human(), CONFIG))["c0"]
    assert (found.id, found.content, found.status, found.artifact) == ("c0-result", "refused", "error", 7)
    failed = CallOutcome(outcome=ToolOutcome.FAILED, code=OutcomeCode.TOOL_ERROR, message="refused")
    assert ledger.lines["c0"] == LedgerLine("act", ToolCallStatus.FAILED, ToolResult("refused", failed))


async def test_a_command_that_no_graph_can_take_is_the_tools_error(ledger: MemoryLedger) -> None:
    @tool
    async def act() -> Command[Any]:
        """Act."""
        return Command(update=[("colour", "red")])

    state = await graph_of([act], calls(("c0", "act", {}))).ainvoke(human(), CONFIG)
    assert results(state)["c0"].status == "error"
    assert ledger.lines["c0"].status == "failed"


def test_a_tool_without_a_function_is_refused_when_the_graph_is_built() -> None:
    with pytest.raises(ValueError, match="'empty' has neither a function nor a coroutine"):
        tools_node([StructuredTool(name="empty", description="Empty.", args_schema=Span)])


async def test_a_huge_result_is_cut_with_a_note_and_events_carry_the_same_message() -> None:
    @tool
    async def dump() -> list[str]:
        """Dump."""
        return ["x" * 1000] * 1000

    graph = graph_of([dump], calls(("c0", "dump", {})))
    events = [e async for e in graph.astream_events(human(), CONFIG, version="v2") if e["event"] == "on_tool_end"]
    found = results((await graph.aget_state(CONFIG)).values)["c0"]
    assert len(found.content) <= 40_000
    assert "[Cut off: this is the start of 1,003,001 characters.]" in found.content
    assert [(e["data"]["output"].id, e["data"]["output"].content) for e in events] == [("c0-result", found.content)]


async def test_a_second_run_of_a_call_cannot_double_its_message() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    graph = graph_of([look], calls(("c0", "look", {})))
    state = await graph.ainvoke(human(), CONFIG)
    before = [m.id for m in state["messages"]]
    await graph.aupdate_state(CONFIG, {"messages": [results(state)["c0"]]}, as_node="tools")
    assert [m.id for m in (await graph.aget_state(CONFIG)).values["messages"]] == before


def test_routes_name_the_open_calls_only() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    route = route_tools([look], node="work")
    asked = calls(("c0", "look", {}), ("c1", "look", {}), id="a")
    sends = route({"messages": [HumanMessage("go"), asked, ToolMessage("seen", tool_call_id="c0")]})
    assert [(s.node, s.arg["id"]) for s in sends if isinstance(s, Send)] == [("work", "c1")]
    assert route({"messages": [HumanMessage("go"), asked, HumanMessage("never mind")]}) == END
    assert route({"messages": []}) == END


def test_two_tools_of_one_name_are_refused() -> None:
    @tool("look")
    async def one() -> str:
        """Look."""
        return ""

    @tool("look")
    async def two() -> str:
        """Look."""
        return ""

    with pytest.raises(ValueError, match="same name: look"):
        tools_node([one, two])


async def test_a_plain_edge_to_the_tools_node_says_what_to_do() -> None:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(FrontendState)
    graph.add_node("tools", tools_node([]))
    graph.add_edge(START, "tools")
    with pytest.raises(TypeError, match="route_tools"):
        await graph.compile().ainvoke(human())
