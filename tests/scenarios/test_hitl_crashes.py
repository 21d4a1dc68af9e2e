"""kill -9 around an approved action: the action happens once or not at all, and the person is told the truth."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.fakes.ports import free_port
from tests.fakes.process import Server, serve
from tests.fakes.until import until
from tests.scenarios.hitl import Person, cards, resolved, results
from tests.scenarios.kills import AGENT, lines

MANY = 50

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


async def ask(server: Server, order: str, count: int) -> list[Person]:
    """So many people, each with a card for a thing of their own."""

    async def one(number: int) -> Person:
        person = Person(server, ["interrupt", "client_tool"][number % 2], thread=f"t{number}")
        [card] = cards(await person.say(f"{order} thing{number}"))
        person.card = card
        return person

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(one(number)) for number in range(count)]
    return [one.result() for one in asked]


async def approve_and_die(people: list[Person], server: Server, arrived: Path) -> None:
    """Everybody says yes; the server is killed when every action stands at the fault."""

    async def one(person: Person) -> None:
        with pytest.raises(httpx.TransportError):
            await person.approve(person.card)

    async with asyncio.TaskGroup() as group:
        for person in people:
            group.create_task(one(person))
        await until(lambda: len(lines(arrived)) == len(people), 60)
        await server.kill()


@pytest.mark.parametrize("fault", ["approved", "begun", "done"])
async def test_an_approved_action_is_done_once_whenever_the_server_dies(fault: str, tmp_path: Path) -> None:
    """When the person opens the conversation again, the action goes on under its key. Nobody has to approve it twice."""
    file, port = tmp_path / "done", free_port()
    env = {"HITL_FILE": str(file)}
    async with serve(tmp_path, port=port, agents=AGENT, env={**env, "HITL_FAULT": fault}) as server:
        people = await ask(server, "delete", MANY)
        await approve_and_die(people, server, file.with_suffix(".arrived"))
        assert len(lines(file)) == (MANY if fault == "done" else 0)
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:
        for number, person in enumerate(people):
            person.server = server
            opened = await person.open()
            assert resolved(opened)[-1] == (person.card["interruptId"], "executed")
            told = [event["content"] for event in opened.events if event["type"] == "TOOL_CALL_RESULT"]
            assert told == [f"deleted thing{number}"]
        await people[0].open()
        assert results(people[0].history)["1-thing0"] == "deleted thing0"
        keys = [line.split()[1] for line in lines(file)]
        assert sorted(keys) == sorted(f"approval-{person.card['interruptId']}" for person in people), "each once"
        assert (await people[0].say("hello")).text == "hello"


@pytest.mark.parametrize(("fault", "again"), [("begun", True), ("done", False), ("approved", True)])
async def test_where_no_key_is_honoured_the_person_chooses(fault: str, again: bool, tmp_path: Path) -> None:
    file, port, count = tmp_path / "done", free_port(), 4
    env = {"HITL_FILE": str(file)}
    async with serve(tmp_path, port=port, agents=AGENT, env={**env, "HITL_FAULT": fault}) as server:
        people = await ask(server, "erase", count)
        await approve_and_die(people, server, file.with_suffix(".arrived"))
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:
        for number, person in enumerate(people):
            person.server = server
            opened = await person.open()
            if fault == "approved":  # it had not begun, so there is no doubt
                assert resolved(opened)[-1] == (person.card["interruptId"], "executed")
                continue
            [card] = cards(opened)
            assert (card["state"], card["confirm"], card["cancel"]) == ("unknown", "Try again", "Leave it")
            assert cards(await person.open()) == [card], "it is asked once"
            done = await person.answer({card["interruptId"]: {"approved": again}})
            assert done.text == (f"erased thing{number}" if again else done.text)
            assert again or "unknown" in done.text
            if not again:
                assert resolved(done)[-1][1] == "rejected"
                told = [event["value"] for event in done.events if event.get("name") == "middle_core.interrupt_resolved"][-1]
                assert "Nothing was done" not in told["message"]
                assert "Whether it took effect is unknown" in told["message"]
    assert sorted(lines(file)) == sorted(f"thing{number}" for number in range(count))


async def test_a_new_message_after_the_crash_lets_the_action_be_done_first(tmp_path: Path) -> None:
    file, port = tmp_path / "done", free_port()
    env = {"HITL_FILE": str(file)}
    async with serve(tmp_path, port=port, agents=AGENT, env={**env, "HITL_FAULT": "done"}) as server:
        people = await ask(server, "delete", 2)
        await approve_and_die(people, server, file.with_suffix(".arrived"))
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:
        for number, person in enumerate(people):
            person.server = server
            with pytest.raises(AssertionError, match="thread_busy"):
                await person.say("and?")  # the approved action goes on first, and a busy thread takes no message
            assert resolved(await person.open())[-1] == (person.card["interruptId"], "executed")
            assert (await person.say("and?")).text == "and?"
            assert [m["content"] for m in await server.history(thread=person.thread) if m["role"] == "user"] == [
                f"delete thing{number}",
                "and?",
            ]
    assert len(lines(file)) == 2


@pytest.mark.parametrize("then", ["message", "stop"])
async def test_what_may_have_happened_is_never_called_undone(then: str, tmp_path: Path) -> None:
    """The action was begun and cut off. The person does not choose, and says something else instead."""
    file, port = tmp_path / "done", free_port()
    env = {"HITL_FILE": str(file)}
    async with serve(tmp_path, port=port, agents=AGENT, env={**env, "HITL_FAULT": "done"}) as server:
        people = await ask(server, "erase", 2)
        await approve_and_die(people, server, file.with_suffix(".arrived"))
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:
        for number, person in enumerate(people):
            person.server = server
            assert [card["state"] for card in cards(await person.open())] == ["unknown"]
            if then == "message":
                assert (await person.say("and?")).text == "and?"
            else:
                assert await server.stop(thread=person.thread)
            assert cards(await person.open()) == []
            [result] = [one for one in person.history if one.get("toolCallId") == f"1-thing{number}"]
            for told in (result["content"], result["metadata"]["middleCore"]["message"]):
                assert "Whether it took effect is unknown" in told
            assert result["metadata"]["middleCore"]["ok"] is None
    assert sorted(lines(file)) == ["thing0", "thing1"]
