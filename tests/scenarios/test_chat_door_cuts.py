"""A client of /chat that is cut at any byte and attaches again gets exactly the events of a client that is never cut."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from middle_core.agents.knowledge_copilot.state import State
from middle_core.transports.sse.frames import Frame, SseParser
from tests.fakes.graphs import calls
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import PATIENCE_S, Stack, stack
from tests.scenarios.chat_door import ACCEPT, Chat, value

CUTS = 200
AT_ONCE = 10


def busy() -> Any:
    """Two nodes at once, a route not taken, words in several scripts, a subgraph."""
    model = ScriptedModel(turns=[["Ünï", "cödé ", "\u2028 line", "🙂", " data: x\n\nevent: y\n", finish()]] * (2 * CUTS + 4))

    async def quiet(_state: Any) -> Any:
        return {}

    async def speak(_state: Any) -> Any:
        return {"messages": [AIMessage("inner")]}

    inner: Any = StateGraph(State)
    inner.add_node("speak", speak)
    inner.add_edge(START, "speak")
    graph: Any = StateGraph(State)
    for name in ("router", "left", "never"):
        graph.add_node(name, quiet)
    graph.add_node("right", calls(model))
    graph.add_node("sub", inner.compile())
    graph.add_edge(START, "router")
    graph.add_conditional_edges("router", lambda _: ["left", "right"], ["left", "right", "never"])
    graph.add_edge("left", "sub")
    return graph


def thread(number: int) -> str:
    return f"t{number}"


class Client:
    """Keeps the frames up to the last one with an id, because later frames come again."""

    def __init__(self, server: Stack, rng: random.Random, *, query: str = "?tokens=1") -> None:
        self.server = server
        self.query = query
        self.rng = rng
        self.kept: list[Frame] = []
        self.run_id = ""
        self.attachments = 0
        self.asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        """The pauses of the turn, as they come."""

    @property
    def over(self) -> bool:
        return bool(self.kept) and self.kept[-1].event == "turn_completed"

    async def read(self, method: str, path: str, body: Any, room: int) -> None:
        """Read that many bytes, then hang up."""
        cursor = {} if not self.kept else {"last-event-id": str(self.kept[-1].id)}
        parser, loose = SseParser(), list[Frame]()
        sent = self.server.headers(None, **ACCEPT, **cursor)
        self.attachments += 1
        async with (
            asyncio.timeout(PATIENCE_S),
            self.server.http.stream(method, self.server.url + path, headers=sent, json=body) as response,
        ):
            assert response.status_code == 200, await response.aread()
            self.run_id = self.run_id or response.headers["x-run-id"]
            async for chunk in response.aiter_raw():
                for frame in parser.feed(chunk[:room]):
                    loose.append(frame)
                    if frame.id is not None:
                        self.kept += loose
                        for one in loose:
                            if one.event == "paused":
                                self.asked.put_nowait(json.loads(one.data)["interrupts"][0])
                        loose.clear()
                room -= len(chunk)
                if room <= 0:
                    return

    async def run(self, number: int) -> None:
        body = {"message": "hi", "thread_id": thread(number), "on_disconnect": "continue"}
        await self.read("POST", f"/chat{self.query}", body, self.rng.randrange(1, 6_000))
        while not self.over:
            await self.read("GET", f"/chat/runs/{self.run_id}/events{self.query}", None, self.rng.randrange(1, 6_000))


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_two_hundred_random_cuts_lose_and_repeat_nothing(tmp_path: Path) -> None:
    rng = random.Random(20_261_130)  # a fixed seed, so that a failure can be repeated
    cut = 0
    async with stack(tmp_path, agents={"default": busy}) as server:
        number = 0
        while cut < CUTS:
            clients = [Client(server, random.Random(rng.random())) for _ in range(AT_ONCE)]
            async with asyncio.TaskGroup() as group:
                for client in clients:
                    group.create_task(client.run(number))
                    number += 1
            for client in clients:
                async with Chat(server).attach(client.run_id, query="?tokens=1") as whole:
                    await whole.rest()
                assert client.kept == whole.frames
                assert json.loads(client.kept[-1].data)["response"]["status"] == "completed"
                cut += client.attachments - 1
    assert cut >= CUTS


async def test_at_every_single_byte_of_a_finished_turn(tmp_path: Path) -> None:
    """After any prefix, the cursor leads to exactly the rest."""
    async with stack(tmp_path, agents={"default": busy}) as server:
        first = await Chat(server).turn("hi", query="?tokens=1")
        rests: dict[str | None, list[Frame]] = {}
        for at in range(len(first.raw) + 1):
            frames = SseParser().feed(bytes(first.raw[:at]))
            ids = [frame.id for frame in frames if frame.id is not None]
            cursor = ids[-1] if ids else None
            if cursor not in rests:
                async with Chat(server).attach(first.run_id, cursor, query="?tokens=1") as rest:
                    rests[cursor] = (await rest.rest()).frames
            have = 0 if cursor is None else [frame.id for frame in first.frames].index(cursor) + 1
            assert first.frames[:have] + rests[cursor] == first.frames
        assert len(rests) > 10


def asks() -> Any:
    """Three questions, one after the other."""

    async def question(state: Any) -> Any:
        told = interrupt({"message": f"{len(state['messages'])}?"})
        return {"messages": [AIMessage(f"told {told!r}")]}

    graph: Any = StateGraph(State)
    before = START
    for name in ("one", "two", "three"):
        graph.add_node(name, question)
        graph.add_edge(before, name)
        before = name
    return graph


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_held_turn_of_several_runs_is_whole_wherever_it_is_cut(tmp_path: Path) -> None:
    """The address names the first run; the cursor says in which run of the thread the client is."""
    rng = random.Random(20_261_201)

    async def person(client: Client, number: int) -> None:
        for count in range(3):
            question = await client.asked.get()
            await Chat(client.server, thread=thread(number)).answer(value(question, count))

    async with stack(tmp_path, agents={"default": asks}, heartbeat_s=0.01) as server:
        cut = 0
        for first in range(0, 12, 4):
            clients = [Client(server, random.Random(rng.random()), query="?hold=1") for _ in range(4)]
            async with asyncio.TaskGroup() as group:
                for at, client in enumerate(clients):
                    group.create_task(client.run(first + at))
                    group.create_task(person(client, first + at))
            for client in clients:
                runs = list(dict.fromkeys(str(frame.id).partition(":")[0] for frame in client.kept if frame.id))
                assert len(runs) == 4
                whole: list[Frame] = []
                for run_id in runs:
                    async with Chat(server).attach(run_id) as reader:
                        await reader.rest()
                    whole += reader.frames
                assert short(client.kept) == [one for one in short(whole) if one != "turn_completed paused"]
                cut += client.attachments - 1
        assert cut >= 24


def short(frames: list[Frame]) -> list[str]:
    """Type and node, or status."""
    found = []
    for frame in frames:
        event = json.loads(frame.data)
        status = (event.get("response") or {}).get("status", "")
        found.append(f"{event['type']} {event.get('node', '')}{status}".strip())
    return found
