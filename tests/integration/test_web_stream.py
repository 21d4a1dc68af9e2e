"""Envoy -> Next -> Envoy -> middle-core, as deployed: tokens come one by one, and the browser's stream notices none of the cuts behind Next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.agui_verify import verify_streams
from tests.fakes.cerebras_server import CerebrasServer, Reply
from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import stack
from tests.integration.hops import Made, bad_nginx, envoy, nginx
from tests.integration.lab import CUT, Figures, Stopwatch, Web, build, in_turn, ms, paced, port_of, probe, verdicts, web_tier
from tests.integration.trickle import Trickle

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKENS = 20
PACE_S, SILENCE_S = 0.04, 2.5
"""Seconds of silence in the middle of an answer, longer than every timeout."""
TEXT = "Grüße 你好 🌍 \u2028\u0085 é\tend"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Web]:
    async with web_tier(tmp_path_factory.mktemp("web"), FRONTEND_CORE_HEARTBEAT_S="0.3", FRONTEND_CORE_SILENCE_S="3") as web:
        yield web


@pytest.mark.parametrize("front", [pytest.param(envoy, id="Envoy"), pytest.param(nginx, id="nginx")])
async def test_a_token_arrives_before_the_next_is_said(
    front: Made, web: Web, tmp_path: Path, figures: Figures, request: pytest.FixtureRequest
) -> None:
    """As in `test_hops_stream.py`, but through all hops between a browser and the model. The client accepts gzip."""
    gates = [asyncio.Event() for _ in range(TOKENS)]
    model = ScriptedModel(turns=[[*(item for number, gate in enumerate(gates) for item in (f"w{number} ", gate)), finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        envoy(tmp_path, port_of(server), name="inner") as inner,
        front(tmp_path, port_of(web)) as outer,
    ):
        web.core.target = inner.port
        asked = Stopwatch()
        async with web.browser(outer).say("hi") as reader:
            first_byte = asked.seconds
            took = await in_turn(reader, gates)
    assert reader.types[-1] == "RUN_FINISHED"
    assert reader.text == "".join(f"w{number} " for number in range(TOKENS))
    headers = reader.response.headers
    assert "content-encoding" not in headers
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    path = f"{request.node.callspec.id}, Next, Envoy"
    figures.hop(path, "headers", f"{first_byte * 1000:.0f} ms")
    figures.hop(path, "a token", ms(took[1:]))


@pytest.mark.parametrize("bad", [pytest.param(False, id="good"), pytest.param(True, id="badly configured")])
async def test_what_the_probe_says_of_the_whole_path(web: Web, bad: bool, tmp_path: Path, figures: Figures) -> None:
    """Real answers of a model, requested as any AG-UI client would, from the inside to the outside."""
    async with (
        CerebrasServer(default=lambda _: Reply(["word "] * 40, rate=20)) as model,
        stack(tmp_path, agents={"default": build}, model="cerebras:", cerebras_api_key="test-key", cerebras_base_url=model.url) as server,
        envoy(tmp_path, port_of(server), name="inner") as inner,
        bad_nginx(tmp_path, port_of(web)) if bad else envoy(tmp_path, port_of(web), name="outer") as outer,
    ):
        web.core.target = inner.port
        run = "/api/copilotkit/agent/default/run"
        urls = [f"{server.url}/copilotkit", f"{inner.url}/copilotkit", f"{web.url}{run}", f"{outer.url}{run}"]
        status, report = await probe(*(argument for url in urls for argument in ("--agui", url)))
    assert [verdicts(hop) for hop in report["hops"][:3]] == [{"INCREMENTAL"}] * 3
    if bad:
        assert status == 1
        assert "BUFFERED" in verdicts(report["hops"][3])
        assert {change["url"] for change in report["changes"] if change["what"].startswith("verdict")} == {urls[3]}
        figures.hop("badly configured nginx, Next, Envoy", "probe says", "BUFFERED, and names the nginx")
    else:
        assert status == 0
        assert verdicts(report["hops"][3]) == {"INCREMENTAL"}
        figures.hop("Envoy, Next, Envoy", "probe says", "INCREMENTAL")


async def test_pages_are_compressed_by_nginx_and_streams_are_not(web: Web, tmp_path: Path) -> None:
    async with nginx(tmp_path, port_of(web)) as front:
        page = await web.http.get(front.url, headers={"accept-encoding": "gzip"})
        script = next(part for part in page.text.split('"') if part.endswith(".js"))
        chunk = await web.http.get(front.url + script, headers={"accept-encoding": "gzip"})
    assert chunk.headers["content-encoding"] == "gzip"


async def test_the_browser_sees_nothing_of_total_timeouts_behind_next(web: Web, tmp_path: Path, figures: Figures) -> None:
    """Cut at any byte, again and again: the browser's one stream has every event once, in order, with heartbeats where it is silent."""
    words = [f"{number} {TEXT} " for number in range(160)]
    model, speak = paced(words, 3.0)
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=0.1) as server,
        Trickle(port_of(server), seed=7) as line,
        envoy(tmp_path, line.port, total_s=0.25) as ingress,
        asyncio.TaskGroup() as group,
    ):
        web.core.target = ingress.port
        connections = line.connections
        async with web.browser().say("go") as reader:
            group.create_task(speak())
            await reader.rest()
        cuts = line.connections - connections - 1
        run_id = (await server.get("/threads/t1")).json()["lastRun"]["runId"]
        async with server.follow(run_id) as log:
            await log.rest()
    assert cuts >= 6
    assert reader.events == log.events
    assert reader.text == "".join(words)
    [verdict] = await verify_streams([bytes(reader.raw)])
    assert verdict.ok, verdict
    figures.fact(
        "one answer through Next, on a slow line, total timeout 250 ms behind it", f"{cuts} cuts; the browser's stream sees none of them"
    )


async def test_a_run_longer_than_every_timeout_on_the_path_completes_exactly(web: Web, tmp_path: Path, figures: Figures) -> None:
    """Idle and total timeouts in front of Next and behind it, and a maximum age of streams, all shorter than the run and than its silence."""
    words = [f"w{number} " for number in range(60)]
    silence = asyncio.Event()
    half = len(words) // 2
    gates = [asyncio.Event() for _ in words]
    gates[half] = silence
    model = ScriptedModel(turns=[[*(item for pair in zip(gates, words, strict=True) for item in pair), finish()]])

    async def speak() -> None:
        # These pauses wait for nothing. The timeouts must meet a model that is slow and then silent.
        for gate in gates[:half]:
            gate.set()
            await asyncio.sleep(PACE_S)
        await asyncio.sleep(SILENCE_S)
        silence.set()
        for gate in gates[half:]:
            gate.set()
            await asyncio.sleep(PACE_S)

    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=0.1, max_stream_s=1.5) as server,
        envoy(tmp_path, port_of(server), idle_s=0.6, total_s=1.1, name="inner") as inner,
        envoy(tmp_path, port_of(web), idle_s=1.2, total_s=2.0, name="outer") as outer,
        asyncio.TaskGroup() as group,
    ):
        web.core.target = inner.port
        browser = web.browser(outer)
        lasts = Stopwatch()
        texts: list[str] = []
        async with browser.say("go") as reader:
            group.create_task(speak())
            with pytest.raises(CUT):
                await reader.rest()
        texts.append(reader.text)
        while "RUN_FINISHED" not in reader.types:
            # When the page's own connection breaks, the page opens the thread again.
            async with browser.connect() as reader:
                try:
                    await reader.rest()
                except CUT:
                    texts.append(reader.text)
        lasted = lasts.seconds
    whole = "".join(words)
    assert len(texts) >= 2
    assert all(whole.startswith(text) for text in texts)
    assert reader.text == whole
    assert lasted > 4.5
    figures.fact(
        f"run of {lasted:.1f} s with 2.5 s of silence; idle 0.6 and 1.2 s, total 1.1 and 2 s, planned age 1.5 s",
        f"exact text; the page's own hop was cut {len(texts)} times",
    )
