"""Envoy as Container Apps' ingress, with shorter times: what it cuts, what heartbeats save, and what only attaching again saves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.relay import Relay
from tests.fakes.stack import run_input, stack, user
from tests.fakes.until import until
from tests.integration.hops import envoy
from tests.integration.lab import CUT, Figures, Stopwatch, follow_through, paced, port_of, via
from tests.integration.trickle import Trickle

IDLE_S = 1.0
"""Seconds, instead of 240."""
BEAT_S = 0.2
"""Seconds, instead of 10. The idle timeout is five heartbeats here, and 24 on Container Apps."""

TEXT = "Grüße 你好 🌍 \u2028\u0085 é\tend"


def silent() -> tuple[ScriptedModel, asyncio.Event]:
    """A model that says "a", and "b" when it is told to."""
    gate = asyncio.Event()
    return ScriptedModel(turns=[["a", gate, "b", finish()]]), gate


async def test_a_silent_stream_is_cut_without_heartbeats_and_the_run_lives_on(tmp_path: Path, figures: Figures) -> None:
    model, gate = silent()
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=60) as server:
        async with envoy(tmp_path, port_of(server), idle_s=IDLE_S) as ingress, via(server, ingress).say("hi") as reader:
            await reader.until_text("a")
            quiet = Stopwatch()
            with pytest.raises(CUT):
                await reader.rest()
            after = quiet.seconds
        assert IDLE_S * 0.8 <= after < IDLE_S * 4
        gate.set()
        async with server.follow(reader.run_id, reader.last_id) as rest:
            await rest.rest()
    assert reader.text + rest.text == "ab"
    assert model.ended == ["end"]
    figures.fact(f"silent stream, idle timeout {IDLE_S:g} s, no heartbeats", f"cut after {after:.2f} s; the run goes on")


async def test_a_silent_stream_survives_with_heartbeats(tmp_path: Path, figures: Figures) -> None:
    model, gate = silent()
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=BEAT_S) as server,
        envoy(tmp_path, port_of(server), idle_s=IDLE_S) as ingress,
        via(server, ingress).say("hi") as reader,
    ):
        await reader.until_text("a")
        quiet = Stopwatch()
        await reader.comments(1 + round(4 * IDLE_S / BEAT_S))
        lasted = quiet.seconds
        gate.set()
        await reader.rest()
    assert lasted > 3 * IDLE_S
    assert reader.text == "ab", "on one connection"
    figures.fact(f"silent stream, idle timeout {IDLE_S:g} s, heartbeats every {BEAT_S:g} s", f"lives on after {lasted:.1f} s of silence")


async def test_the_first_byte_does_not_wait_for_the_model(tmp_path: Path) -> None:
    """microsoft/azure-container-apps#597: a 504, because nothing was sent before the first token."""
    gate = asyncio.Event()
    model = ScriptedModel(turns=[[gate, "late", finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=BEAT_S) as server,
        envoy(tmp_path, port_of(server), idle_s=IDLE_S) as ingress,
        via(server, ingress).say("hi") as reader,
    ):
        await reader.comments(1 + round(2 * IDLE_S / BEAT_S))
        gate.set()
        await reader.rest()
    assert reader.response.status_code == 200
    assert reader.text == "late"


async def test_a_total_timeout_is_healed_by_the_last_id(tmp_path: Path, figures: Figures) -> None:
    """Heartbeats do not help against it. A run four times as long is followed live to its end."""
    words = [f"w{number} " for number in range(160)]
    total_s = 0.5
    model, speak = paced(words, 4 * total_s)
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=0.1) as server,
        envoy(tmp_path, port_of(server), total_s=total_s) as ingress,
        asyncio.TaskGroup() as group,
    ):
        lasts = Stopwatch()
        async with via(server, ingress).say("go") as first:
            group.create_task(speak())
            with pytest.raises(CUT):
                await first.rest()
        rest = await follow_through(via(server, ingress), f"/copilotkit/runs/{first.run_id}/events", first.last_id)
        lasted = lasts.seconds
        async with server.follow(first.run_id) as whole:
            await whole.rest()
    assert rest.cuts >= 2
    assert first.events + rest.events == whole.events
    assert whole.text == "".join(words)
    figures.fact(
        f"run of {lasted:.1f} s, total timeout {total_s:g} s, raw door",
        f"{rest.cuts + 1} cuts; every event once and in order by Last-Event-ID",
    )


async def test_cuts_at_any_byte_lose_and_double_nothing(tmp_path: Path, figures: Figures) -> None:
    """On a slow line between ingress and server the total timeout cuts anywhere, also within frames and characters."""
    words = [f"{number} {TEXT} " for number in range(400)]
    clients, total_s = 4, 0.1
    model, speak = paced(words, 3.0)
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        Trickle(port_of(server), seed=8) as line,
        envoy(tmp_path, line.port, total_s=total_s) as ingress,
        envoy(tmp_path, line.port, total_s=2, name="patient") as patient,
        server.say("go") as whole,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(speak())
        path = f"/copilotkit/runs/{whole.run_id}/events"
        following = [
            group.create_task(follow_through(via(server, ingress), path, None, patient=via(server, patient))) for _ in range(clients)
        ]
        await whole.rest()
    assert whole.text == "".join(words)
    followed = [task.result() for task in following]
    for each in followed:
        assert each.events == whole.events
    cuts, torn = sum(each.cuts for each in followed), sum(each.torn for each in followed)
    assert cuts > 50
    assert torn > cuts / 2, "most cuts have to fall within a frame, or this proves little"
    figures.fact(
        f"{clients} readers on a slow line, total timeout {total_s * 1000:.0f} ms",
        f"{cuts} cuts, {torn} of them within a frame; every event once and in order",
    )


async def test_a_request_that_the_ingress_repeats_is_one_run(tmp_path: Path, figures: Figures) -> None:
    """Envoy repeats a request when its server dies before it answers. The repeated request finds the run of the first."""
    model = ScriptedModel(turns=[["once", finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        Relay(port_of(server)) as relay,
        envoy(tmp_path, relay.port) as ingress,
        asyncio.TaskGroup() as group,
    ):
        relay.answers.clear()
        asked = group.create_task(via(server, ingress).ask("hi"))
        await until(lambda: model.ended == ["end"])
        relay.drop()  # the answer to the first request never arrives
        relay.answers.set()
        reader = await asked
        history = await server.history()
    assert relay.header("authorization") == [server.headers()["authorization"].encode()] * 2, "two requests reached the server"
    assert len(model.seen) == 1
    assert reader.text == "once"
    assert [message["content"] for message in history] == ["hi", "once"]
    figures.fact("server dies before it answers, the ingress repeats the request", "one run, one answer")


async def test_a_504_of_the_ingress_has_its_own_words_and_the_request_may_be_sent_again(tmp_path: Path) -> None:
    """A client of middle-core's own endpoint gets the ingress's text when nothing answers; the text names a timeout and no cause."""
    model = ScriptedModel(turns=[["once", finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        Relay(port_of(server)) as relay,
        envoy(tmp_path, relay.port, idle_s=0.3, name="idle") as idle,
        envoy(tmp_path, relay.port, total_s=0.3, name="total") as total,
    ):
        relay.answers.clear()
        body = run_input(user("hi"), run="the-run")
        words = [(await via(server, ingress).post("/copilotkit", body)).text for ingress in (idle, total)]
        relay.answers.set()
        again = await via(server, idle).post("/copilotkit", body)
    assert words == ["stream timeout", "upstream request timeout"]
    assert again.status_code == 200
    assert len(model.seen) == 1
