"""A turn, end to end over HTTP: what a browser sees is what the log holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fakes.agui_verify import verify_streams
from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import run_input, stack, user


async def test_words_arrive_one_by_one_and_are_durable_before_they_are_seen(tmp_path: Path) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    model = ScriptedModel(turns=[["Hel", gates[0], "lo ", gates[1], "world", gates[2], finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("hi") as reader:
        for gate, text in zip(gates, ["Hel", "Hello ", "Hello world"], strict=True):
            await reader.until_text(text)
            assert reader.text == text
            async with server.follow(reader.run_id) as other:
                await other.until_text(text)
            gate.set()
        await reader.rest()
        assert reader.events[-1]["type"] == "RUN_FINISHED"
        async with server.follow(reader.run_id) as replay:
            await replay.rest()
        assert [(frame.id, frame.data) for frame in replay.frames] == [(frame.id, frame.data) for frame in reader.frames]
    [verdict] = await verify_streams([bytes(reader.raw)])
    assert verdict.ok, verdict
    assert verdict.messages[-1]["content"] == "Hello world"


async def test_a_stream_has_the_headers_that_keep_proxies_from_buffering(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["x", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("hi") as reader:
        headers = reader.response.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert headers["x-run-id"]
        await reader.rest()
        assert reader.raw.startswith(b": ")


async def test_ids_are_dense_and_run_started_echoes_the_clients_id(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["x", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        reader = await server.ask("hi", run="my-run")
    assert reader.events[0] == {"type": "RUN_STARTED", "threadId": "t1", "runId": "my-run"}
    assert [frame.id for frame in reader.frames] == [f"{reader.run_id}:{seq}" for seq in range(1, len(reader.frames) + 1)]
    assert reader.run_id != "my-run"


async def test_the_thread_remembers(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["one", finish()], ["two", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        await server.ask("first")
        await server.ask("second")
        history = await server.history()
    assert [(message["role"], message["content"]) for message in history] == [
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", "two"),
    ]
    assert [message.content for message in model.seen[1]] == ["first", "one", "second"]


async def test_the_same_request_again_attaches_to_its_run(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["slow", gate, " answer", finish()]])
    body = run_input(user("hi", "u1"), run="r1")
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        server.stream("POST", "/copilotkit", body=body) as first,
        server.stream("POST", "/copilotkit", body=body) as second,
    ):
        await first.until_text("slow")
        assert second.run_id == first.run_id
        gate.set()
        await first.rest()
        await second.rest()
        async with server.stream("POST", "/copilotkit", body=body) as third:
            await third.rest()
        assert first.frames == second.frames == third.frames
        changed = run_input(user("something else", "u2"), run="r1")
        refused = await server.post("/copilotkit", changed)
    assert refused.status_code == 409
    assert refused.json()["code"] == "invalid_request"
    assert len(model.seen) == 1
