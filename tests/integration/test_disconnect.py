"""A client that leaves, or a stop, closes the model's own socket at once, whether the model sends or is silent.

The model is the Cerebras simulator behind the real SDK, so we measure when the connection of a running model is closed. On /copilotkit
a closed tab keeps its run by design, so these tests use `on_disconnect: cancel` there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.cerebras_server import CerebrasServer, Reply
from tests.fakes.stack import Reader, Stack, stack
from tests.fakes.until import until
from tests.integration.hops import HOPS, Made, envoy
from tests.integration.lab import Figures, Stopwatch, Web, build, port_of, via, web_tier

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHOLE_PATH = "Envoy, Next, Envoy"
BOUND = {"middleCore": {"on_disconnect": "cancel"}}
WITHIN_S = 5.0
"""Half a heartbeat: nothing waited for one. How long it took stands in the table."""

TALKING = Reply(["word "] * 3000, rate=50)
SILENT = Reply(["one ", "two"], hang_after=2)


def manner(reply: Reply) -> str:
    """How the model behaves, in one word."""
    return "talking" if reply is TALKING else "silent"


MANNERS = [pytest.param(reply, id=manner(reply)) for reply in (TALKING, SILENT)]


@dataclass
class Served:
    """A server on the simulator."""

    server: Stack
    model: CerebrasServer

    async def until_left(self) -> float:
        """The `time.monotonic()` at which the model's newest connection was closed."""
        request = self.model.requests[-1]
        await until(lambda: request.closed_early, WITHIN_S)
        assert request.closed_at is not None
        return request.closed_at


@asynccontextmanager
async def served(folder: Path, reply: Reply) -> AsyncIterator[Served]:
    """Heartbeats are as slow as in production, because no measured event may wait for one."""
    async with (
        CerebrasServer() as model,
        stack(
            folder,
            agents={"default": build},
            model="cerebras:",
            cerebras_api_key="test-key",
            cerebras_base_url=model.url,
            disconnect_grace_s=0,
        ) as server,
    ):
        model.script(reply)
        yield Served(server, model)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Web]:
    async with web_tier(tmp_path_factory.mktemp("web")) as web:
        yield web


async def until_heard(reader: Reader, reply: Reply) -> None:
    """Wait until the model sends, or has sent and is silent now."""
    await reader.until(lambda reader: len(reader.text) > (20 if reply is TALKING else 2))


@pytest.mark.parametrize("reply", MANNERS)
@pytest.mark.parametrize("hop", HOPS)
async def test_a_client_that_leaves_through_a_hop(
    hop: Made, reply: Reply, tmp_path: Path, figures: Figures, request: pytest.FixtureRequest
) -> None:
    async with served(tmp_path, reply) as core, hop(tmp_path, port_of(core.server)) as front:
        async with via(core.server, front).say("hi", forwardedProps=BOUND) as reader:
            await until_heard(reader, reply)
            left = Stopwatch()
        after = await core.until_left() - left.began
    assert after < WITHIN_S
    figures.hop(request.node.callspec.id.split("-")[0], f"client leaves, {manner(reply)}", f"{after * 1000:.0f} ms")


@pytest.mark.parametrize("reply", MANNERS)
async def test_a_tab_that_is_closed(web: Web, reply: Reply, tmp_path: Path, figures: Figures) -> None:
    async with (
        served(tmp_path, reply) as core,
        envoy(tmp_path, port_of(core.server), name="inner") as inner,
        envoy(tmp_path, port_of(web), name="outer") as outer,
    ):
        web.core.target = inner.port
        async with web.browser(outer).say("hi", forwardedProps=BOUND) as reader:
            await until_heard(reader, reply)
            left = Stopwatch()
        after = await core.until_left() - left.began
    assert after < WITHIN_S
    figures.hop(WHOLE_PATH, f"client leaves, {manner(reply)}", f"{after * 1000:.0f} ms")


@pytest.mark.parametrize("reply", MANNERS)
async def test_a_stop_that_is_clicked(web: Web, reply: Reply, tmp_path: Path, figures: Figures) -> None:
    async with (
        served(tmp_path, reply) as core,
        envoy(tmp_path, port_of(core.server), name="inner") as inner,
        envoy(tmp_path, port_of(web), name="outer") as outer,
    ):
        web.core.target = inner.port
        browser = web.browser(outer)
        async with browser.say("hi") as reader:
            await until_heard(reader, reply)
            clicked = Stopwatch()
            await browser.stop()
            after = await core.until_left() - clicked.began
            await reader.rest()
    assert after < WITHIN_S
    assert reader.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]
    figures.hop(WHOLE_PATH, f"stop, {manner(reply)}", f"{after * 1000:.0f} ms")


async def test_a_tab_that_is_closed_keeps_its_run_unless_told_otherwise(web: Web, tmp_path: Path) -> None:
    """The default of /copilotkit: the follower leaves, the model goes on, and a reload finds the run."""
    async with served(tmp_path, Reply(["word "] * 60, rate=100)) as core, envoy(tmp_path, port_of(core.server)) as inner:
        web.core.target = inner.port
        async with web.browser().say("hi") as reader:
            await until_heard(reader, TALKING)
        async with web.browser().connect() as again:
            await again.rest()
        [request] = core.model.requests
    assert not request.closed_early
    assert again.text == "word " * 60
