"""The thread list and a thread's status, which the side bar and a second tab use."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import aiosqlite

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import run_input, stack


async def test_the_list_is_newest_first_in_pages_and_shows_what_runs(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[[f"answer {number}", finish()] for number in range(5)] + [["slow", gate, finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        for number in range(5):
            await server.ask(f"question   number\n{number}", thread=f"t{number}")
        async with server.say("again", thread="t1") as reader:
            await reader.until_text("slow")
            first = (await server.get("/threads?limit=2")).json()
            second = (await server.get(f"/threads?limit=2&cursor={first['next']}")).json()
            third = (await server.get(f"/threads?limit=2&cursor={second['next']}")).json()
            rows = first["threads"] + second["threads"] + third["threads"]
            assert third["next"] is None
            assert [row["threadId"] for row in rows] == ["t1", "t4", "t3", "t2", "t0"]
            assert [row["running"] for row in rows] == [True, False, False, False, False]
            assert rows[0]["title"] == "question number 1", "the title stays the first question's"
            gate.set()
            await reader.rest()


async def test_the_etag_changes_when_something_happens_and_only_then(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["slow", gate, finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        async with server.say("hi", run="mine") as reader:
            await reader.until_text("slow")
            busy = await server.get("/threads/t1")
            assert busy.json()["activeRun"]["clientRunId"] == "mine"
            same = await server.get("/threads/t1", headers={"if-none-match": busy.headers["etag"]})
            assert (same.status_code, same.content) == (304, b"")
            gate.set()
            await reader.rest()
        idle = await server.get("/threads/t1", headers={"if-none-match": busy.headers["etag"]})
        assert idle.status_code == 200
        assert idle.json()["activeRun"] is None
        assert idle.json()["lastRun"]["status"] == "finished"


async def test_deleting_a_thread_deletes_everything_and_stops_what_runs(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["a secret plan", asyncio.Event()], ["fresh", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        async with server.say("hi") as reader:
            await reader.until_text("a secret plan")
            gone = await server.http.delete(server.url + "/threads/t1", headers=server.headers())
            assert gone.status_code == 204
            assert model.ended == ["cancelled"]
            assert (await server.get("/threads/t1")).status_code == 404
            assert (await server.get(f"/copilotkit/runs/{reader.run_id}/events")).status_code == 404
        assert await server.history() == []
        assert (await server.ask("hello")).text == "fresh"
    assert [message.content for message in model.seen[1]] == ["hello"]


async def test_info_names_agents_and_model(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[])
    async with stack(tmp_path, agents={"one": lambda: chat(model), "two": lambda: chat(model)}) as server:
        info = (await server.get("/copilotkit/info")).json()
    assert [(agent["name"], agent["default"]) for agent in info["agents"]] == [("one", True), ("two", False)]
    assert info["model"] == "offline"


async def test_health_needs_no_token_and_tells_nothing(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[]))}) as server:
        assert (await server.http.get(server.url + "/healthz")).json() == {"status": "ok"}
        assert (await server.http.get(server.url + "/readyz")).json() == {"status": "ready"}
        server.parts.supervisor.begin_drain()
        draining = await server.http.get(server.url + "/readyz")
        assert (draining.status_code, draining.json()) == (503, {"status": "draining"})
        refused = await server.post(
            "/copilotkit", {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}}
        )
        assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "draining", "5")


async def test_an_agent_keeps_its_threads(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["one", finish()]])
    async with stack(tmp_path, agents={"one": lambda: chat(model), "two": lambda: chat(model)}) as server:
        await server.ask("hi", agent="one")
        body = {"threadId": "t1", "runId": "r9", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}}
        refused = await server.post("/copilotkit/two", body)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
        assert "one" in refused.json()["detail"]


async def test_a_number_that_no_browser_could_hold_does_not_lose_the_run(tmp_path: Path) -> None:
    part = {"type": "text", "text": "hi", "metadata": {"x": 2**80}}
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[["hello", finish()]]))}) as server:
        message = {"id": "m1", "role": "user", "content": [part]}
        async with server.stream("POST", "/copilotkit", body=run_input(message)) as reader:
            await reader.rest()
        assert (reader.text, reader.types[-1]) == ("hello", "RUN_FINISHED")


async def test_a_title_has_no_control_characters(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[["hello", finish()]]))}) as server:
        await server.ask("\0one\x1b[31m \u202etwo\x85three")
        assert (await server.get("/threads/t1")).json()["title"] == "one [31m two three"


async def test_a_clock_that_was_set_back_hides_no_active_run(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["one", finish()], ["two", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        await server.ask("first")
        with closing(sqlite3.connect(tmp_path / "middle-core.db")) as db, db:
            db.execute("UPDATE runs SET started_at = started_at + 3600000")
        async with server.say("second") as reader:
            await reader.until_text("two")
            status = (await server.get("/threads/t1")).json()
            assert (status["running"], status["activeRun"]["runId"]) == (True, reader.run_id)
            assert (await server.http.delete(server.url + "/threads/t1", headers=server.headers())).status_code == 204


async def test_a_long_talk_grows_the_database_by_what_is_said(tmp_path: Path) -> None:
    """s2b-dev/smart-second-brain#482: each checkpoint holds the whole thread, so keeping all checkpoints grows with the square."""
    model = ScriptedModel(turns=[["an answer", finish()] for _ in range(30)])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:

        async def kept() -> int:
            async with aiosqlite.connect(tmp_path / "middle-core.db") as db:
                [[checkpoints]] = await db.execute_fetchall("SELECT COUNT(*) FROM checkpoints")
                [[orphans]] = await db.execute_fetchall(
                    "SELECT COUNT(*) FROM writes WHERE NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.checkpoint_id = writes.checkpoint_id)"
                )
            assert orphans == 0
            return int(checkpoints)

        await server.ask("question")
        first = await kept()
        for _ in range(29):
            await server.ask("question")
        assert await kept() == first == 1
        assert len(await server.history()) == 60


async def test_a_thread_on_which_nothing_runs_tells_its_graph(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["answer", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        said = await server.ask("question")
        of_the_run = next(event["value"] for event in said.events if event.get("name") == "middle_core.topology")
        assert [node["id"] for node in of_the_run["nodes"]] == ["__start__", "model", "__end__"]
        for thread in ("t1", "new"):
            async with server.connect(thread=thread) as reader:
                await reader.rest()
            assert [event["value"] for event in reader.events if event.get("name") == "middle_core.topology"] == [of_the_run]
