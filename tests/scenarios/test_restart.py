"""SIGTERM and a second start: the streams are told, short answers come to their end, and the process is gone in time."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

import httpx
import pytest

from tests.fakes.process import gone, serve
from tests.fakes.stack import run_input, user
from tests.scenarios.slow_agent import whole

AGENT = "slow=tests.scenarios.slow_agent:build"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


async def test_sigterm_tells_the_streams_at_once_and_exits_cleanly(tmp_path: Path) -> None:
    env = {"MIDDLE_CORE_DRAIN_S": "0"}
    async with serve(tmp_path, agents=AGENT, env=env) as server:
        async with server.say("count 2000") as reader, server.follow(reader.run_id) as other:
            await reader.until_text("w5 ")
            await other.until_text("w5 ")
            assert server.process is not None
            async with asyncio.timeout(2):
                server.process.send_signal(signal.SIGTERM)
                await reader.rest()
                await other.rest()
        assert await gone(server.process, 10) == 0
        for stream in (reader, other):
            assert stream.events[-1]["name"] == "middle_core.reattach"
            assert stream.events[-1]["value"]["reason"] == "drain"
    async with serve(tmp_path, agents=AGENT) as server, server.follow(reader.run_id, reader.last_id) as rest:
        await rest.until_type("middle_core.attempt")


async def test_sigterm_lets_a_short_answer_come_to_its_end(tmp_path: Path) -> None:
    async with serve(tmp_path, agents=AGENT, env={"MIDDLE_CORE_DRAIN_S": "20"}) as server:
        async with server.say("count 60") as reader:
            await reader.until_text("w3 ")
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            await reader.rest()
        assert await gone(server.process, 15) == 0
    async with serve(tmp_path, agents=AGENT) as server, server.follow(reader.run_id, reader.last_id) as rest:
        await rest.rest()
    assert reader.text + rest.text == whole(60)
    assert rest.types[-1] == "RUN_FINISHED"


async def test_while_it_drains_the_door_is_open_and_says_when_to_come_again(tmp_path: Path) -> None:
    async with serve(tmp_path, agents=AGENT, env={"MIDDLE_CORE_DRAIN_S": "20"}) as server:
        silent = server.stream("GET", "/diag/stream?n=2&gap_ms=60000&hb_ms=0")
        async with server.say("count 150") as reader, silent as timed, httpx.AsyncClient() as stranger:
            await reader.until_text("w3 ")
            await timed.next()
            assert server.process is not None
            async with asyncio.timeout(1.5):
                server.process.send_signal(signal.SIGTERM)
                await reader.rest()
                await timed.rest()
            assert [stream.events[-1]["value"] for stream in (reader, timed)] == [{"reason": "drain", "retryAfterMs": 1000}] * 2
            assert (await stranger.get(server.url + "/readyz")).status_code == 503
            for refused in (
                await stranger.post(server.url + "/copilotkit", json=run_input(user("hi"), thread="t2"), headers=server.headers()),
                await stranger.post(server.url + "/chat", json={"message": "hi"}, headers=server.headers()),
                await stranger.get(server.url + "/diag/stream", headers=server.headers()),
            ):
                assert (refused.status_code, refused.json()["code"]) == (503, "draining")
                assert int(refused.headers["retry-after"]) > 0
            async with server.follow(reader.run_id, reader.last_id) as again:
                await again.rest()
            assert again.events[-1]["value"]["reason"] == "drain", "attached too soon: told again, and not left waiting"
        assert await gone(server.process, 20) == 0
    async with serve(tmp_path, agents=AGENT) as server, server.follow(reader.run_id, again.last_id) as rest:
        await rest.rest()
    assert reader.text + again.text + rest.text == whole(150)
    assert rest.types[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("drain_s", [0, 1])
async def test_it_is_gone_soon_after_its_drain(tmp_path: Path, drain_s: int) -> None:
    async with serve(tmp_path, agents=AGENT, env={"MIDDLE_CORE_DRAIN_S": str(drain_s)}) as server:
        streams = [server.say("count 2000", thread=f"t{number}") for number in range(20)]
        async with contextlib.AsyncExitStack() as open_:
            readers = [await open_.enter_async_context(stream) for stream in streams]
            for reader in readers:
                await reader.until_text("w1 ")
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            assert await gone(server.process, drain_s + 8) == 0, "far less than its runs would take"


async def test_a_second_ctrl_c_does_not_wait_for_the_drain(tmp_path: Path) -> None:
    async with serve(tmp_path, agents=AGENT, env={"MIDDLE_CORE_DRAIN_S": "60"}) as server, server.say("count 2000") as reader:
        await reader.until_text("w1 ")
        assert server.process is not None
        server.process.send_signal(signal.SIGINT)
        await reader.rest()
        assert (await server.get("/readyz")).status_code == 503
        server.process.send_signal(signal.SIGINT)
        assert await gone(server.process, 20) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_sync_tool_that_blocks_does_not_keep_the_process(tmp_path: Path, number: signal.Signals) -> None:
    agent = "blocking=tests.scenarios.slow_agent:build_blocking"
    async with serve(tmp_path, agents=agent, env={"MIDDLE_CORE_DRAIN_S": "0"}) as server:
        async with server.say("hi") as reader:
            await reader.until_type("middle_core.node_started")
            assert server.process is not None
            server.process.send_signal(number)
            await reader.rest()
        assert await gone(server.process, 10) == 0
    async with serve(tmp_path, agents=AGENT) as server:
        assert (await server.get("/threads/t1")).json()["activeRun"] is not None


async def test_a_second_process_on_the_same_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    async with serve(tmp_path, agents=AGENT) as server:
        with pytest.raises(AssertionError, match=r"a file of its own"):
            async with serve(tmp_path, agents=AGENT):
                raise RuntimeError("two writers on one file")
        assert (await server.ask("count 2")).text == whole(2)
