"""Cut at any byte and attached again, a client of /chat has exactly the events that one has who was never cut."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph

from middle_core.agents.knowledge_copilot.state import State
from middle_core.transports.wire.sse_frames import Frame, SseParser
from tests.fakes.graphs import calls
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import PATIENCE_S, Stack, stack
from tests.scenarios.chat_door import ACCEPT, Chat

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


class Client:
    """Keeps what it has for good: the frames up to the last one with an id. What came after it comes again."""

    def __init__(self, server: Stack, rng: random.Random) -> None:
        self.server = server
        self.rng = rng
        self.kept: list[Frame] = []
        self.run_id = ""
        self.attachments = 0

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
            self.run_id = response.headers["x-run-id"]
            async for chunk in response.aiter_raw():
                for frame in parser.feed(chunk[:room]):
                    loose.append(frame)
                    if frame.id is not None:
                        self.kept += loose
                        loose.clear()
                room -= len(chunk)
                if room <= 0:
                    return

    async def run(self, number: int) -> None:
        body = {"message": "hi", "thread_id": f"t{number}", "on_disconnect": "continue"}
        await self.read("POST", "/chat?tokens=1", body, self.rng.randrange(1, 6_000))
        while not self.over:
            await self.read("GET", f"/chat/runs/{self.run_id}/events?tokens=1", None, self.rng.randrange(1, 6_000))


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_two_hundred_random_cuts_lose_and_repeat_nothing(tmp_path: Path) -> None:
    rng = random.Random(20_261_130)  # a fixed seed: a failure can be looked at again
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
    """The cursor after any prefix leads to exactly the rest."""
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
