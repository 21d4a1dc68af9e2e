"""Misbehaving graphs: their own run ends at once with a typed error. The process, the thread and other runs go on."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from middle_core.node_api.emit import progress
from middle_core.runs.graph.event_queue import FULL
from tests.fakes.graphs import one_node
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.stack import PATIENCE_S, stack
from tests.scenarios.agents import tool_agent

pytestmark = pytest.mark.both_stores


class Unheard(BaseException):
    """An exception that wrongly derives from BaseException."""


async def exits(_state: Any) -> Any:
    sys.exit("postgres://user:password@host")


def exits_in_a_thread(_state: Any) -> Any:
    sys.exit("postgres://user:password@host")


async def is_interrupted(_state: Any) -> Any:
    raise KeyboardInterrupt


async def raises_no_exception(_state: Any) -> Any:
    raise Unheard("postgres://user:password@host")


async def cancels_itself(_state: Any) -> Any:
    raise asyncio.CancelledError


@pytest.mark.parametrize("node", [exits, exits_in_a_thread, is_interrupted, raises_no_exception, cancels_itself])
async def test_a_node_may_end_its_run_and_nothing_else(tmp_path: Path, node: Callable[[Any], Any]) -> None:
    async with stack(tmp_path, agents={"default": lambda: one_node(node), "other": lambda: one_node(lambda _state: {})}) as server:
        reader = await server.ask("hi")
        assert (reader.events[-1]["type"], reader.events[-1]["code"]) == ("RUN_ERROR", "internal")
        assert "password" not in reader.raw.decode()
        assert [message["content"] for message in await server.history()] == ["hi"]
        assert (await server.ask("still there?", agent="other", thread="t2")).types[-1] == "RUN_FINISHED"


async def test_a_tool_that_exits_ends_its_run_and_nothing_else(tmp_path: Path) -> None:
    @tool
    async def leave(q: str) -> str:
        """A tool around a command line. argparse exits if it does not accept the arguments."""
        sys.exit(2)

    model = ScriptedModel(turns=[[call("leave", {"q": "x"}), finish("tool_calls")], ["here", finish()], ["here", finish()]], strict=True)
    async with stack(tmp_path, agents={"default": lambda: tool_agent(model, [leave])}) as server:
        first = await server.ask("go")
        assert first.types[-1] in {"RUN_ERROR", "RUN_FINISHED"}
        assert (await server.ask("and now?")).text == "here"


@pytest.mark.slow
async def test_a_node_that_swallows_its_cancellation_does_not_keep_the_thread(tmp_path: Path) -> None:
    entered, released, left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def deaf(_state: Any) -> Any:
        entered.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        for at in range(FULL + 1):  # nobody reads the stream any more, so nothing may wait for a reader
            await progress(str(at))
        left.set()
        return {}

    async with stack(tmp_path, agents={"default": lambda: one_node(deaf)}) as server:
        async with server.say("hi") as reader:
            await entered.wait()
            assert await server.stop()
            await reader.rest()
        assert reader.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]
        assert (await server.get("/threads/t1")).json()["running"] is False
        released.set()
        async with asyncio.timeout(PATIENCE_S):
            await left.wait()
        assert (await server.ask("and now?")).types[-1] == "RUN_FINISHED"


async def test_a_sync_node_that_blocks_stalls_nobody(tmp_path: Path) -> None:
    """langchain-ai/langgraph#4218: one sync call stalled every stream and the health checks."""
    go_on = threading.Event()

    def blocks(_state: Any) -> Any:
        go_on.wait(60)
        return {}

    agents = {"default": lambda: one_node(blocks), "other": lambda: one_node(lambda _state: {})}
    async with stack(tmp_path, agents=agents, heartbeat_s=0.05) as server, server.say("hi") as blocked:
        await blocked.comments(4)
        assert (await server.http.get(server.url + "/readyz")).status_code == 200
        assert (await server.ask("quick", agent="other", thread="t2")).types[-1] == "RUN_FINISHED"
        assert (await server.get("/threads/t1")).json()["running"], "all that while it blocks"
        go_on.set()
        assert (await blocked.rest()).types[-1] == "RUN_FINISHED"
