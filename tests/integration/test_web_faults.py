"""Faults behind Next: the ingress's own error texts, and a deploy in the middle of many answers. The browser gets our words or no error."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.ports import free_port
from tests.fakes.process import gone, serve
from tests.fakes.relay import Relay
from tests.fakes.stack import Reader, run_input, stack, user
from tests.integration import agent
from tests.integration.hops import envoy
from tests.integration.lab import Browser, Figures, Stopwatch, Web, port_of, via, web_tier

pytestmark = pytest.mark.asyncio(loop_scope="module")

INGRESS_WORDS = ("stream timeout", "upstream request timeout", "upstream connect error", "disconnect/reset", "no healthy upstream")
STREAMS = 20
ENDED_WITHIN_S = 5.0
"""A third of the drain: they did not wait for it. How long it took stands in the table."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Web]:
    async with web_tier(tmp_path_factory.mktemp("web"), FRONTEND_CORE_START_S="1.5") as web:
        yield web


async def everything(browser: Browser) -> dict[str, httpx.Response]:
    """Send one request to each route of Next that asks middle-core, all at once. Returns the whole answers."""
    base, headers, http = browser.url, browser.headers, browser.http
    asked = {
        "run": http.post(f"{base}/api/copilotkit/agent/default/run", json=run_input(user("hi")), headers=headers),
        "connect": http.post(f"{base}/api/copilotkit/agent/default/connect", json=run_input(), headers=headers),
        "stop": http.post(f"{base}/api/copilotkit/agent/default/stop/t1", json={}, headers=headers),
        "agents": http.get(f"{base}/api/copilotkit/info", headers=headers),
        "info": http.get(f"{base}/api/info", headers=headers),
        "threads": http.get(f"{base}/api/threads", headers=headers),
        "thread": http.get(f"{base}/api/threads/t1", headers=headers),
        "delete": http.delete(f"{base}/api/threads/t1", headers=headers),
        "health": http.get(f"{base}/api/health"),
    }
    async with asyncio.TaskGroup() as group:
        answers = {name: group.create_task(coroutine) for name, coroutine in asked.items()}
    return {name: task.result() for name, task in answers.items()}


def told(response: httpx.Response) -> tuple[str, str]:
    """Code and text of a refusal: of a problem, or of the RUN_ERROR at the end of a stream."""
    if response.headers["content-type"].startswith("text/event-stream"):
        last = json.loads(response.text.rstrip().rsplit("data: ", 1)[1])
        assert last["type"] == "RUN_ERROR"
        return last["code"], last["message"]
    problem = response.json()
    return problem["code"], problem["detail"]


@pytest.mark.parametrize("fault", ["idle timeout", "total timeout", "nobody there"])
async def test_the_ingress_words_are_never_shown(web: Web, fault: str, tmp_path: Path, figures: Figures) -> None:
    """microsoft/azure-container-apps#1637: "stream timeout" shown as an assistant's answer. Here each route says in words that the service cannot be reached."""
    model = ScriptedModel(turns=[["never", finish()]])
    async with (
        stack(tmp_path, agents={"default": lambda: chat(model)}) as server,
        Relay(port_of(server)) as silent,
        envoy(
            tmp_path,
            free_port() if fault == "nobody there" else silent.port,
            idle_s=0.3 if fault == "idle timeout" else 60,
            total_s=0.3 if fault == "total timeout" else 0,
        ) as ingress,
    ):
        silent.answers.clear()
        raw = (await via(server, ingress).get("/copilotkit/info")).text
        assert any(words in raw for words in INGRESS_WORDS), "the ingress has to say it, or this shows nothing"
        web.core.target = ingress.port
        answers = await everything(web.browser())
    for name, response in answers.items():
        assert all(words not in response.text for words in INGRESS_WORDS), name
        if name == "agents":  # lets the page come up, without middle-core
            continue
        code, words = told(response)
        assert code == "draining", name
        assert words == "The assistant cannot be reached right now. What was written is kept; try again in a moment.", name
    figures.fact(f'ingress answers "{raw.split(".")[0]}" ({fault})', "all doors of Next: a typed error in words, never that text")


async def test_a_deploy_in_the_middle_of_many_answers(web: Web, tmp_path: Path, figures: Figures) -> None:
    """SIGTERM with 20 silent streams: they end at once with a hint, and the runs finish within the drain. Next attaches the
    browsers to the next process, and they see 20 whole answers and no interruption."""
    port = free_port()
    said = "before ~2.5 after"
    async with AsyncExitStack() as open_:
        ingress = await open_.enter_async_context(envoy(tmp_path, port, idle_s=5))
        web.core.target = ingress.port
        async with serve(tmp_path / "data", port=port, agents=agent.PATH, env={"MIDDLE_CORE_DRAIN_S": "15"}) as old:
            raw: list[Reader] = [await open_.enter_async_context(via(old, ingress).say(said, thread=f"raw{n}")) for n in range(STREAMS)]
            tabs: list[Reader] = [await open_.enter_async_context(web.browser().say(said, thread=f"tab{n}")) for n in range(STREAMS)]
            for reader in (*raw, *tabs):
                await reader.until_text("before ")
            assert old.process is not None
            old.process.send_signal(signal.SIGTERM)
            told = Stopwatch()
            for reader in raw:
                await reader.rest()
            ended = told.seconds
            refused = await via(old, ingress).post("/copilotkit", run_input(user("new"), thread="new"))
            assert await gone(old.process, 20) == 0
            exited = told.seconds
        assert ended < ENDED_WITHIN_S
        assert {reader.events[-1]["value"]["reason"] for reader in raw} == {"drain"}
        assert refused.status_code == 503
        async with serve(tmp_path / "data", port=port, agents=agent.PATH) as new:
            for reader in tabs:
                await reader.rest()
            for reader in raw:
                async with new.follow(reader.run_id, reader.last_id) as rest:
                    await rest.rest()
                assert reader.text + rest.text == "before after "
    for reader in tabs:
        assert reader.text == "before after "
        assert reader.types[-1] == "RUN_FINISHED"
        assert "middle_core.reattach" not in reader.types
    figures.fact(f"SIGTERM with {STREAMS} silent streams (and {STREAMS} more through Next)", f"streams end after {ended:.2f} s")
    figures.fact(
        "their runs, 2.5 s of silence and a 15 s drain", f"all finish; exit after {exited:.1f} s; next process: exact text in every tab"
    )


async def test_a_process_that_gets_no_grace_at_all_costs_the_browser_a_pause(web: Web, tmp_path: Path) -> None:
    """Drain 0: the run is let go at once, and goes on in the next process, on another port, in the browser's one stream."""
    async with Relay() as place, envoy(tmp_path, place.port) as ingress, AsyncExitStack() as open_:
        web.core.target = ingress.port
        async with serve(tmp_path / "data", agents=agent.PATH, env={"MIDDLE_CORE_DRAIN_S": "0"}) as old:
            place.target = port_of(old)
            tab = await open_.enter_async_context(web.browser().say("before ~3 after"))
            await tab.until_text("before ")
            assert old.process is not None
            old.process.send_signal(signal.SIGTERM)
            told = Stopwatch()
            assert await gone(old.process, 10) == 0
            assert told.seconds < ENDED_WITHIN_S
        async with serve(tmp_path / "data", agents=agent.PATH) as new:
            place.target = port_of(new)
            await tab.rest()
            again = await new.ask("still here")
    assert tab.types[-1] == "RUN_FINISHED"
    boundary = tab.types.index("middle_core.attempt")
    kept, *_, whole = [event["messages"] for event in tab.events[boundary:] if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [message["role"] for message in kept] == ["user"], "nothing is left of what was said halfway"
    assert [message["content"] for message in whole][1:] == ["before after "], "and it is said once"
    said = [event["delta"] for event in tab.events[boundary:] if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert "".join(said) == "before after "
    assert again.text == "still here "
