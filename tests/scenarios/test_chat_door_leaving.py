"""A turn of /chat ends with its client, down to the model's socket. Turns of other endpoints do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from middle_core.auth.verify import secret_verifier
from middle_core.demo import backend_core
from tests.fakes.cerebras_server import CerebrasServer, Reply
from tests.fakes.graphs import chat
from tests.fakes.http_server import serving
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.ports import free_port
from tests.fakes.process import gone, serve
from tests.fakes.stack import Stack, run_input, stack, user
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET
from tests.fakes.until import until
from tests.scenarios.chat_door import ACCEPT, Chat, response, sequence, text
from tests.scenarios.slow_agent import whole

FOREVER = Reply(["word "] * 100_000, rate=200)


@dataclass
class Site:
    """A server whose model is behind a real socket."""

    server: Stack
    model: CerebrasServer

    async def hang_up_at(self, how: str, **more: Any) -> float:
        """Ask, wait until the model speaks, and go away: `time.monotonic()` just before that."""
        body = {"message": "hi", "thread_id": "t1", **more}
        if how == "stream":
            async with Chat(self.server).stream("hi", **more) as reader:
                await reader.until_type("node_started")
                await self.speaking()
                return time.monotonic()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self.server.post("/chat", body))
            await self.speaking()
            left = time.monotonic()
            asking.cancel()
        return left

    async def speaking(self) -> None:
        await until(lambda: bool(self.model.requests))
        await self.model.requests[-1].sending.wait()


@asynccontextmanager
async def site(tmp_path: Path, **changes: Any) -> AsyncIterator[Site]:
    async with CerebrasServer(default=lambda _: FOREVER) as model:
        settings = {"model": "cerebras:x", "cerebras_api_key": "k", "cerebras_base_url": model.url, **changes}
        backend = backend_core.create_app(database=tmp_path / "b.db", verify=secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE))
        async with serving(backend) as backend_url, stack(tmp_path, backend_url=backend_url, **settings) as server:
            yield Site(server, model)


@pytest.mark.parametrize("how", ["stream", "json"])
async def test_without_a_grace_the_models_socket_is_closed_at_once(tmp_path: Path, how: str) -> None:
    async with site(tmp_path, disconnect_grace_s=0) as here:
        await here.hang_up_at(how)
        await until(lambda: here.model.requests[0].closed_early, 4)  # less than the usual grace
        await until(lambda: here.server.parts.supervisor.live == 0)
        status = (await here.server.get("/threads/t1")).json()["lastRun"]
        assert status["status"] == "cancelled"
        async with Chat(here.server).attach(status["runId"]) as reader:
            await reader.rest()
        assert (sequence(reader)[-1], response(reader)["reason"]) == ("turn_completed cancelled", "the client went away")
        assert "word" in text(response(reader)), "what was said is kept"


@pytest.mark.parametrize("how", ["stream", "json"])
async def test_with_a_grace_it_is_closed_after_it_and_not_before(tmp_path: Path, how: str) -> None:
    async with site(tmp_path, disconnect_grace_s=0.4) as here:
        left = await here.hang_up_at(how)
        request = here.model.requests[0]
        await until(lambda: request.closed_early)
        assert request.closed_at is not None
        assert request.closed_at - left >= 0.4


@pytest.mark.parametrize("door", ["chat", "copilotkit"])
async def test_attaching_within_the_grace_keeps_the_turn(tmp_path: Path, door: str) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=60) as server:
        async with Chat(server).stream("hi", query="?tokens=1") as reader:
            await reader.until_type("token")
        again = Chat(server).attach(reader.run_id, reader.last_id) if door == "chat" else server.follow(reader.run_id)
        async with again as second:
            await until(lambda: followers(server) == [1])
            assert leaving(server) == [], "the grace is off"
            gate.set()
            await second.rest()
        assert model.ended == ["end"]
        async with Chat(server).attach(reader.run_id) as replay:
            await replay.rest()
        assert text(response(replay)) == "ab"


@pytest.mark.parametrize("how", ["stream", "json"])
async def test_a_turn_may_be_told_to_go_on(tmp_path: Path, how: str) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server:
        more: dict[str, Any] = {"on_disconnect": "continue", "run_id": "mine"}
        if how == "stream":
            async with Chat(server).stream("hi", **more) as reader:
                await reader.until_type("node_started")
        else:
            await hang_up(server, {"message": "hi", "thread_id": "t1", **more}, model)
        await nobody_is_left(server)
        assert model.ended == []
        gate.set()
        assert text(await Chat(server).ask("hi", **more)) == "ab", "sent again it waits for the same turn"
        assert len(model.seen) == 1


async def test_a_json_caller_who_comes_back_within_the_grace_gets_the_answer(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=60) as server:
        body = {"message": "hi", "thread_id": "t1", "run_id": "mine"}
        await hang_up(server, body, model)
        await until(lambda: len(leaving(server)) == 1)
        async with asyncio.TaskGroup() as group:
            again = group.create_task(server.post("/chat", body))
            await until(lambda: followers(server) == [1])
            assert leaving(server) == [], "the grace is off"
            gate.set()
        assert text(again.result().json()) == "ab"
        assert model.ended == ["end"]


async def test_one_of_two_who_follow_may_leave(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server:
        async with Chat(server).stream("hi", query="?tokens=1") as first:
            await first.until_type("token")
            async with Chat(server).attach(first.run_id) as second:
                await second.until_type("node_started")
                await until(lambda: followers(server) == [2])
                await first.response.aclose()
                await until(lambda: followers(server) == [1])
                assert leaving(server) == []
                gate.set()
                await second.rest()
        assert text(response(second)) == "ab"


async def test_a_client_that_left_before_it_read_anything_ends_its_turn(tmp_path: Path) -> None:
    """The stream never began, so nobody ever followed the run."""
    model = ScriptedModel(turns=[["a", asyncio.Event()]] * 20)
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server:
        for number in range(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
            body = b'{"message": "hi", "thread_id": "t%d"}' % number
            head = f"POST /chat HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in server.headers(None, **ACCEPT).items())
            writer.write(head.encode() + b"\r\n" + body)
            await writer.drain()
            writer.transport.abort()
            del reader
        await until(lambda: server.parts.supervisor.live == 0 and model.ended == ["cancelled"] * len(model.seen), 5)


async def test_a_page_of_copilotkit_may_leave_as_ever(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server:
        async with server.stream("POST", "/copilotkit", body=run_input(user("hi"))) as reader:
            await reader.until_text("a")
            async with Chat(server).attach(reader.run_id) as seen:
                await seen.until_type("node_started")
        await nobody_is_left(server)
        gate.set()
        await until(lambda: model.ended == ["end"])


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_a_server_that_is_told_to_stop_lets_go_of_everybody_at_once(tmp_path: Path) -> None:
    """A client that waits for JSON is told to come again, and finds the same turn in the next process."""
    port, agents = free_port(), "slow=tests.scenarios.slow_agent:build"
    body = {"message": "count 250", "thread_id": "t1", "run_id": "mine"}
    async with serve(tmp_path, port=port, agents=agents, env={"MIDDLE_CORE_DRAIN_S": "2"}) as server, asyncio.TaskGroup() as group:
        asking = group.create_task(server.post("/chat", body))
        async with Chat(server, thread="t2").stream("count 250") as reader:
            await reader.until_type("node_started")
            while (await server.get("/threads/t1")).status_code != 200:
                pass
            assert server.process is not None
            server.process.terminate()
            await reader.rest()
            assert bytes(reader.raw).endswith(b": attach again: drain\n\n")
            answer = await asking
            assert (answer.status_code, answer.json()["code"]) == (503, "draining")
            assert server.process.returncode is None, "both were let go at once, before the end of the drain"
        await gone(server.process, 20)
    async with serve(tmp_path, port=port, agents=agents) as server:
        found = await server.post("/chat", body)
        assert (found.status_code, found.json()["status"], found.json()["error"]) == (200, "completed", None)
        assert text(found.json()) == whole(250), "nothing twice, and no half of it left over"
        async with Chat(server).attach(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        told = sequence(rest)
        assert told[-2:] == ["node_completed model ok", "turn_completed completed"]
        assert "node_completed model cancelled" in told, "the process before died in it"


async def hang_up(server: Stack, body: dict[str, Any], model: ScriptedModel) -> None:
    """Ask for JSON and go away once the model works."""
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(server.post("/chat", body))
        await until(lambda: len(model.seen) == 1)
        asking.cancel()


def followers(server: Stack) -> list[int]:
    """How many follow each live run."""
    return [server.parts.supervisor._followers[run_id] for run_id in server.parts.supervisor._handles]


def leaving(server: Stack) -> list[float]:
    """When each run that nobody follows any more will be stopped, on the loop's clock."""
    return [handle.deadline.when() for handle in server.parts.supervisor._handles.values() if handle.deadline is not None]


async def nobody_is_left(server: Stack) -> None:
    """Until the server has noticed that all are gone, and has had the time to stop their runs: it would do so by a write, and writes are
    done in the order in which they were asked for."""
    await until(lambda: not any(followers(server)))
    for _ in range(3):  # a timer, its task, its write
        await server.parts.supervisor._questions.expire()
