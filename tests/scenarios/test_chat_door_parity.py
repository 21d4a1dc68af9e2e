"""The same scripts over /copilotkit and over /chat, with the same agent: the results are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from langchain_core.messages import AIMessage

from middle_core.agents.knowledge_copilot.graph import build
from middle_core.auth.verify import secret_verifier
from middle_core.demo import backend_core
from tests.fakes.graphs import ask, ask_two, chat, parallel, says
from tests.fakes.http_server import serving
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import Reader, Stack, stack
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint
from tests.scenarios.agents import tool_agent
from tests.scenarios.chat_door import Chat, text
from tests.scenarios.hitl import Person, Shelf, deleting

ADMIN = mint(roles=["admin"])


class Door(Protocol):
    """A person at one of the endpoints. `end`: how the last turn ended. `words`: what it said."""

    end: str
    words: list[str]
    asked: list[str]

    async def say(self, text: str) -> None: ...
    async def answer(self, payload: Any, *, which: int = 0) -> None: ...
    async def say_and_stop(self, text: str, until: str) -> None: ...


STATUS = {"success": "completed", "interrupt": "paused", "cancelled": "cancelled"}


@dataclass
class AtCopilotKit:
    server: Stack
    end: str = ""
    words: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.person = Person(self.server, "interrupt", token=ADMIN)

    async def say(self, text: str) -> None:
        self._take(await self.person.say(text))

    async def answer(self, payload: Any, *, which: int = 0) -> None:
        self._take(await self.person.answer({self.asked[which]: payload}))

    async def say_and_stop(self, text: str, until: str) -> None:
        async with self.server.say(text, token=ADMIN) as reader:
            await reader.until_text(until)
            assert await self.server.stop(token=ADMIN)
            await reader.rest()
        self._take(reader)

    def _take(self, reader: Reader) -> None:
        last = reader.events[-1]
        refused = any(event.get("name") == "middle_core.refused" for event in reader.events)
        result = (last.get("result") or {}).get("status") or (last.get("outcome") or {}).get("type", "success")
        self.end = "failed" if last["type"] == "RUN_ERROR" else "refused" if refused else STATUS[result]
        self.asked = [one["id"] for one in (last.get("outcome") or {}).get("interrupts", ())]
        said: dict[str, str] = {}
        for event in reader.events:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                said[event["messageId"]] = said.get(event["messageId"], "") + event["delta"]
        self.words = list(said.values())


@dataclass
class AtChat:
    server: Stack
    streams: bool
    end: str = ""
    words: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.person = Chat(self.server, token=ADMIN)

    async def say(self, text: str) -> None:
        self._take((await self.person.turn(text)).events[-1]["response"] if self.streams else await self.person.ask(text))

    async def answer(self, payload: Any, *, which: int = 0) -> None:
        given = {"interrupt_id": self.asked[which], "decision": "answer", "value": payload}
        self._take((await self.person.resume(given)).events[-1]["response"] if self.streams else await self.person.answer(given))

    async def say_and_stop(self, text: str, until: str) -> None:
        async with self.person.stream(text, query="?tokens=1") as reader:
            await reader.until(lambda r: until in "".join(event.get("delta", "") for event in r.events))
            assert await self.server.stop(token=ADMIN)
            await reader.rest()
        self._take(reader.events[-1]["response"])

    def _take(self, answer: Mapping[str, Any]) -> None:
        self.end = answer["status"]
        self.asked = [one["interrupt_id"] for one in answer["interrupts"]]
        self.words = [part["text"] for part in (answer["reply"] or {"parts": []})["parts"] if part["type"] == "text"]


DOORS: dict[str, Callable[[Stack], Door]] = {
    "copilotkit": AtCopilotKit,
    "chat stream": lambda server: AtChat(server, streams=True),
    "chat json": lambda server: AtChat(server, streams=False),
}


@dataclass(frozen=True)
class Script:
    """agent: makes the agent and what the script looks at in the end, beside the thread. play: the turns."""

    agent: Callable[[], tuple[Any, Callable[[], Any]]]
    play: Callable[[Door], Awaitable[None]]


def plain_agent() -> tuple[Any, Callable[[], Any]]:
    model = ScriptedModel(turns=[["hel", "lo", finish()], ["again", finish()], [ValueError("x")], ["after", finish()]])
    return chat(model), lambda: [[message.content for message in seen] for seen in model.seen]


async def plain_talk(door: Door) -> None:
    for words in ("one", "two", "three", "four"):
        await door.say(words)


def stopping_agent() -> tuple[Any, Callable[[], Any]]:
    model = ScriptedModel(turns=[["half ", "way", asyncio.Event()], ["after", finish()]])
    return chat(model), lambda: [[message.content for message in seen] for seen in model.seen]


async def stopping(door: Door) -> None:
    await door.say_and_stop("one", "way")
    await door.say("two")


def shelf_agent(*things: str) -> Callable[[], tuple[Any, Callable[[], Any]]]:
    def make() -> tuple[Any, Callable[[], Any]]:
        shelf = Shelf()
        return tool_agent(deleting(*things), [shelf.tool()]), lambda: (sorted(thing for thing, _ in shelf.done), shelf.calls)

    return make


async def approving(door: Door) -> None:
    await door.say("delete a")
    await door.answer({"approved": True})
    await door.say("and?")


async def rejecting(door: Door) -> None:
    await door.say("delete a")
    await door.answer({"approved": False, "comment": "no"})


async def one_yes_one_no(door: Door) -> None:
    await door.say("delete a and b")
    await door.answer({"approved": True}, which=0)
    await door.answer({"approved": False})


async def going_on(door: Door) -> None:
    await door.say("delete a")
    await door.say("never mind")


async def too_late(door: Door) -> None:
    await door.say("delete a")
    asked = door.asked
    await door.answer({"approved": False})
    door.asked = asked  # as a tab that nobody looked at
    await door.answer({"approved": True})


def question_agent(value: Any) -> Callable[[], tuple[Any, Callable[[], Any]]]:
    def make() -> tuple[Any, Callable[[], Any]]:
        told: list[Any] = []
        return ask({"message": "ok?"}, answers=told), lambda: told

    return make


def answering(value: Any) -> Callable[[Door], Awaitable[None]]:
    async def play(door: Door) -> None:
        await door.say("hi")
        await door.answer(value)

    return play


def two_questions() -> tuple[Any, Callable[[], Any]]:
    told: dict[str, Any] = {}
    return ask_two(answers=told), lambda: dict(sorted(told.items()))


async def both(door: Door) -> None:
    await door.say("hi")
    await door.answer(0)
    await door.answer("")


def parallel_agent() -> tuple[Any, Callable[[], Any]]:
    models = {name: ScriptedModel(turns=[[name, finish()]] * 2) for name in ("left", "right")}
    return parallel(models), lambda: sorted(len(model.seen) for model in models.values())


async def once(door: Door) -> None:
    await door.say("hi")


def speaking_agent() -> tuple[Any, Callable[[], Any]]:
    return says(AIMessage("not by a model", id="m1")), lambda: None


SCRIPTS = {
    "talk, a failure, talk": Script(plain_agent, plain_talk),
    "a stop": Script(stopping_agent, stopping),
    "approve": Script(shelf_agent("a"), approving),
    "reject": Script(shelf_agent("a"), rejecting),
    "two cards": Script(shelf_agent("a", "b"), one_yes_one_no),
    "a message instead": Script(shelf_agent("a"), going_on),
    "too late": Script(shelf_agent("a"), too_late),
    **{f"question {value!r}": Script(question_agent(value), answering(value)) for value in (None, False, {"a": 1}, "x")},
    "two questions": Script(two_questions, both),
    "parallel": Script(parallel_agent, once),
    "no model": Script(speaking_agent, once),
}


async def played(tmp_path: Path, script: Script, door: str) -> dict[str, Any]:
    """The results: the person's last turn, the thread, and the side effects."""
    agent, world = script.agent()
    async with stack(tmp_path / door, agents={"default": lambda: agent}) as server:
        at = DOORS[door](server)
        await script.play(at)
        history = await server.history(token=ADMIN)
        status = (await server.get("/threads/t1", token=ADMIN)).json()
        return {
            "end": at.end,
            "words": sorted(at.words),
            "thread": [essence(one) for one in history],
            "status": (status["running"], status["lastRun"]["status"], status["lastRun"]["errorCode"], status["title"]),
            "world": world(),
        }


def essence(message: Mapping[str, Any]) -> Any:
    """What a person sees of a message; ids differ from run to run."""
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("toolCalls", ())]
    verdict = (message.get("metadata") or {}).get("middleCore") or {}
    content = message.get("content")
    if isinstance(content, dict):  # a closed question
        content = {key: one for key, one in content.items() if key != "interruptId"}
    return message["role"], content, calls, verdict.get("status"), verdict.get("approved")


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_ends_alike_through_every_door(tmp_path: Path, name: str) -> None:
    found = {door: await played(tmp_path, SCRIPTS[name], door) for door in DOORS}
    if name in {"parallel", "two questions"}:
        for one in found.values():
            one["thread"] = sorted(one["thread"], key=str)
    assert found["chat stream"] == found["copilotkit"]
    assert found["chat json"] == found["copilotkit"]


async def test_the_knowledge_copilot_answers_alike_through_every_door(tmp_path: Path) -> None:
    """The real agent, with the demo's knowledge base behind it."""
    ends = {}
    backend = backend_core.create_app(database=tmp_path / "b.db", verify=secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE))
    async with serving(backend) as backend_url, stack(tmp_path, agents={"copilot": build}, backend_url=backend_url) as server:
        for name, door in DOORS.items():
            at = door(server)
            await at.say("How does stop work?")
            ends[name] = (at.end, at.words, [essence(one) for one in await server.history(token=ADMIN)])
            await server.http.delete(server.url + "/threads/t1", headers=server.headers(ADMIN))
        answer = await Chat(server, thread="t2", token=ADMIN).ask("How does stop work?")
    assert ends["copilotkit"] == ends["chat stream"] == ends["chat json"]
    assert ends["copilotkit"][0] == "completed"
    assert len(text(answer)) > 50
    assert [one["node"] for one in answer["latency"]] == ["agent", "tools", "agent"]
    assert answer["reply"]["citations"][0].keys() == {"tool_call_id", "source", "title", "location", "excerpt", "score"}
    assert [part["name"] for part in answer["reply"]["parts"] if part["type"] == "tool_call"] == ["search_knowledge"]
