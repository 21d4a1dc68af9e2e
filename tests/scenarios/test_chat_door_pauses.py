"""A pause at /chat: asked here or at another endpoint, answered here or there, watched meanwhile, across a restart."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from middle_core.agents.knowledge_copilot.state import State
from middle_core.agents.registry import AgentSpec
from tests.fakes.graphs import ask
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.ports import free_port
from tests.fakes.process import serve
from tests.fakes.stack import run_input, stack
from tests.fakes.tokens import mint
from tests.fakes.until import until
from tests.scenarios.agents import tool_agent
from tests.scenarios.chat_door import Chat, approve, reject, response, sequence, text, value
from tests.scenarios.hitl import CHANNELS, Person, Plans, Shelf, cards, deleting

ADMIN = mint(roles=["admin"])


def deleting_agent(shelf: Shelf, *things: str, **options: Any) -> Any:
    return lambda: tool_agent(deleting(*things), [shelf.tool(**options)])


def asks_twice() -> Any:
    """Two questions, one after the other."""

    async def ask_one(_state: Any) -> Any:
        return {"messages": [AIMessage(f"first: {interrupt('first?')!r}")]}

    async def ask_two(_state: Any) -> Any:
        return {"messages": [AIMessage(f"second: {interrupt('second?')!r}")]}

    graph: Any = StateGraph(State)
    graph.add_node("one", ask_one)
    graph.add_node("two", ask_two)
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    return graph


# asked and answered ------------------------------------------------------------------------------------


async def test_the_exact_sequence_of_a_pause_and_of_its_answer(tmp_path: Path) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        person = Chat(server, token=ADMIN)
        asked = await person.turn("delete a")
        assert sequence(asked) == [
            "graph_topology",
            "node_started agent",
            "node_completed agent ok",
            "node_started tools",
            "node_completed tools interrupted",
            "paused",
            "turn_completed paused",
        ]
        ids = [frame.id for frame in asked.frames]
        assert ids[-2] is None
        assert ids[-1] is not None
        [card] = asked.events[-2]["interrupts"]
        assert response(asked)["interrupts"] == [card]
        assert (card["title"], card["tool"], card["danger"], card["arguments"]) == ("Delete Alpha?", "delete", True, {"thing_id": "a"})
        assert 890 < card["expires_in_s"] <= 900
        done = await person.resume(approve(card))
        assert sequence(done) == [
            "graph_topology",
            "node_started tools",
            "node_completed tools ok",
            "node_started agent",
            "node_completed agent ok",
            "turn_completed completed",
        ]
        assert isinstance(done.events[-1]["human_wait_ms"], int)
        assert "human_wait_ms" not in response(done)
    assert shelf.done == [("a", f"approval-{card['interrupt_id']}")]


async def test_every_decision_means_what_it_says(tmp_path: Path) -> None:
    shelf, plans = Shelf(), Plans()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        person = Chat(server, token=ADMIN)
        [card] = (await person.ask("delete a"))["interrupts"]
        answer = await person.answer({**reject(card), "comment": "not now"})
        assert (answer["status"], shelf.done) == ("completed", [])
        assert "not now" in answer["reply"]["parts"][0]["content"]
    proposing = ScriptedModel(turns=[[call("confirm_plan", {"steps": ["x"]}), finish("tool_calls")], ["ok", finish()]])
    async with stack(tmp_path / "2", agents={"default": lambda: tool_agent(proposing, [plans.tool()])}) as server:
        person = Chat(server)
        [card] = (await person.ask("plan"))["interrupts"]
        assert card["editable"] == ["steps"]
        await person.answer({"interrupt_id": card["interrupt_id"], "decision": "edit", "edits": {"steps": ["y", "z"]}})
        assert plans.followed == [["y", "z"]]


@pytest.mark.parametrize("given", [None, False, 0, "", [], {}, "yes", {"approved": True}])
async def test_a_graphs_own_question_gets_exactly_what_was_answered(tmp_path: Path, given: Any) -> None:
    told: list[Any] = []
    async with stack(tmp_path, agents={"default": lambda: ask({"message": "ok?", "choices": [1]}, answers=told)}) as server:
        person = Chat(server)
        [question] = (await person.ask("hi"))["interrupts"]
        assert (question["kind"], question["title"], question["value"]) == ("question", "ok?", {"message": "ok?", "choices": [1]})
        assert (await person.answer(value(question, given)))["status"] == "completed"
    assert told == [given]
    assert type(told[0]) is type(given)


async def test_an_answer_to_what_is_decided_is_a_refused_turn(tmp_path: Path) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        person = Chat(server, token=ADMIN)
        [card] = (await person.ask("delete a"))["interrupts"]
        await person.answer(reject(card))
        late = await person.resume(approve(card))
        assert sequence(late) == ["graph_topology", "turn_completed refused"]
        assert response(late)["reason"] == "This was cancelled. Nothing was done."
        assert "human_wait_ms" not in late.events[-1]
        assert shelf.done == []


async def test_an_answer_after_its_time_when_the_graph_has_gone_on_is_refused(tmp_path: Path) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}, approval_ttl_s=0.05, beat_s=0.02) as server:
        person = Chat(server, token=ADMIN)
        [card] = (await person.ask("delete a"))["interrupts"]
        await until(lambda: [status for status, _, _ in rows(tmp_path)] == ["expired"])
        assert (await person.ask("never mind"))["status"] == "completed"
        late = await person.answer(approve(card))
        assert (late["status"], late["reason"]) == ("refused", "The time for this is over. Nothing was done.")
    assert shelf.done == []


async def test_an_answer_after_its_time_is_refused_and_the_model_says_so(tmp_path: Path) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}, approval_ttl_s=0.05, beat_s=0.02) as server:
        person = Chat(server, token=ADMIN)
        [card] = (await person.ask("delete a"))["interrupts"]
        await until(lambda: [status for status, _, _ in rows(tmp_path)] == ["expired"])
        late = await person.resume(approve(card))
        assert sequence(late)[-2:] == ["node_completed agent ok", "turn_completed refused"]
        assert response(late)["reason"] == "The time for this is over. Nothing was done."
        assert text(response(late)) == "done"
        assert "human_wait_ms" not in late.events[-1]
    assert shelf.done == []


async def test_who_may_not_approve_is_told_and_nothing_happens(tmp_path: Path) -> None:
    shelf = Shelf()
    reader = mint(roles=["reader"])
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        asked = await Chat(server, token=ADMIN).ask("delete a")
        answer = await Chat(server, token=reader).answer(approve(asked["interrupts"][0]))
        assert (answer["status"], answer["reason"]) == ("refused", "permission denied: admin role required")
        told = answer["reply"]["parts"][0]
        assert "permission denied" in told["content"]
        assert (told["outcome"], told["code"], told["message"]) == ("refused", "forbidden", "This needs the role admin.")
    assert shelf.done == []


async def test_two_answers_at_once_are_one(tmp_path: Path) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        person = Chat(server, token=ADMIN)
        [card] = (await person.ask("delete a"))["interrupts"]
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(person.answer(approve(card))) for _ in range(4)]
        statuses = sorted({one.result()["status"] for one in answers})
        assert statuses in (["completed"], ["completed", "refused"])
    assert len(shelf.done) == 1
    assert shelf.calls == 1


@pytest.mark.parametrize("channel", CHANNELS)
async def test_what_is_asked_at_copilotkit_can_be_seen_and_answered_here(tmp_path: Path, channel: str) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        page = await Person(server, channel, token=ADMIN).say("delete a")
        [card] = cards(page)
        here = Chat(server, token=ADMIN)
        async with here.attach(page.run_id) as seen:
            await seen.rest()
        assert sequence(seen)[-2:] == ["paused", "turn_completed paused"]
        [asked] = response(seen)["interrupts"]
        assert (asked["interrupt_id"], asked["title"], asked["tool_call_id"]) == (card["interruptId"], card["title"], "call-a")
        assert (await here.answer(approve(asked)))["status"] == "completed"
    assert len(shelf.done) == 1


@pytest.mark.parametrize("channel", CHANNELS)
async def test_what_is_asked_here_can_be_answered_at_copilotkit(tmp_path: Path, channel: str) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}) as server:
        [asked] = (await Chat(server, token=ADMIN).ask("delete a"))["interrupts"]
        page = Person(server, channel, token=ADMIN)
        [card] = cards(await page.open())
        assert card["interruptId"] == asked["interrupt_id"]
        done = await page.approve(card)
        async with Chat(server, token=ADMIN).attach(done.run_id) as seen:
            await seen.rest()
        assert response(seen)["status"] == "completed"
        assert "human_wait_ms" in seen.events[-1]
    assert len(shelf.done) == 1


@pytest.mark.parametrize("legacy", [True, False])
async def test_an_agent_that_asks_in_the_older_form_is_paused_here_like_any_other(tmp_path: Path, legacy: bool) -> None:
    told: list[Any] = []

    def agent() -> AgentSpec:
        return AgentSpec(graph=ask({"message": "ok?"}, answers=told), description="", legacy_interrupts=legacy)

    async with stack(tmp_path, agents={"default": agent}) as server:
        person = Chat(server)
        asked = await person.turn("hi")
        assert sequence(asked)[-2:] == ["paused", "turn_completed paused"]
        [question] = response(asked)["interrupts"]
        assert (question["title"], question["value"]) == ("ok?", {"message": "ok?"})
        assert (await person.answer(value(question, 0)))["status"] == "completed"
    assert told == [0]


# held --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["chat", *CHANNELS])
async def test_a_held_stream_goes_on_when_the_answer_comes_through_any_door(tmp_path: Path, door: str) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": deleting_agent(shelf, "a")}, heartbeat_s=0.05, disconnect_grace_s=0) as server:
        watching = Chat(server, token=ADMIN)
        async with watching.stream("delete a", query="?hold=1") as reader:
            await reader.until_type("paused")
            first = reader.run_id
            assert reader.frames[-1].id == reader.last_id
            await reader.comments(reader.parser.comments + 3)
            [card] = reader.events[-1]["interrupts"]
            if door == "chat":
                answered = (await watching.answer(approve(card)))["run_id"]
            else:
                page = Person(server, door, token=ADMIN)
                [shown] = cards(await page.open())
                answered = (await page.approve(shown)).run_id
            await reader.rest()
        at = sequence(reader).index("paused")
        assert sequence(reader)[at + 1 :] == [
            "graph_topology",
            "node_started tools",
            "node_completed tools ok",
            "node_started agent",
            "node_completed agent ok",
            "turn_completed completed",
        ]
        assert sequence(reader).count("turn_completed completed") == 1
        assert "human_wait_ms" in reader.events[-1]
        assert {event["run_id"] for event in reader.events[: at + 1]} == {first}
        assert {event["run_id"] for event in reader.events[at + 1 :]} == {answered}
        assert str(reader.last_id).startswith(f"{answered}:")
        async with watching.attach(answered) as replay:
            await replay.rest()
        assert replay.frames == reader.frames[at + 1 :], "as that turn's own stream has it"


async def test_a_held_stream_lasts_through_several_pauses_and_cuts(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": asks_twice}, heartbeat_s=0.05) as server:
        person = Chat(server)
        async with person.stream("hi", query="?hold=1") as reader:
            await reader.until_type("paused")
            first = reader.run_id
            [question] = reader.events[-1]["interrupts"]
        then = await person.answer(value(question, "a"))
        assert then["status"] == "paused"
        # Nobody looked while the answer came. The address is the first run's, as a browser's EventSource knows it.
        async with person.attach(first, reader.last_id, query="?hold=1") as second:
            await second.until_type("paused")
            assert sequence(second)[0] == "graph_topology"
            assert {event["run_id"] for event in second.events} == {then["run_id"]}
        cut_at = second.frames[1].id
        async with person.attach(first, cut_at, query="?hold=1") as third:
            await third.until_type("paused")
            assert [frame.id for frame in third.frames] == [frame.id for frame in second.frames[2:]]
            end = await person.answer(value(then["interrupts"][0], "b"))
            await third.rest()
        assert response(third) == end
        assert (end["status"], text(end)) == ("completed", "second: 'b'")


async def test_a_new_message_ends_the_wait_of_a_held_stream_too(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: ask("ok?")}, heartbeat_s=0.05) as server:
        person = Chat(server)
        async with person.stream("hi", query="?hold=1") as reader:
            await reader.until_type("paused")
            said = await person.ask("something else")
            await reader.until(lambda r: sequence(r).count("paused") == 2)
        assert {event["run_id"] for event in reader.events} == {reader.run_id, said["run_id"]}


async def test_an_answer_to_an_unknown_question_does_not_end_the_wait(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: ask("ok?")}, heartbeat_s=0.05) as server:
        person = Chat(server)
        async with person.stream("hi", query="?hold=1") as reader:
            await reader.until_type("paused")
            [question] = reader.events[-1]["interrupts"]
            wrong = run_input(thread="t1", resume=[{"interruptId": "never", "status": "resolved", "payload": 1}])
            async with server.stream("POST", "/copilotkit", body=wrong) as failing:
                await failing.rest()
            assert failing.events[-1]["code"] == "interrupt_unknown"
            end = await person.answer(value(question, 1))
            await reader.rest()
        assert response(reader) == end


async def test_a_stop_is_the_end_of_a_held_stream(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: ask("ok?")}) as server, Chat(server).stream("hi", query="?hold=1") as reader:
        await reader.until_type("paused")
        assert await server.stop()
        await reader.rest()
        assert sequence(reader)[-1] == "turn_completed cancelled"


async def test_a_held_stream_of_a_thread_that_is_deleted_ends(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: ask("ok?")}) as server, Chat(server).stream("hi", query="?hold=1") as reader:
        await reader.until_type("paused")
        deleted = await server.http.delete(server.url + "/threads/t1", headers=server.headers())
        assert deleted.status_code == 204
        await reader.rest()
        assert sequence(reader)[-1] == "paused"


async def test_a_held_stream_closes_for_a_drain_and_waits_for_no_heartbeat(tmp_path: Path) -> None:
    async with (
        stack(tmp_path, agents={"default": lambda: ask("ok?")}, heartbeat_s=600) as server,
        Chat(server).stream("hi", query="?hold=1") as reader,
    ):
        await reader.until_type("paused")
        server.parts.supervisor.begin_drain()
        await reader.rest()
        assert bytes(reader.raw).endswith(b"retry: 1000\n: attach again: drain\n\n")


async def test_who_watches_a_pause_holds_nothing_when_gone(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: ask("ok?")}, disconnect_grace_s=0) as server:
        person = Chat(server)
        async with person.stream("hi", query="?hold=1") as reader:
            await reader.until_type("paused")
            waiting = server.parts.service._continuations._waiting
            await until(lambda: len(waiting) == 1)
        await until(lambda: not waiting)
        assert (await person.answer(value(reader.events[-1]["interrupts"][0], 1)))["status"] == "completed"


# the human's wait ---------------------------------------------------------------------------------------


def rows(data_dir: Path) -> list[tuple[str, int, int | None]]:
    """(status, asked at, answered at) of every question, as the database has them."""
    with closing(sqlite3.connect(f"file:{data_dir / 'middle-core.db'}?mode=ro", uri=True)) as db:
        return [tuple(row) for row in db.execute("SELECT status, created_at, answered_at FROM interrupts ORDER BY place")]


async def test_the_wait_is_what_the_database_says(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: ask("ok?")}, heartbeat_s=0.05) as server:
        person = Chat(server)
        async with person.stream("hi", query="?hold=1") as held:
            await held.until_type("paused")
            await held.comments(held.parser.comments + 5)
            reader = await person.resume(value(held.events[-1]["interrupts"][0], "x"))
            await held.rest()
        [(_, asked, answered)] = rows(tmp_path)
        assert answered is not None
        waited = reader.events[-1]["human_wait_ms"]
        assert waited == held.events[-1]["human_wait_ms"] == answered - asked
        assert waited >= 200


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", ["terminate", "kill"])
async def test_the_wait_is_measured_right_across_a_restart(tmp_path: Path, how: str) -> None:
    port, agents = free_port(), "hitl=tests.scenarios.hitl_agent:build"
    env = {"HITL_FILE": str(tmp_path / "done")}
    async with serve(tmp_path, port=port, agents=agents, env=env) as server:
        asked_at = time.time()
        [card] = (await Chat(server).ask("delete thing"))["interrupts"]
        assert server.process is not None
        getattr(server.process, how)()
        await server.process.wait()
    async with serve(tmp_path, port=port, agents=agents, env=env) as server:
        reader = await Chat(server).resume(approve(card))
        took_ms = (time.time() - asked_at) * 1000
        waited = reader.events[-1]["human_wait_ms"]
        assert response(reader)["status"] == "completed"
        [(status, asked, answered)] = rows(tmp_path)
        assert (status, answered) == ("executed", asked + waited)
        assert 300 < waited <= took_ms, "the time in which no server ran counts"
        async with Chat(server).attach(reader.run_id) as again:
            await again.rest()
        assert again.frames == reader.frames, "and is told so ever after"
