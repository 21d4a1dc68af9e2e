"""Two replicas on one Postgres: whichever of them gets a request, the answer is the same as if there were one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from middle_core.runs.supervisor import Handle
from middle_core.stores.postgres import hints
from tests.fakes.graphs import ask, chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.postgres import PostgresServer
from tests.fakes.process import serve
from tests.fakes.stack import Stack, run_input, stack, user
from tests.fakes.until import until, until_asked
from tests.scenarios.slow_agent import whole

SLOW = "default=tests.scenarios.slow_agent:build"


@dataclass
class Two:
    here: Stack
    there: Stack


@asynccontextmanager
async def two(postgres: PostgresServer, folder: Path, model: ScriptedModel, **changes: Any) -> AsyncIterator[Two]:
    """Two replicas with one model between them."""
    settings: dict[str, Any] = {"database_url": postgres.of(folder), "agents": {"default": lambda: chat(model)}, **changes}
    async with stack(folder / "1", **settings) as here, stack(folder / "2", **settings) as there:
        yield Two(here, there)


async def test_a_follower_at_another_replica_reads_the_same_stream(postgres: PostgresServer, tmp_path: Path) -> None:
    gates = [asyncio.Event() for _ in range(30)]
    script = [item for number, gate in enumerate(gates) for item in (gate, f"{number} ")]
    async with two(postgres, tmp_path, ScriptedModel(turns=[[*script, finish()]])) as at, at.here.say("go") as first:
        await first.until_type("RUN_STARTED")
        async with at.there.follow(first.run_id) as second, at.there.connect() as opened, asyncio.TaskGroup() as group:
            rest = [group.create_task(reader.rest()) for reader in (first, second, opened)]
            for gate in gates:
                gate.set()
                await asyncio.sleep(0)
            await asyncio.wait(rest)
    assert second.frames == first.frames
    assert first.text == opened.text == "".join(f"{number} " for number in range(30))


async def test_cuts_at_random_places_with_either_replica_next_lose_and_double_nothing(postgres: PostgresServer, tmp_path: Path) -> None:
    """As behind a load balancer without sticky sessions, in the middle of the run."""
    words = [f"{number} " for number in range(80)]
    gates = [asyncio.Event() for _ in words]
    script = [item for pair in zip(gates, words, strict=True) for item in pair]
    async with two(postgres, tmp_path, ScriptedModel(turns=[[*script, finish()]])) as at, at.here.say("go") as starter:
        await starter.until_type("RUN_STARTED")
        attaches = 0

        async def watcher(seed: int) -> list[bytes]:
            nonlocal attaches
            dice, cursor = random.Random(seed), None
            got: list[bytes] = []
            while True:
                attaches += 1
                async with dice.choice([at.here, at.there]).follow(starter.run_id, cursor) as reader:
                    for _ in range(dice.randint(1, 6)):
                        frame = await reader.next()
                        if frame is None:
                            return got
                        got.append(frame.data)
                        cursor = frame.id

        async with asyncio.TaskGroup() as group:
            watchers = [group.create_task(watcher(seed)) for seed in range(10)]
            for gate in gates:
                gate.set()
                await asyncio.sleep(0)
            await starter.rest()
    expected = [frame.data for frame in starter.frames]
    assert starter.text == "".join(words)
    assert attaches > 20
    for each in watchers:
        assert each.result() == expected


@pytest.mark.parametrize("hints_arrive", [True, False])
async def test_any_replica_may_stop(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, hints_arrive: bool
) -> None:
    """With hints it waits for no beat; with every hint lost the next beat does it."""
    if not hints_arrive:
        monkeypatch.setattr(hints.Hints, "_heard", lambda _hints, _payload: None)
    model = ScriptedModel(turns=[["partial", asyncio.Event()], ["next", finish()]])
    beats = {"beat_s": 600, "lease_s": 1800} if hints_arrive else {"beat_s": 0.3, "lease_s": 10}
    async with two(postgres, tmp_path, model, **beats) as at, at.here.say("hi") as reader:
        await reader.until_text("partial")
        assert await at.there.stop()
        await until(lambda: model.ended == ["cancelled"])
        await reader.rest()
        assert reader.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]
        assert (await at.there.ask("and now?")).text == "next"
        assert [message["content"] for message in await at.here.history()] == ["hi", "partial", "and now?", "next"]


async def test_any_replica_may_list_and_delete(postgres: PostgresServer, tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["partial", asyncio.Event()]])
    async with two(postgres, tmp_path, model, beat_s=600, lease_s=1800) as at, at.here.say("hi") as reader:
        await reader.until_text("partial")
        listed = (await at.there.get("/threads")).json()["threads"]
        assert [(one["threadId"], one["running"]) for one in listed] == [("t1", True)]
        deleted = await at.there.http.delete(f"{at.there.url}/threads/t1", headers=at.there.headers())
        assert deleted.status_code == 204
        await reader.rest()
        assert model.ended == ["cancelled"]
        assert (await at.here.get("/threads")).json()["threads"] == []


async def test_a_busy_thread_is_busy_everywhere_and_may_be_interrupted_from_anywhere(postgres: PostgresServer, tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["slow", asyncio.Event()], ["fast", finish()]])
    async with two(postgres, tmp_path, model, beat_s=600, lease_s=1800) as at, at.here.say("first") as first:
        await first.until_text("slow")
        refused = await at.there.post("/copilotkit", run_input(user("second")))
        assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
        second = await at.there.ask("second", forwardedProps={"middleCore": {"multitask_strategy": "interrupt"}})
        assert second.text == "fast"
        await first.rest()
        assert first.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]


async def test_a_client_that_went_to_another_replica_keeps_its_run_alive(postgres: PostgresServer, tmp_path: Path) -> None:
    """A turn that ends with its client: the client's stream breaks, and the load balancer sends it elsewhere."""
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["partial ", gate, "rest", finish()]])
    props = {"middleCore": {"on_disconnect": "cancel"}}
    async with two(postgres, tmp_path, model, disconnect_grace_s=0.5, beat_s=0.5, lease_s=2) as at:
        async with at.here.say("hi", forwardedProps=props) as reader:
            await reader.until_text("partial")
        async with at.there.follow(reader.run_id, reader.last_id) as again:
            supervisor = at.here.parts.supervisor
            [handle] = supervisor._handles.values()
            # The grace ends three times, and each time the owner finds that it is followed elsewhere.
            for _ in range(3):
                await rearmed(handle)
            assert model.ended == []
            gate.set()
            await again.rest()
        assert again.text == "rest"
        assert again.types[-1] == "RUN_FINISHED"


async def rearmed(handle: Handle) -> None:
    """Until the run has been given another grace."""
    armed = handle.deadline
    await until(lambda: handle.deadline is not armed)


async def test_when_the_last_client_leaves_the_other_replica_the_run_ends(postgres: PostgresServer, tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["partial", asyncio.Event()]])
    props = {"middleCore": {"on_disconnect": "cancel"}}
    async with two(postgres, tmp_path, model, disconnect_grace_s=0.5, beat_s=600, lease_s=1800) as at:
        async with at.here.say("hi", forwardedProps=props) as reader:
            await reader.until_text("partial")
            async with at.there.follow(reader.run_id) as again:
                await again.until_text("partial")
                async with await psycopg.AsyncConnection.connect(postgres.of(tmp_path), autocommit=True) as db:
                    assert await (await db.execute("SELECT count(*) FROM followers")).fetchall() == [(1,)]
        await until(lambda: model.ended == ["cancelled"])


async def test_a_question_that_one_replica_asked_is_answered_at_both_at_once(postgres: PostgresServer, tmp_path: Path) -> None:
    """Ten times over, the same answer to both: one run each, and each question was answered once."""
    answers: list[Any] = []
    settings: dict[str, Any] = {"database_url": postgres.of(tmp_path), "agents": {"default": lambda: ask("Which?", answers=answers)}}
    async with stack(tmp_path / "1", **settings) as here, stack(tmp_path / "2", **settings) as there:
        for number in range(10):
            thread = f"t{number}"
            asked = await here.ask("go", thread=thread)
            [question] = asked.events[-1]["outcome"]["interrupts"]
            resume = [{"interruptId": question["id"], "status": "resolved", "payload": number}]
            bodies = [run_input(thread=thread, resume=resume) for _ in range(2)]
            async with (
                here.stream("POST", "/copilotkit", body=bodies[0]) as one,
                there.stream("POST", "/copilotkit", body=bodies[1]) as two,
            ):
                await asyncio.gather(one.rest(), two.rest())
            assert {one.types[-1], two.types[-1]} == {"RUN_FINISHED"}
    assert sorted(answers) == list(range(10))


@pytest.mark.slow
async def test_a_server_that_starts_leaves_the_runs_of_the_others_alone(postgres: PostgresServer, tmp_path: Path) -> None:
    """Real processes: the second one starts, stops and is killed while the first one answers."""
    env = {"MIDDLE_CORE_DATABASE_URL": postgres.of(tmp_path)}
    async with serve(tmp_path / "1", agents=SLOW, env=env) as first, first.say("count 300") as reader:
        await reader.until_text("w3 ")
        async with serve(tmp_path / "2", agents=SLOW, env=env) as second:
            async with second.follow(reader.run_id, reader.last_id) as elsewhere:
                await elsewhere.until(lambda one: len(one.frames) > 20)
            await second.kill()
        await reader.rest()
    assert reader.text == whole(300)
    assert reader.types[-1] == "RUN_FINISHED"


async def test_readiness_says_when_the_database_is_away(postgres: PostgresServer, tmp_path: Path) -> None:
    async with two(postgres, tmp_path, ScriptedModel(turns=[])) as at:
        assert (await at.here.get("/readyz")).status_code == 200
        with postgres.away():
            response = await at.here.get("/readyz")
            assert (response.status_code, response.json()) == (503, {"status": "no database"})
            assert (await at.here.get("/healthz")).status_code == 200

        async def ready() -> bool:
            return (await at.here.get("/readyz")).status_code == 200

        await until_asked(ready, 30)


async def test_a_run_outlives_a_restart_of_the_database(postgres: PostgresServer, tmp_path: Path) -> None:
    """Its watchers here and elsewhere read on, its text and its history are whole, and the thread takes another message."""
    gate, tail = asyncio.Event(), [f"{number} " for number in range(30)]
    model = ScriptedModel(turns=[["before ", gate, *tail, finish()], ["next", finish()]])
    async with two(postgres, tmp_path, model) as at, at.here.say("go") as here:
        await here.until_text("before")
        async with at.there.follow(here.run_id) as there:
            await there.until_text("before")
            with postgres.away():
                gate.set()
                await until(lambda: model.ended == ["end"])
            await asyncio.gather(here.rest(), there.rest())
        assert here.text == "before " + "".join(tail)
        assert there.frames == here.frames
        assert here.types[-1] == "RUN_FINISHED"
        assert [message["content"] for message in await at.there.history()] == ["go", here.text]
        assert (await at.there.ask("and?")).text == "next"
