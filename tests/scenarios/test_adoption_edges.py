"""What a run that another process goes on with must not do: pass a pause that nobody answered, mix up calls, or hold a stopped thread."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langgraph.types import interrupt

from middle_core.runs.intake.request import start_request
from middle_core.runs.intake.stored_input import encode_input
from tests.fakes.agui_verify import verify_streams
from tests.fakes.graphs import ask, chat, one_node, tools_chat
from tests.fakes.models import ScriptedModel, args, call, finish
from tests.fakes.stack import Reader, run_input, stack, user
from tests.scenarios.test_static_pauses import planned, run


@tool
def look(q: str) -> str:
    """Look."""
    return f"found {q}"


async def half_an_answer(data: Path) -> Reader:
    """A server that ends in mid-answer."""
    model = ScriptedModel(turns=[["Hal", asyncio.Event()]])
    async with stack(data, agents={"default": lambda: chat(model)}) as server, server.say("hi") as reader:
        found: Reader = await reader.until_text("Hal")
    return found


def cut_before_its_end(data: Path, body: dict[str, Any]) -> None:
    """What the database holds if the process dies after the last checkpoint of the newest run, and before the run's end is written."""
    asked = encode_input(start_request(RunAgentInput.model_validate(body), "d"), writable=())
    with closing(sqlite3.connect(next(data.rglob("*.db")))) as db, db:
        [(run_id, last)] = db.execute("SELECT run_id, last_seq FROM runs ORDER BY number DESC LIMIT 1").fetchall()
        db.execute("DELETE FROM run_events WHERE run_id = ? AND type IN ('RUN_FINISHED', 'RUN_ERROR')", (run_id,))
        db.execute("DELETE FROM interrupts WHERE run_id = ?", (run_id,))
        changes = "status = 'running', finished_at = NULL, last_seq = ?, input = ?"
        db.execute(f"UPDATE runs SET {changes} WHERE run_id = ?", (last - 1, asked, run_id))


@pytest.mark.parametrize("options", [{"interrupt_before": ["danger"]}, {"interrupt_after": ["plan"]}])
async def test_a_pause_that_nobody_has_seen_is_not_passed(options: Any, tmp_path: Path) -> None:
    body = run_input(user("do it"))
    async with stack(tmp_path, agents={"default": lambda: planned(**options)}) as server:
        await run(server, body)
    cut_before_its_end(tmp_path, body)
    async with stack(tmp_path, agents={"default": lambda: planned(**options)}) as server:
        async with server.connect() as page:
            await page.rest()
        assert "Done." not in page.text, "nobody said that it may go on"
        [question] = page.events[-1]["outcome"]["interrupts"]
        answer = run_input(resume=[{"interruptId": question["id"], "status": "resolved", "payload": True}])
        assert (await run(server, answer)).text == "Done."


async def test_a_call_that_is_made_again_under_its_id_gets_its_own_result(tmp_path: Path) -> None:
    never = asyncio.Event()
    half = ScriptedModel(turns=[[call("look", call_id="call_0"), args('{"q": "x'), never]])
    whole = ScriptedModel(turns=[[call("look", call_id="call_0"), args('{"q": "xy"}'), finish("tool_calls")], ["It is so.", finish()]])
    async with stack(tmp_path, agents={"default": lambda: tools_chat(half, [look])}) as server:
        async with server.say("look") as reader:
            await reader.until_type("TOOL_CALL_ARGS")
        run_id = reader.run_id
    async with stack(tmp_path, agents={"default": lambda: tools_chat(whole, [look])}) as server:
        async with server.follow(run_id) as rest:
            await rest.rest()
        history = await server.history()
    [verdict] = await verify_streams([bytes(rest.raw)])
    assert verdict.ok, verdict
    calls = {c["id"] for m in verdict.messages for c in m.get("toolCalls") or ()}
    results = {m["toolCallId"] for m in verdict.messages if m["role"] == "tool"}
    assert calls == results == {c["id"] for m in history for c in m.get("toolCalls") or ()}


async def test_a_message_that_is_said_again_under_its_id_is_the_threads(tmp_path: Path) -> None:
    never = asyncio.Event()
    half = ScriptedModel(turns=[[AIMessageChunk(content="Hal", id="m1"), never]])
    whole = ScriptedModel(turns=[[AIMessageChunk(content="Half ", id="m1"), AIMessageChunk(content="and whole.", id="m1"), finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(half)}) as server:
        async with server.say("hi") as reader:
            await reader.until_text("Hal")
        run_id = reader.run_id
    async with stack(tmp_path, agents={"default": lambda: chat(whole)}) as server:
        async with server.follow(run_id) as rest:
            await rest.rest()
        history = await server.history()
    [verdict] = await verify_streams([bytes(rest.raw)])
    assert verdict.ok, verdict
    assert [(m["id"], m["content"]) for m in verdict.messages] == [(m["id"], m["content"]) for m in history]


async def test_a_stop_is_all_that_a_stopped_orphan_needs(tmp_path: Path) -> None:
    reader = await half_an_answer(tmp_path)
    again = ScriptedModel(turns=[["Yes.", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(again)}) as server:
        assert await server.stop()
        async with server.follow(reader.run_id) as rest:
            await rest.rest()
        assert rest.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]
        history = await server.history()
        assert [m["content"] for m in history] == ["hi", "Hal"]
        async with server.follow(reader.run_id) as replay:
            await replay.rest()
        [verdict] = await verify_streams([bytes(replay.raw)])
        assert verdict.ok, verdict
        assert (await server.ask("and?")).text == "Yes."


async def test_deleting_an_orphaned_thread_works(tmp_path: Path) -> None:
    await half_an_answer(tmp_path)
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[["Yes.", finish()]]))}) as server:
        response = await server.http.delete(server.url + "/threads/t1", headers=server.headers())
        assert response.status_code in {200, 204}, response.text


async def test_two_tabs_that_come_back_at_once_see_the_same(tmp_path: Path) -> None:
    reader = await half_an_answer(tmp_path)
    whole = ScriptedModel(turns=[["Half and whole.", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(whole)}) as server:

        async def tab() -> Any:
            async with server.follow(reader.run_id) as rest:
                return await rest.rest()

        async with asyncio.TaskGroup() as group:
            tabs = [group.create_task(tab()) for _ in range(8)]
        assert len({bytes(t.result().raw.replace(b": middle-core", b"")) for t in tabs}) == 1
        assert len(whole.seen) == 1


async def test_an_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    """LangGraph does not store an answer that is given by id; the node was cut off behind its question."""
    never, entered, answers = asyncio.Event(), asyncio.Event(), []

    def asks(*, blocks: bool) -> Any:
        async def node(state: Any) -> Any:
            answer = interrupt({"message": "Which?"})
            entered.set()
            if blocks:
                await never.wait()
            answers.append(answer)
            return {"messages": [AIMessage(f"You said {answer}.")]}

        return one_node(node)

    async with stack(tmp_path, agents={"default": lambda: asks(blocks=True)}) as server:
        paused = await server.ask("hi")
        [question] = paused.events[-1]["outcome"]["interrupts"]
        body = run_input(resume=[{"interruptId": question["id"], "status": "resolved", "payload": "this"}])
        async with server.stream("POST", "/copilotkit", body=body) as reader:
            await reader.until_type("middle_core.node_started")
            await asyncio.wait_for(entered.wait(), 10)
    async with stack(tmp_path, agents={"default": lambda: asks(blocks=False)}) as server:
        async with server.follow(reader.run_id) as rest:
            await rest.rest()
        assert rest.text == "You said this."
        assert rest.events[-1]["type"] == "RUN_FINISHED"
        assert "outcome" not in rest.events[-1]
        assert answers == ["this"]
    [verdict] = await verify_streams([bytes(rest.raw)])
    assert verdict.ok, verdict


async def test_an_answer_whose_graph_was_settled_starts_nothing_anew(tmp_path: Path) -> None:
    """The process died after it had settled the thread of a run that failed, and before it could write that end."""
    answers: list[Any] = []
    body: dict[str, Any] = {}
    async with stack(tmp_path, agents={"default": lambda: ask({"message": "Which?"}, answers=answers)}) as server:
        [question] = (await server.ask("hi")).events[-1]["outcome"]["interrupts"]
        body = run_input(resume=[{"interruptId": question["id"], "status": "resolved", "payload": "this"}])
        await run(server, body)
    cut_before_its_end(tmp_path, body)
    with closing(sqlite3.connect(next(tmp_path.rglob("*.db")))) as db, db:
        db.execute("UPDATE checkpoints SET metadata = CAST(json_remove(CAST(metadata AS TEXT), '$.middle_core_run') AS BLOB)")
    async with stack(tmp_path, agents={"default": lambda: ask({"message": "Which?"}, answers=answers)}) as server:
        async with server.connect() as page:
            await page.rest()
        assert "outcome" not in page.events[-1], "it is not asked again"
        assert page.events[-1]["type"] == "RUN_FINISHED"
    assert answers == ["this"]


async def test_what_the_page_offers_is_offered_again(tmp_path: Path) -> None:
    never = asyncio.Event()
    tools = [{"name": "paint", "description": "Paint.", "parameters": {"type": "object", "properties": {}}}]
    seen: list[Any] = []

    def node(*, blocks: bool) -> Any:
        async def speaks(state: Any) -> Any:
            seen.append((state["copilotkit"]["actions"], state["copilotkit"]["context"]))
            if blocks:
                await never.wait()
            return {"messages": [AIMessage("Yes.")]}

        return one_node(speaks)

    more: dict[str, Any] = {"tools": tools, "context": [{"description": "page", "value": "home"}]}
    async with stack(tmp_path, agents={"default": lambda: node(blocks=True)}) as server, server.say("hi", **more) as reader:
        await reader.until_type("middle_core.node_started")
    async with stack(tmp_path, agents={"default": lambda: node(blocks=False)}) as server, server.follow(reader.run_id) as rest:
        await rest.rest()
    assert rest.text == "Yes."
    assert seen[0] == seen[1]
    assert seen[1][0][0]["name"] == "paint"


async def test_a_server_that_was_away_for_long_gives_its_people_time_to_come_back(tmp_path: Path) -> None:
    reader = await half_an_answer(tmp_path)
    with closing(sqlite3.connect(next(tmp_path.rglob("*.db")))) as db, db:
        db.execute("UPDATE runs SET lease_until = lease_until - 3600000")
    whole = ScriptedModel(turns=[["Half and whole.", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(whole)}) as server:
        await server.parts.supervisor._beat()
        async with server.follow(reader.run_id) as rest:
            await rest.rest()
        assert rest.text.endswith("Half and whole.")
