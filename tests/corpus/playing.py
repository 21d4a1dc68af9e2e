"""Play a case: through our source and gate, or through the SDK's own agent."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput
from copilotkit import LangGraphAGUIAgent

from middle_core.agents.registry import AgentSpec
from middle_core.agui.fold import fold
from middle_core.agui.gate import Cancelled, End, Failed, Finished, Gate, opening
from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import MiddleCoreError
from middle_core.events import ClientRunId, ClientThreadId, Event, RunId, ThreadId
from middle_core.runs.graph.cut_calls import Cut
from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import rebuild
from tests.corpus.browser import Browser
from tests.corpus.case import Case, Script, Turn
from tests.fakes.stack import Stack, stack

THREAD = "t"
PATIENCE_S = 10.0
MAX_EVENT_BYTES = 20_000


@dataclass(slots=True)
class Played:
    """A played case: for each turn the stream and the browser's messages; what the models saw; what the graph did."""

    streams: list[list[Event]] = field(default_factory=list)
    shown: list[list[dict[str, Any]]] = field(default_factory=list)
    saw: list[list[list[Any]]] = field(default_factory=list)
    did: list[str] = field(default_factory=list)


Stream = Callable[[RunAgentInput, Turn], AsyncIterator[Event]]


async def ours(case: Case) -> Played:
    """Our source and our gate, driven as the engine drives them."""
    script = case.build()
    source = GraphSource("agent", script.graph, script.rules)
    return await _play(script, lambda body, turn: _our_stream(source, case.name, body, turn))


async def over_http(cases: Sequence[Case], data_dir: Path) -> Mapping[str, Played]:
    """The whole server, with an agent for each case; by the cases' keys."""
    scripts = {case: case.build() for case in cases}
    agents = {case.name: AgentSpec(script.graph, client_writable=script.rules.client_writable) for case, script in scripts.items()}
    played = {}
    async with stack(data_dir, agents={"default": next(iter(agents.values())), **agents}) as server:
        for case, script in scripts.items():
            played[case.key] = await _play(script, partial(_sent_stream, server, case.name), thread=case.name)
    return played


async def _sent_stream(server: Stack, agent: str, body: RunAgentInput, turn: Turn) -> AsyncIterator[Event]:
    sent = body.model_dump(mode="json", by_alias=True, exclude_none=True)
    async with server.stream("POST", f"/copilotkit/{agent}", body=sent) as reader:
        await reader.rest()
        for event in reader.events:
            yield event


async def theirs(case: Case) -> Played:
    """The stock SDK. If it raises, its endpoint cuts the connection; here that is a RUN_ERROR with the code `cut`."""
    script = case.build()
    return await _play(script, lambda body, turn: _their_stream(script, body, turn))


async def _play(script: Script, stream: Stream, *, thread: str = THREAD) -> Played:
    played, browser = Played(did=script.did), Browser()
    for at, turn in enumerate(script.turns, 1):
        body = request(turn, browser, run=f"run-{at}", thread=thread)
        browser.sends(body)
        async with asyncio.timeout(PATIENCE_S):
            events = [event async for event in stream(RunAgentInput.model_validate(body), turn)]
        browser.receives(events)
        played.streams.append(events)
        played.shown.append(browser.messages)
    played.saw = [[_as_seen(message) for message in seen] for model in script.models for seen in model.seen]
    return played


def request(turn: Turn, browser: Browser, *, run: str, thread: str) -> dict[str, Any]:
    """The RunAgentInput of a turn."""
    plain = {"threadId": thread, "runId": run, "tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return plain | turn.body(browser)


async def _our_stream(source: GraphSource, name: str, body: RunAgentInput, turn: Turn) -> AsyncIterator[Event]:
    gate = Gate(
        thread_id=ClientThreadId(THREAD), run_id=ClientRunId(body.run_id), max_event_bytes=MAX_EVENT_BYTES, correlation_id="correlation"
    )
    thread = ThreadId(THREAD)
    our_id = RunId(str(uuid.uuid4()))
    begin = opening(thread_id=ClientThreadId(THREAD), run_id=ClientRunId(body.run_id), our_run_id=our_id, agent=name, attempt=1)
    legal = list(begin)
    for event in begin:
        yield event
    end: End
    run = GraphRun(source, rebuild(body, await source.view(thread), source.rules), thread_id=thread, run_id=our_id)
    try:
        async for event in _until_stopped(run.events(), turn):
            for one in gate.feed(event):
                legal.append(one)
                yield one
        for event in run.leftovers() if turn.stop is not None else ():
            for one in gate.feed(event):
                legal.append(one)
                yield one
        end = Cancelled("user", "stopped") if turn.stop is not None else Finished(run.interrupts, run.usage)
    except MiddleCoreError as error:
        end = Failed(error.code, error.detail, "correlation", error.retry_after)
    except Exception:  # noqa: BLE001 - whatever a graph raises ends its run: that is what some cases are about
        end = Failed(MiddleCoreError.code, MiddleCoreError().detail, "correlation")
    if not isinstance(end, Finished):
        code = OutcomeCode.STOPPED if isinstance(end, Cancelled) else end.code
        cut = Cut(code, page_tools={tool.name for tool in body.tools or ()})
        for event in await source.settle(thread, fold(legal), cut):
            for one in gate.feed(event):
                yield one
    for event in gate.close(end):
        yield event


async def _their_stream(script: Script, body: RunAgentInput, turn: Turn) -> AsyncIterator[Event]:
    agent = LangGraphAGUIAgent(name="agent", graph=script.graph)
    agent.emit_raw_events = False
    agent.emit_interrupt_outcome = True

    async def events() -> AsyncIterator[Event]:
        async for event in agent.run(body):  # type: ignore[no-untyped-call]  # the SDK's
            told = event.model_dump(mode="json", by_alias=True, exclude_none=True)
            told.pop("rawEvent", None)
            yield told

    try:
        async for event in _until_stopped(events(), turn):
            yield event
    except Exception as error:  # noqa: BLE001 - the SDK lets through what a graph raises
        yield {"type": "RUN_ERROR", "message": str(error), "code": "cut"}


async def _until_stopped(events: Any, turn: Turn) -> AsyncIterator[Event]:
    """The events. If the turn is stopped, the events up to the Task.cancel() of the stop."""
    if turn.stop is None:
        async with aclosing(events):
            async for event in events:
                yield event
        return
    seen: list[Event] = []
    stop = turn.stop
    due = stop if isinstance(stop, asyncio.Event) else asyncio.Event()

    async def read() -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    seen.append(event)
                    if not isinstance(stop, asyncio.Event) and stop(event):
                        due.set()
        finally:
            due.set()

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        await due.wait()
        reading.cancel()
    assert reading.cancelled(), "the run came to its end before it was stopped"
    for event in seen:
        yield event


def _as_seen(message: Any) -> list[Any]:
    """A message as a model is given it: role, content, calls."""
    calls = [[one["name"], one["args"]] for one in getattr(message, "tool_calls", ())]
    return [message.type.removesuffix("MessageChunk").lower(), message.content, *([calls] if calls else [])]
