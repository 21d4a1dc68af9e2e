"""`/chat` through the hops: its stream comes event by event, survives a pause and every cut, and a client that leaves is noticed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.graphs import ask, chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import Reader, Stack, stack
from tests.fakes.until import until
from tests.integration.hops import HOPS, Made, envoy
from tests.integration.lab import CUT, Figures, Stopwatch, follow_through, ms, paced, port_of, via

STREAM = {"accept": "text/event-stream"}
TOKENS = 20


def turn(server: Stack, message: str = "hi", *, query: str = "?tokens=1", **more: Any) -> Any:
    """Open the stream of a turn."""
    return server.stream("POST", f"/chat{query}", body={"message": message, "thread_id": "t1", **more}, headers=STREAM)


def said(reader: Reader) -> str:
    """All words so far."""
    return "".join(event["delta"] for event in reader.events if event["type"] == "token")


@pytest.mark.parametrize("hop", HOPS)
async def test_a_token_arrives_before_the_next_is_said(hop: Made, tmp_path: Path, figures: Figures, request: pytest.FixtureRequest) -> None:
    """`node_started` arrives before the first token, so it does not wait either. The client accepts gzip."""
    gates = [asyncio.Event() for _ in range(TOKENS)]
    model = ScriptedModel(turns=[[*(item for number, gate in enumerate(gates) for item in (gate, f"w{number} ")), finish()]])
    took: list[float] = []
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        hop(tmp_path, port_of(server)) as front,
        turn(via(server, front)) as reader,
    ):
        await reader.until_type("node_started")
        for number, gate in enumerate(gates):
            spoken = time.monotonic()
            gate.set()
            await reader.until(lambda reader, number=number: f"w{number} " in said(reader))
            took.append(time.monotonic() - spoken)
        await reader.rest()
    assert reader.types[0] == "graph_topology"
    assert reader.types[-1] == "turn_completed"
    assert said(reader) == "".join(f"w{number} " for number in range(TOKENS))
    assert "content-encoding" not in reader.response.headers
    figures.hop(request.node.callspec.id, "a token, /chat", ms(took))


@pytest.mark.parametrize("hop", HOPS)
async def test_a_client_that_leaves_ends_its_turn(hop: Made, tmp_path: Path) -> None:
    """The default of /chat: nobody else follows, so the model is stopped."""
    model = ScriptedModel(turns=[["a", asyncio.Event()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server,
        hop(tmp_path, port_of(server)) as front,
    ):
        async with turn(via(server, front)) as reader:
            await reader.until(lambda reader: said(reader) == "a")
        await until(lambda: model.ended == ["cancelled"], 5.0)  # half a heartbeat: nothing waits for one


async def test_a_json_caller_that_hangs_up_ends_its_turn(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["a", asyncio.Event()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server,
        envoy(tmp_path, port_of(server)) as ingress,
        asyncio.TaskGroup() as group,
    ):
        caller = group.create_task(via(server, ingress).post("/chat", {"message": "hi"}))
        await until(lambda: bool(model.seen))
        caller.cancel()
        await until(lambda: model.ended == ["cancelled"], 5.0)  # half a heartbeat: nothing waits for one


async def test_a_json_answer_longer_than_the_idle_timeout_is_asked_for_again(tmp_path: Path, figures: Figures) -> None:
    """JSON has no heartbeats, so the ingress answers 504 first. Within the grace, the same request finds the same turn."""
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a ", gate, "b", finish()]])
    body = {"message": "hi", "thread_id": "t1", "run_id": "the-turn"}
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=10) as server,
        envoy(tmp_path, port_of(server), idle_s=0.4) as ingress,
    ):
        early = [await via(server, ingress).post("/chat", body) for _ in range(2)]
        gate.set()
        late = await via(server, ingress).post("/chat", body)
    assert [(response.status_code, response.text) for response in early] == [(504, "stream timeout")] * 2
    assert late.json()["status"] == "completed"
    assert [part["text"] for part in late.json()["reply"]["parts"]] == ["a b"]
    assert len(model.seen) == 1
    figures.fact("/chat as JSON, longer than the idle timeout", "504s; the same request again gets the one answer")


async def test_cuts_by_a_total_timeout_lose_and_double_nothing(tmp_path: Path) -> None:
    words = [f"w{number} " for number in range(100)]
    model, speak = paced(words, 2.0)
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=0.1) as server,
        envoy(tmp_path, port_of(server), total_s=0.3) as ingress,
        asyncio.TaskGroup() as group,
    ):
        front = via(server, ingress)
        async with turn(front) as reader:
            group.create_task(speak())
            with pytest.raises(CUT):
                await reader.rest()
        path = f"/chat/runs/{reader.run_id}/events?tokens=1"
        rest = await follow_through(front, path, reader.last_id)
        async with server.stream("GET", path) as replay:
            await replay.rest()
    events = reader.events + rest.events
    assert rest.cuts >= 3
    assert events == replay.events
    assert "".join(event["delta"] for event in events if event["type"] == "token") == "".join(words)


async def test_a_pause_that_someone_watches_outlives_the_idle_timeout(tmp_path: Path, figures: Figures) -> None:
    """`?hold=1`: the stream is silent while a person thinks, heartbeats keep it open, and it goes on when the answer comes at another endpoint."""
    idle_s = 0.8
    async with (
        stack(tmp_path, agents={"default": lambda: ask("really?")}, heartbeat_s=0.2) as server,
        envoy(tmp_path, port_of(server), idle_s=idle_s) as ingress,
        turn(via(server, ingress), query="?hold=1") as reader,
    ):
        await reader.until_type("paused")
        thinks = Stopwatch()
        await reader.comments(reader.parser.comments + 12)
        thought = thinks.seconds
        [asked] = reader.events[-1]["interrupts"]
        answers = [{"interrupt_id": asked["interrupt_id"], "decision": "answer", "value": "yes"}]
        answer = await via(server, ingress).post("/chat/resume", {"thread_id": "t1", "answers": answers})
        await reader.rest()
    assert thought > 2 * idle_s
    assert answer.json()["status"] == "completed"
    assert reader.types[-1] == "turn_completed"
    assert reader.events[-1]["response"]["status"] == "completed"
    figures.fact(
        f"a person thinks for {thought:.1f} s, idle timeout {idle_s:g} s, /chat?hold=1", "one stream, from the question to the answer's end"
    )
