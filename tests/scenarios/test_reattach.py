"""A client that attaches again at any place gets exactly the rest of the log."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from ag_ui.core import RunAgentInput

from middle_core.auth.verify import secret_verifier
from middle_core.runs.intake.request import start_request
from tests.fakes.agui_verify import verify_streams
from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import Reader, Stack, run_input, stack, user
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET
from tests.fakes.until import until

pytestmark = pytest.mark.both_stores

TEXT = "Grüße 你好 🌍 \u2028\u0085 é\tend"


async def test_a_hundred_random_cuts_lose_and_double_nothing(tmp_path: Path) -> None:
    rng = random.Random(20)
    words = [f"{index} {TEXT} " for index in range(60)]
    gates = [asyncio.Event() for _ in words]
    script = [item for pair in zip(gates, words, strict=True) for item in pair]
    model = ScriptedModel(turns=[[*script, finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        async with server.say("go") as starter:
            await starter.until_type("RUN_STARTED")
            run_id = starter.run_id

            async def watcher(seed: int) -> list[bytes]:
                """Cuts its connection again and again, and goes on with the last id that it saw."""
                dice = random.Random(seed)
                cursor: str | None = None
                got: list[bytes] = []
                while True:
                    async with server.follow(run_id, cursor) as reader:
                        for _ in range(dice.randint(1, 12)):
                            frame = await reader.next()
                            if frame is None:
                                return got
                            assert frame.id is not None
                            got.append(frame.data)
                            cursor = frame.id

            async with asyncio.TaskGroup() as group:
                watchers = [group.create_task(watcher(rng.randrange(1 << 30))) for _ in range(12)]
                for gate in gates:
                    gate.set()
                    await asyncio.sleep(0)
                await starter.rest()
        expected = [frame.data for frame in starter.frames]
        assert starter.text == "".join(words)
        for each in watchers:
            assert each.result() == expected


@pytest.mark.parametrize("cursor", [None, "", "-1", "0"])
async def test_these_cursors_mean_from_the_beginning(tmp_path: Path, cursor: str | None) -> None:
    async with answered(tmp_path) as (server, reader), server.follow(reader.run_id, cursor) as again:
        await again.rest()
    assert again.frames == reader.frames


async def test_a_bare_seq_is_a_cursor_and_the_end_is_the_end(tmp_path: Path) -> None:
    async with answered(tmp_path) as (server, reader):
        async with server.follow(reader.run_id, "3") as again:
            await again.rest()
        assert again.frames == reader.frames[3:]
        async with server.follow(reader.run_id, reader.last_id) as nothing:
            await nothing.rest()
        assert nothing.frames == []


@pytest.mark.parametrize("cursor", ["garbage", "1.5", "-2", "99999", "a:b", "00000000-0000-0000-0000-000000000000:1", "1:2:3", "9" * 40])
async def test_a_cursor_that_is_no_place_in_the_run_is_refused(tmp_path: Path, cursor: str) -> None:
    async with answered(tmp_path) as (server, reader):
        response = await server.get(f"/copilotkit/runs/{reader.run_id}/events", headers={"last-event-id": cursor})
        assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
        assert cursor not in response.text
        async with server.follow(reader.run_id) as again:
            await again.rest()
        assert again.frames == reader.frames


async def test_connect_shows_a_busy_thread_legally_and_without_doubles(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["before", finish()], ["half ", gate, "whole", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        await server.ask("first")
        async with server.say("second") as running:
            await running.until_text("half ")
            async with server.connect() as tab:
                await tab.until_text("half ")
                gate.set()
                await tab.rest()
            await running.rest()
        assert tab.types[0] == "RUN_STARTED"
        assert tab.types.count("RUN_STARTED") == 1
        assert tab.text == "half whole"
        snapshot = next(event["messages"] for event in tab.events if event["type"] == "MESSAGES_SNAPSHOT")
        assert [message["content"] for message in snapshot] == ["first", "before", "second"]
        assert tab.frames[-1].id == running.frames[-1].id
        history = await server.history()
    [live, late] = await verify_streams([bytes(running.raw), bytes(tab.raw)])
    assert live.ok, live
    assert late.ok, late
    assert [(m["id"], m["content"]) for m in late.messages] == [(m["id"], m["content"]) for m in history]
    assert [m["content"] for m in history] == ["first", "before", "second", "half whole"]


async def test_connect_from_the_first_instant_of_a_run_has_the_users_words(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[[asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("my words") as running:
        await running.next()
        async with server.connect() as tab:
            await tab.until_type("MESSAGES_SNAPSHOT")
        snapshot = next(event["messages"] for event in tab.events if event["type"] == "MESSAGES_SNAPSHOT")
        assert [message["content"] for message in snapshot] == ["my words"]
        await server.stop()
        await running.rest()


async def test_connect_on_an_idle_and_on_an_unknown_thread_closes_by_itself(tmp_path: Path) -> None:
    async with answered(tmp_path) as (server, _reader):
        async with server.connect() as idle:
            await idle.rest()
        async with server.connect(thread="nobody-was-here") as empty:
            await empty.rest()
    assert idle.types[0] == empty.types[0] == "RUN_STARTED"
    assert idle.types[-1] == empty.types[-1] == "RUN_FINISHED"
    assert [event["messages"] for event in empty.events if event["type"] == "MESSAGES_SNAPSHOT"] == [[]]
    for verdict in await verify_streams([bytes(idle.raw), bytes(empty.raw)]):
        assert verdict.ok, verdict


async def test_silence_is_filled_with_heartbeats_that_have_no_id(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, heartbeat_s=0.05) as server, server.say("hi") as reader:
        await reader.until_text("a")
        await reader.comments(4)
        gate.set()
        await reader.rest()
        async with server.follow(reader.run_id) as again:
            await again.rest()
    assert again.frames == reader.frames
    assert all(frame.id for frame in reader.frames)


async def test_a_stream_of_planned_age_says_so_and_goes_on_elsewhere(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, max_stream_s=0.2) as server:
        async with server.say("hi") as reader:
            await reader.rest()
        assert reader.events[-1]["name"] == "middle_core.reattach"
        assert reader.events[-1]["value"]["reason"] == "max_age"
        assert reader.frames[-1].id is None
        gate.set()
        async with server.follow(reader.run_id, reader.last_id) as rest:
            await rest.until_type("RUN_FINISHED")
    assert reader.text + rest.text == "ab"


async def test_a_client_that_goes_away_changes_nothing(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        async with server.say("hi") as reader:
            await reader.until_text("a")
        gate.set()
        await until(lambda: model.ended == ["end"])
        await until(lambda: server.parts.supervisor.live == 0)
        assert [m["content"] for m in await server.history()] == ["hi", "ab"]


async def test_a_run_bound_to_its_followers_ends_after_the_grace_unless_someone_attaches(tmp_path: Path) -> None:
    bound = {"middleCore": {"on_disconnect": "cancel"}}
    model = ScriptedModel(turns=[["a", asyncio.Event()], ["b", gate := asyncio.Event(), "c", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0.05) as server:
        async with server.say("hi", thread="left", forwardedProps=bound) as reader:
            await reader.until_text("a")
        await until(lambda: model.ended == ["cancelled"])
        async with server.say("hi", thread="kept", forwardedProps=bound) as first:
            await first.until_text("b")
            async with server.follow(first.run_id) as second:
                await second.until_text("b")
                await first.response.aclose()
                gate.set()
                await second.rest()
        assert second.text == "bc"


@asynccontextmanager
async def answered(data_dir: Path) -> AsyncIterator[tuple[Stack, Reader]]:
    """A server with one finished run, and the reader that saw it."""
    model = ScriptedModel(turns=[["one ", "two ", "three", finish()]])
    async with stack(data_dir, agents={"default": lambda: chat(model)}) as server:
        yield server, await server.ask("hi")


async def test_nothing_follows_the_end_of_a_run_in_a_drain(tmp_path: Path) -> None:
    """After the terminal event, a hint to attach again would be an error for the browser's client."""
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[["hello", finish()]]))}) as server:
        reader = await server.ask("hi")
        server.parts.supervisor.begin_drain()
        async with server.follow(reader.run_id) as late:
            await late.rest()
    assert late.types == reader.types
    assert late.types[-1] == "RUN_FINISHED"


@pytest.mark.slow
async def test_a_run_bound_to_followers_that_never_came_ends(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["hello", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0.01) as server:
        body = run_input(user("hi"), forwardedProps={"middleCore": {"on_disconnect": "cancel"}})
        asked = start_request(RunAgentInput.model_validate(body), "digest")
        await server.parts.service.start(await secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE)(server.token), "default", asked)
        await until(lambda: model.ended == ["cancelled"], 20)
