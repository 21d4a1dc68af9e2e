"""Play a turn on a source and look at it as a browser would.

`play` runs a turn to its end and checks what must hold for every run: the sequence is legal, and the messages that a client made
of it are those of the thread's history, with the same ids.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from middle_core.agui.gate import Gate
from middle_core.events import ClientRunId, ClientThreadId, Event, RunId, ThreadId
from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import Turn

Message = dict[str, Any]


def user(text: Any, message_id: str | None = None) -> Message:
    """A user message as a client sends it."""
    return {"id": message_id or str(uuid.uuid4()), "role": "user", "content": text}


def says(text: Any, message_id: str | None = None, **more: Any) -> Turn:
    """A turn with one user message."""
    return Turn(messages=(user(text, message_id),), **more)


@dataclass(slots=True)
class Played:
    """A run that was played to its end."""

    events: list[Event]
    interrupts: list[dict[str, Any]]
    usage: list[dict[str, Any]]

    def of(self, *types: str) -> list[Event]:
        """The events of these types."""
        return [one for one in self.events if one["type"] in types]

    def custom(self, name: str) -> list[Any]:
        """The values of the CUSTOM events of this name."""
        return [one["value"] for one in self.of("CUSTOM") if one["name"] == name]

    def texts(self) -> dict[str, str]:
        """Text by message id, in the order of their start."""
        found: dict[str, str] = {one["messageId"]: "" for one in self.of("TEXT_MESSAGE_START")}
        for one in self.of("TEXT_MESSAGE_CONTENT"):
            found[one["messageId"]] += one["delta"]
        return found

    def calls(self) -> dict[str, tuple[str, str]]:
        """Name and arguments by tool call id."""
        found = {one["toolCallId"]: (one["toolCallName"], "") for one in self.of("TOOL_CALL_START")}
        for one in self.of("TOOL_CALL_ARGS"):
            name, arguments = found[one["toolCallId"]]
            found[one["toolCallId"]] = (name, arguments + one["delta"])
        return found

    def results(self) -> list[tuple[str, str]]:
        """Tool call id and content of each result."""
        return [(one["toolCallId"], one["content"]) for one in self.of("TOOL_CALL_RESULT")]

    def nodes(self) -> list[tuple[str, str]]:
        """Name and outcome of each node, in the order of their ends."""
        return [(":".join(one["path"]), one["outcome"]) for one in self.custom("middle_core.node_completed")]


async def play(source: GraphSource, turn: Turn | None, thread: str = "t", *, seen: Sequence[Message] = ()) -> Played:
    """Play a turn to its end. turn: None goes on with the run before, as another attempt.

    seen: what the client shows already; default: the thread's history without the turn.
    """
    shown = list(seen or (await source.view(ThreadId(thread))).messages)
    if turn is not None and turn.restart_at is not None:
        shown = shown[: next(at for at, one in enumerate(shown) if one["id"] == turn.restart_at)]
    if turn is not None:
        shown.extend([*turn.results, *turn.messages])
    run = GraphRun(source, turn or Turn(), thread_id=ThreadId(thread), run_id=RunId("r"), adopted=turn is None)
    async with aclosing(run.events()) as events:
        played = Played([event async for event in events], [], [])
    played.interrupts, played.usage = run.interrupts, run.usage
    assert complaints(played.events) == []
    gate = Gate(thread_id=ClientThreadId(thread), run_id=ClientRunId("r"), max_event_bytes=1_000_000)
    passed = [one for event in played.events for one in gate.feed(event)]
    assert dict(gate.repairs) == {}, "the gate found something to repair"
    assert [json.dumps(one, sort_keys=True) for one in passed] == [json.dumps(one, sort_keys=True) for one in played.events]
    history = (await source.view(ThreadId(thread))).messages
    assert essence(client(shown, played.events)) == essence(history)
    return played


@dataclass(slots=True)
class Underway:
    """A run in a task of its own, for tests that stop it or look at it while it runs."""

    run: GraphRun
    events: list[Event] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, condition: Callable[[list[Event]], bool], within_s: float = 5) -> None:
        """Wait until the events so far satisfy the condition."""
        async with asyncio.timeout(within_s):
            while not condition(self.events):
                self._more.clear()
                await self._more.wait()

    async def said(self, text: str) -> None:
        """Wait until this text was streamed."""
        await self.until(lambda events: text in "".join(str(one.get("delta", "")) for one in events))

    async def stop(self) -> list[Event]:
        """One Task.cancel(), as the engine does it. Returns everything the run has shown."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task], timeout=5)
        assert self.task.cancelled()
        self.events.extend(self.run.leftovers())
        return self.events

    async def drive(self) -> None:
        """Read the events into `events`."""
        async with aclosing(self.run.events()) as events:
            async for event in events:
                self.events.append(event)
                self._more.set()


@asynccontextmanager
async def underway(source: GraphSource, turn: Turn, thread: str = "t") -> AsyncIterator[Underway]:
    """Start a run. It is ended when the block is left."""
    one = Underway(GraphRun(source, turn, thread_id=ThreadId(thread), run_id=RunId("r")))
    async with asyncio.TaskGroup() as group:
        one.task = group.create_task(one.drive())
        yield one
        one.task.cancel()


def client(shown: Sequence[Message], events: Sequence[Event]) -> list[Message]:
    """What @ag-ui/client 0.0.59 makes of the events."""
    messages = {one["id"]: dict(one) for one in shown}
    owners: dict[str, Message] = {}
    for one in events:
        match one["type"]:
            case "TEXT_MESSAGE_START":
                messages.setdefault(one["messageId"], {"id": one["messageId"], "role": "assistant", "content": ""})
            case "REASONING_MESSAGE_START":
                messages[one["messageId"]] = {"id": one["messageId"], "role": "reasoning", "content": ""}
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                message = messages[one["messageId"]]
                message["content"] = message.get("content", "") + one["delta"]
            case "REASONING_ENCRYPTED_VALUE":
                messages[one["entityId"]]["encryptedValue"] = one["encryptedValue"]
            case "TOOL_CALL_START":
                owner_id = one.get("parentMessageId") or one["toolCallId"]
                owner = messages.setdefault(owner_id, {"id": owner_id, "role": "assistant"})
                owners[one["toolCallId"]] = call = {"id": one["toolCallId"], "function": {"name": one["toolCallName"], "arguments": ""}}
                owner.setdefault("toolCalls", []).append(call)
            case "TOOL_CALL_ARGS":
                owners[one["toolCallId"]]["function"]["arguments"] += one["delta"]
            case "TOOL_CALL_RESULT":
                messages[one["messageId"]] = {k: one[k] for k in ("role", "toolCallId", "content")} | {"id": one["messageId"]}
            case "MESSAGES_SNAPSHOT":
                messages = {message["id"]: message for message in one["messages"]}
            case _:
                continue
    return list(messages.values())


def essence(messages: Sequence[Message]) -> list[Any]:
    """What a person sees of the messages, comparable."""
    return [
        (
            one["id"],
            one["role"],
            one.get("content") or "",
            one.get("toolCallId"),
            [(call["id"], call["function"]["name"], json_or_text(call["function"]["arguments"])) for call in one.get("toolCalls") or ()],
        )
        for one in messages
    ]


def json_or_text(text: str) -> Any:
    """The parsed JSON, or the text itself."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def complaints(events: Sequence[Event]) -> list[str]:
    """What @ag-ui/client's verifier would refuse, and what a page could not make sense of."""
    bad: list[str] = []
    opened: dict[tuple[str, str], bool] = {}
    kinds = {
        "TEXT_MESSAGE": "messageId",
        "TOOL_CALL": "toolCallId",
        "REASONING_MESSAGE": "messageId",
        "REASONING": "messageId",
        "STEP": "stepName",
    }
    for at, one in enumerate(events):
        kind, _, what = one["type"].rpartition("_")
        if kind not in kinds or what == "RESULT":
            continue
        key = (kind, one[kinds[kind]])
        if what in ("START", "STARTED"):
            if key in opened:
                bad.append(f"{at}: {key} starts a second time")
            opened[key] = True
        elif not opened.get(key):
            bad.append(f"{at}: {what} of {key}, which is not open")
        elif what in ("END", "FINISHED"):
            opened[key] = False
        if what in ("CONTENT", "ARGS") and not one["delta"]:
            bad.append(f"{at}: an empty delta")
    results = [one["toolCallId"] for one in events if one["type"] == "TOOL_CALL_RESULT"]
    if len(set(results)) != len(results):
        bad.append(f"a result more than once: {results}")
    bad.extend(f"{key} is never ended" for key, still in opened.items() if still)
    return bad
