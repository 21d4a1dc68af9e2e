"""A token that ends in the middle of a stream ends the stream, not the run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import stack
from tests.fakes.tokens import mint


async def test_the_stream_ends_with_the_token_and_goes_on_with_the_next(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    ends = int(time.time()) + 3
    short, fresh = mint(exp=ends), mint(exp=ends + 300)
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        async with server.say("hi", token=short) as reader:
            await reader.rest()
        assert time.time() > ends - 0.1, "not before the token does"
        assert reader.events[-1]["name"] == "middle_core.reattach"
        assert reader.events[-1]["value"]["reason"] == "token_expired"
        refused = await server.get(f"/copilotkit/runs/{reader.run_id}/events", token=short)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
        assert model.ended == [], "the run goes on"
        async with server.follow(reader.run_id, reader.last_id, token=fresh) as rest:
            gate.set()
            await rest.rest()
        assert reader.text + rest.text == "ab"


async def test_a_fresher_token_replaces_the_runs(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, finish()]])
    now = int(time.time())
    first, second, older = mint(exp=now + 60), mint(exp=now + 600), mint(exp=now + 30)
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("hi", token=first) as reader:
        await reader.until_text("a")
        run_id = (await server.get("/threads/t1", token=first)).json()["activeRun"]["runId"]
        holder = server.parts.supervisor.principal(run_id)
        assert holder is not None
        assert holder.credential.token == first
        async with server.follow(run_id, token=second) as again:
            await again.until_text("a")
            assert holder.credential.token == second
        async with server.connect(token=older) as connected:
            await connected.until_text("a")
            assert holder.credential.token == second
        gate.set()
        await reader.rest()
