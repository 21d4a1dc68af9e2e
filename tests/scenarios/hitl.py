"""What the scenarios of approvals share: a shelf with things that can be deleted after an approval, and a person at either kind of page."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from middle_core.agents.approval import Card, needs_approval
from middle_core.contract.cards import CARD_TOOL
from middle_core.errors import NotFound
from middle_core.node_api.approvals import idempotency_key
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.stack import Reader, Stack, run_input

CARD = {"name": CARD_TOOL, "description": "Shows what a person has to approve.", "parameters": {"type": "object", "properties": {}}}
CHANNELS = ["interrupt", "client_tool"]


@dataclass
class Shelf:
    """Things by id, and the calls that took effect: id and Idempotency-Key of each."""

    things: dict[str, str] = field(default_factory=lambda: {"a": "Alpha", "b": "Beta", "c": "Gamma"})
    done: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0
    fails: list[Exception] = field(default_factory=list)

    def delete(self, thing_id: str, key: str) -> str:
        self.calls += 1
        if self.fails:
            raise self.fails.pop(0)
        if (thing_id, key) not in self.done:
            if thing_id not in self.things:
                raise NotFound("There is no such thing.")
            del self.things[thing_id]
            self.done.append((thing_id, key))
        return f"deleted {thing_id}"

    def tool(self, **options: Any) -> BaseTool:
        """`delete`, guarded."""

        async def describe(args: Mapping[str, Any]) -> Card:
            if args["thing_id"] not in self.things:
                raise NotFound("There is no such thing.")
            name = self.things[args["thing_id"]]
            return Card(f"Delete {name}?", {"Name": name, "Id": args["thing_id"]}, confirm="Delete permanently", danger=True)

        @needs_approval(describe=describe, **{"roles": ("admin",), "idempotent": True, **options})
        @tool
        async def delete(thing_id: str, reason: str = "") -> str:
            """Delete a thing."""
            return self.delete(thing_id, idempotency_key())

        return delete


@dataclass
class Plans:
    """A plan that a person may change before it is followed."""

    followed: list[list[str]] = field(default_factory=list)

    def tool(self) -> BaseTool:
        async def describe(args: Mapping[str, Any]) -> Card:
            return Card("Follow this plan?", {"Steps": len(args["steps"])}, kind="plan")

        @needs_approval(describe=describe, editable=("steps",))
        @tool
        async def confirm_plan(steps: list[str] = Field(min_length=1, max_length=5)) -> str:  # noqa: B008 - pydantic's form
            """Propose a plan."""
            self.followed.append(steps)
            return "follow: " + ", ".join(steps)

        return confirm_plan


def deleting(*things: str, then: str = "done") -> ScriptedModel:
    """A model that calls `delete` for all of these at once, and then says a word."""
    calls = [call("delete", {"thing_id": thing}, call_id=f"call-{thing}", index=i) for i, thing in enumerate(things)]
    return ScriptedModel(
        turns=[[*calls, finish("tool_calls")], [then, finish()], ["and more", finish()], ["and more", finish()]], strict=True
    )


def cards(reader: Reader) -> list[dict[str, Any]]:
    """The cards that a stream opened, in either form."""
    found: list[dict[str, Any]] = []
    started: dict[str, str] = {}
    for event in reader.events:
        if event["type"] == "TOOL_CALL_START" and event["toolCallName"] == CARD_TOOL:
            started[event["toolCallId"]] = ""
        elif event["type"] == "TOOL_CALL_ARGS" and event["toolCallId"] in started:
            started[event["toolCallId"]] += event["delta"]
    found += [json.loads(text) for text in started.values()]
    for event in reader.events:
        if event["type"] == "MESSAGES_SNAPSHOT":
            answered = {m.get("toolCallId") for m in event["messages"]}
            calls = [c for m in event["messages"] for c in m.get("toolCalls", ()) if c["function"]["name"] == CARD_TOOL]
            found += [json.loads(c["function"]["arguments"]) for c in calls if c["id"] not in answered]
        if event["type"] == "RUN_FINISHED" and event.get("outcome", {}).get("type") == "interrupt":
            found += [one["metadata"]["middleCore"] for one in event["outcome"]["interrupts"]]
    return found


def resolved(reader: Reader) -> list[tuple[str, str]]:
    """Interrupt id and status of each `interrupt_resolved` in a stream."""
    values = [event["value"] for event in reader.events if event.get("name") == "middle_core.interrupt_resolved"]
    return [(value["interruptId"], value["status"]) for value in values]


def results(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The results in a history, by the call's id."""
    return {str(m["toolCallId"]): str(m["content"]) for m in messages if m["role"] == "tool"}


@dataclass
class Person:
    """A person at a page that shows cards in this form. `said` is the page's history."""

    server: Stack
    channel: str
    thread: str = "t1"
    token: str | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def tools(self) -> list[dict[str, Any]]:
        return [CARD] if self.channel == "client_tool" else []

    def _run(self, **more: Any) -> AbstractAsyncContextManager[Reader]:
        body = run_input(*self.history, thread=self.thread, tools=self.tools, **more)
        stream: AbstractAsyncContextManager[Reader] = self.server.stream("POST", "/copilotkit", body=body, token=self.token)
        return stream

    async def _whole(self, stream: AbstractAsyncContextManager[Reader]) -> Reader:
        async with stream as reader:
            await reader.rest()
        calls = [event["toolCallId"] for event in reader.events if event.get("toolCallName") == CARD_TOOL]
        for one in calls:
            function = {"name": CARD_TOOL, "arguments": "{}"}
            self.history.append({"id": one, "role": "assistant", "toolCalls": [{"id": one, "type": "function", "function": function}]})
        return reader

    async def say(self, text: str, *, cancelling: Sequence[str] = ()) -> Reader:
        self.history.append({"id": f"u-{uuid.uuid4()}", "role": "user", "content": text})
        resume = [{"interruptId": one, "status": "cancelled"} for one in cancelling]
        return await self._whole(self._run(**({"resume": resume} if resume else {})))

    def answering(self, answers: Mapping[str, Any], **more: Any) -> AbstractAsyncContextManager[Reader]:
        """Open the stream of a request that gives these answers, by interrupt id."""
        if self.channel == "interrupt":
            entries = [{"interruptId": one, "status": "resolved", "payload": payload} for one, payload in answers.items()]
            return self._run(resume=entries, **more)
        for one, payload in answers.items():
            content = payload if isinstance(payload, str) else json.dumps(payload)
            self.history.append({"id": f"a-{uuid.uuid4()}", "role": "tool", "toolCallId": one, "content": content})
        return self._run(**more)

    async def answer(self, answers: Mapping[str, Any], **more: Any) -> Reader:
        return await self._whole(self.answering(answers, **more))

    async def approve(self, card: Mapping[str, Any], **more: Any) -> Reader:
        return await self.answer({card["interruptId"]: {"approved": True, **more}})

    async def reject(self, card: Mapping[str, Any], **more: Any) -> Reader:
        return await self.answer({card["interruptId"]: {"approved": False, **more}})

    async def open(self) -> Reader:
        """Load the page."""
        body = run_input(thread=self.thread, tools=self.tools)
        async with self.server.stream("POST", "/copilotkit/connect", body=body, token=self.token) as reader:
            await reader.rest()
        self.history = [m for event in reader.events if event["type"] == "MESSAGES_SNAPSHOT" for m in event["messages"]]
        return reader
