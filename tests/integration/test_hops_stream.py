"""Through each hop alone, a token arrives before the next one is sent, whatever the client accepts. The bad nginx fails this."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import stack
from tests.fakes.until import until
from tests.integration.hops import HOPS, Made, bad_nginx
from tests.integration.lab import Figures, Stopwatch, in_turn, ms, port_of, via

TOKENS = 20
HELD_S = 0.7
"""Seconds: long enough for a token on loopback, even on a busy machine, and short enough to wait for."""


@pytest.mark.parametrize("hop", HOPS)
async def test_a_token_arrives_before_the_next_is_said(hop: Made, tmp_path: Path, figures: Figures, request: pytest.FixtureRequest) -> None:
    """The model waits for the client at each token, so the test stops if any hop holds back one byte. The client accepts gzip."""
    gates = [asyncio.Event() for _ in range(TOKENS)]
    script = [item for number, gate in enumerate(gates) for item in (f"w{number} ", gate)]
    model = ScriptedModel(turns=[[*script, finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, hop(tmp_path, port_of(server)) as front:
        asked = Stopwatch()
        async with via(server, front).say("hi") as reader:
            first_byte = asked.seconds
            took = await in_turn(reader, gates)
    assert reader.types[-1] == "RUN_FINISHED"
    assert reader.text == "".join(f"w{number} " for number in range(TOKENS))
    headers = reader.response.headers
    assert "gzip" in reader.response.request.headers["accept-encoding"]
    assert "content-encoding" not in headers
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no", "the next nginx in line needs to be told too"
    path = request.node.callspec.id
    figures.hop(path, "headers", f"{first_byte * 1000:.0f} ms")
    figures.hop(path, "a token", ms(took[1:]))


async def test_the_bad_nginx_holds_the_whole_answer_back(tmp_path: Path, figures: Figures) -> None:
    """The stream that passes the other hops token by token arrives here in one block at its end."""
    gate = asyncio.Event()
    model = ScriptedModel(turns=[[*(f"w{number} " for number in range(TOKENS)), gate, finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=0.1) as server,
        bad_nginx(tmp_path, port_of(server)) as bad,
    ):
        arrived: list[float] = []

        async def behind_it() -> str:
            async with via(server, bad).say("hi") as reader:
                arrived.append(time.monotonic())
                await reader.response.aread()
            response: httpx.Response = reader.response
            return f"{response.headers.get('content-encoding')} {response.text}"

        async with asyncio.TaskGroup() as group:
            answer = group.create_task(behind_it())
            await until(lambda: bool(model.seen))
            async with server.connect() as direct:
                await direct.until_text(f"w{TOKENS - 1} ")
                with pytest.raises(TimeoutError):  # several heartbeats long, because heartbeats are held back too
                    await until(lambda: bool(arrived), HELD_S)
                gate.set()
                await direct.rest()
    whole = answer.result()
    assert whole.startswith("gzip")
    assert all(f"w{number} " in whole for number in range(TOKENS))
    figures.hop("nginx, badly configured", "headers", "at the end")
    figures.hop("nginx, badly configured", "a token", "at the end")
