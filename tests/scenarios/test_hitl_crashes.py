"""kill -9 around an approved action: it happens once or not at all, and what is said of it is true."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.fakes.process import Server, free_port, serve
from tests.fakes.until import until
from tests.scenarios.hitl import Person, cards, resolved, results
from tests.scenarios.kills import AGENT, kill_again_and_again, lines

MANY = 50
KILLS, EACH = 10, 5

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


@pytest.mark.parametrize("window", ["approve and execute", "execute and record"])
async def test_kill_after_kill_no_action_is_done_twice_and_what_is_told_is_true(window: str, tmp_path: Path) -> None:
    """`make kills` is the same with fifty kills, and with kills at any instant."""
    told = await kill_again_and_again(tmp_path, window, KILLS, each=EACH)
    assert (told.kills, told.times.total()) == (KILLS, KILLS * EACH)
    assert set(told.times) <= {0, 1}
    if window == "execute and record":
        assert told.times == {1: KILLS * EACH}


@pytest.mark.parametrize("fault", ["approved", "begun", "done"])
async def test_an_approved_action_is_done_once_whenever_the_server_dies(fault: str, tmp_path: Path) -> None:
    """The person opens the conversation again, and the action goes on under its key; nobody has to approve it twice."""
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
            assert resolved(opened) == [(person.card["interruptId"], "executed")]
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
    assert sorted(lines(file)) == sorted(f"thing{number}" for number in range(count))


async def test_a_new_message_after_the_crash_finds_the_action_done_first(tmp_path: Path) -> None:
    file, port = tmp_path / "done", free_port()
    env = {"HITL_FILE": str(file)}
    async with serve(tmp_path, port=port, agents=AGENT, env={**env, "HITL_FAULT": "done"}) as server:
        people = await ask(server, "delete", 2)
        await approve_and_die(people, server, file.with_suffix(".arrived"))
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:
        for number, person in enumerate(people):
            person.server = server
            said = await person.say("and?")
            assert said.text == f"deleted thing{number}and?"
            assert [m["content"] for m in await server.history(thread=person.thread) if m["role"] == "user"] == [
                f"delete thing{number}",
                "and?",
            ]
    assert len(lines(file)) == 2


async def test_killed_at_any_moment_nothing_is_done_twice_and_every_thread_works(tmp_path: Path) -> None:
    """No fault: the server dies in the middle of whatever it is doing."""
    file, port, rounds, count = tmp_path / "done", free_port(), 4, 12
    env = {"HITL_FILE": str(file)}
    people: list[Person] = []
    for round_ in range(rounds):
        async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:
            for person in people:
                person.server = server
                opened = await person.open()
                for card in cards(opened):
                    await person.approve(card)
            seen = lines(file)
            assert len(seen) == len(set(seen)), "each once"
            fresh = [Person(server, "interrupt", thread=f"r{round_}-{number}") for number in range(count)]
            people = fresh

            async def go(person: Person, round_: int = round_) -> None:
                try:
                    [card] = cards(await person.say(f"delete thing-{round_}-{person.thread}"))
                    await person.approve(card)
                except httpx.TransportError:
                    return  # killed

            async with asyncio.TaskGroup() as group:
                for person in fresh:
                    group.create_task(go(person))
                target = len(seen) + 1 + round_ * 3
                await until(lambda target=target: len(lines(file)) >= target, 30)  # type: ignore[misc]
                await server.kill()
    assert len(lines(file)) == len(set(lines(file)))
