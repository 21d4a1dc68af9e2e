"""Browsers speak HTTP/2 to the ingress. Many streams share one connection, so the end of a stream does not end the connection."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import PATIENCE_S, Stack, run_input, stack, user
from tests.fakes.until import until
from tests.integration.hops import Hop, envoy
from tests.integration.lab import Figures, Stopwatch, port_of

CLIENT = Path(__file__).parent / "http2_client.mjs"
IDLE_S = 0.8


class Http2:
    """The client's process. `text` is what has come."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        self.stdin = process.stdin
        self._process = process
        self.text = ""

    async def until(self, text: str) -> None:
        """Read until it has come."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.text:
                some = await self._process.stdout.read(4096)
                assert some, f"it ended; it had {self.text}"
                self.text += some.decode()


@asynccontextmanager
async def say(server: Stack, ingress: Hop, **more: Any) -> AsyncIterator[Http2]:
    """A run's stream over HTTP/2."""
    node = shutil.which("node")
    assert node is not None, "there is no node on this machine"
    body = json.dumps(run_input(user("hi"), **more))
    process = await asyncio.create_subprocess_exec(
        *(node, str(CLIENT), ingress.url, "/copilotkit", server.token, body),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    client = Http2(process)
    try:
        yield client
    finally:
        client.stdin.close()
        await process.wait()


async def test_a_token_arrives_before_the_next_is_said(tmp_path: Path) -> None:
    gates = [asyncio.Event() for _ in range(10)]
    model = ScriptedModel(turns=[[*(item for number, gate in enumerate(gates) for item in (f"w{number} ", gate)), finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        envoy(tmp_path, port_of(server)) as ingress,
        say(server, ingress) as client,
    ):
        for number, gate in enumerate(gates):
            await client.until(f"w{number} ")
            gate.set()
        await client.until("[closed 0]")
    assert "RUN_FINISHED" in client.text


async def test_a_cancelled_stream_reaches_the_model_although_the_connection_stays(tmp_path: Path, figures: Figures) -> None:
    model = ScriptedModel(turns=[["a", asyncio.Event()]])
    bound = {"middleCore": {"on_disconnect": "cancel"}}
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server,
        envoy(tmp_path, port_of(server)) as ingress,
        say(server, ingress, forwardedProps=bound) as client,
    ):
        await client.until('"a"')
        left = Stopwatch()
        client.stdin.write(b"leave\n")
        await until(lambda: model.ended == ["cancelled"], 1.0)
        after = left.seconds
    figures.hop("Envoy, HTTP/2", "client leaves, silent", f"{after * 1000:.0f} ms")


async def test_pings_are_no_heartbeats(tmp_path: Path, figures: Figures) -> None:
    """Ten pings a second do not keep a silent stream open. Only bytes of the stream do."""
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()], ["a", gate, "b", finish()]])
    async with envoy_for(tmp_path / "without", model, heartbeat_s=60) as (server, ingress), say(server, ingress) as client:
        await client.until('"a"')
        quiet = Stopwatch()
        await client.until("[closed ")
        after = quiet.seconds
    assert IDLE_S * 0.8 < after < IDLE_S * 4
    assert "[closed 0]" not in client.text
    async with envoy_for(tmp_path / "with", model, heartbeat_s=0.2) as (server, ingress), say(server, ingress) as client:
        await client.until('"a"')
        await client.until(": keep-alive\n\n" * round(2 * IDLE_S / 0.2))
        gate.set()
        await client.until("[closed 0]")
    assert '"b"' in client.text
    figures.fact(f"HTTP/2, idle timeout {IDLE_S:g} s, no heartbeats, ten pings a second", f"cut after {after:.2f} s: pings do not count")


@asynccontextmanager
async def envoy_for(folder: Path, model: ScriptedModel, *, heartbeat_s: float) -> AsyncIterator[tuple[Stack, Hop]]:
    """A server behind an Envoy with short timeouts."""
    folder.mkdir()
    async with (
        stack(folder, agents={"default": lambda: chat(model)}, heartbeat_s=heartbeat_s) as server,
        envoy(folder, port_of(server), idle_s=IDLE_S) as ingress,
    ):
        yield server, ingress
