"""Another user's ids do not exist: every door, every verb, both kinds of id."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from middle_core.auth.principal import Credential, Principal
from middle_core.node_api.context import run_context
from tests.fakes.graphs import chat, one_node
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import run_input, stack, user
from tests.fakes.tokens import mint

pytestmark = pytest.mark.both_stores

ALICE, BOB = mint(sub="alice"), mint(sub="bob", roles=["reader"])


async def test_a_foreign_run_answers_like_an_absent_one(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["secret", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("hi", token=ALICE) as reader:
        await reader.until_text("secret")
        foreign = await server.get(f"/copilotkit/runs/{reader.run_id}/events", token=BOB)
        absent = await server.get("/copilotkit/runs/01990000-0000-7000-8000-000000000000/events", token=BOB)
        assert foreign.status_code == absent.status_code == 404
        told = [response.json() | {"correlation_id": ""} for response in (foreign, absent)]
        assert told[0] == told[1]
        assert set(foreign.headers) == set(absent.headers)
        for by in ({"threadId": "t1"}, {"threadId": "t1", "runId": reader.run_id}):
            assert (await server.post("/copilotkit/stop", by, token=BOB)).json() == {"stopped": False}
        assert model.ended == []
        assert await server.stop(token=ALICE)
        await reader.rest()


async def test_a_foreign_thread_id_is_an_empty_thread_of_ones_own(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["for alice", finish()], ["for bob", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        await server.ask("from alice", token=ALICE)
        assert await server.history(token=BOB) == []
        assert (await server.get("/threads/t1", token=BOB)).status_code == 404
        assert (await server.http.delete(server.url + "/threads/t1", headers=server.headers(BOB))).status_code == 404
        assert (await server.ask("from bob", token=BOB)).text == "for bob"
        assert [m["content"] for m in await server.history(token=BOB)] == ["from bob", "for bob"]
        assert [m["content"] for m in await server.history(token=ALICE)] == ["from alice", "for alice"]
        for token, title in ((ALICE, "from alice"), (BOB, "from bob")):
            listed = (await server.get("/threads", token=token)).json()["threads"]
            assert [thread["title"] for thread in listed] == [title]
    assert [message.content for message in model.seen[1]] == ["from bob"]


async def test_the_same_subject_of_another_issuer_is_somebody_else(tmp_path: Path) -> None:
    one, two = (Principal(issuer, "alice", "Alice", None, 0, {}, Credential("", 0)).owner for issuer in ("a", "b"))
    assert one != two
    tricky = Principal('a","b', "c", "", None, 0, {}, Credential("", 0)).owner
    assert tricky != Principal("a", 'b","c', "", None, 0, {}, Credential("", 0)).owner


async def test_forty_users_at_once_never_meet(tmp_path: Path) -> None:
    """CopilotKit/CopilotKit#5659: one user's context was used for another's run."""
    together = asyncio.Event()
    waiting = 0

    async def node(state: dict) -> dict:  # type: ignore[type-arg]
        nonlocal waiting
        before = run_context().caller
        waiting += 1
        if waiting == 40:
            together.set()
        await together.wait()
        await asyncio.sleep(0)
        after = run_context().caller
        assert after is not None
        assert before is after
        return {"messages": [AIMessage(f"{after.subject} said {state['messages'][-1].content}")]}

    async with stack(tmp_path, agents={"default": lambda: one_node(node)}) as server:

        async def turn(number: int) -> None:
            name = f"user{number}"
            reader = await server.ask(f"I am {name}", token=mint(sub=name))
            assert reader.text == f"{name} said I am {name}"

        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(turn(number))


async def test_starting_on_a_run_id_of_somebody_else_is_a_run_of_ones_own(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["for alice", finish()], ["for bob", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        body = run_input(user("hi", "u1"), run="same-run")
        async with server.stream("POST", "/copilotkit", body=body, token=ALICE) as one:
            await one.rest()
        async with server.stream("POST", "/copilotkit", body=body, token=BOB) as two:
            await two.rest()
    assert (one.text, two.text) == ("for alice", "for bob")
    assert one.run_id != two.run_id
