"""kill -9 again and again around approved actions: `python -m tests.scenarios.kills [KILLS]`, or `make kills`.

One server after the other uses the same folder. Under each server some people approve one action each; half of the actions go to a
service that honours Idempotency-Keys. The server is killed at some point, the next server finds the threads, and each person sees what
became of their action. `make test` does this with fewer kills (`test_hitl_kills`).
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import httpx

from tests.fakes.ports import free_port
from tests.fakes.process import Server, serve
from tests.fakes.until import until
from tests.scenarios.hitl import Person, cards, resolved, results

AGENT = "hitl=tests.scenarios.hitl_agent:build"
WINDOWS = {"approve and execute": ("approved", "begun"), "execute and record": ("done",), "any instant": ("",)}
"""Where the server dies, in turns. "": at a random time within `WITHIN_S` after the answers were sent."""
WITHIN_S = 0.25
EACH = 6


@dataclass
class Kills:
    """The results. outcomes: how often people saw each outcome. times: how many actions took effect 0, 1, 2... times."""

    kills: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    times: Counter[int] = field(default_factory=Counter)


def lines(file: Path) -> list[str]:
    """The lines of the file: what took effect, or arrived."""
    return file.read_text().splitlines() if file.exists() else []


async def kill_again_and_again(folder: Path, window: str, kills: int, *, each: int = EACH, seed: int = 1) -> Kills:
    """Kill so many servers, with `each` approved actions under each. Raises AssertionError if an action is done twice or reported wrongly."""
    file, port, told = folder / "done", free_port(), Kills()
    chance = random.Random(seed)
    people: list[Person] = []
    for life, point in enumerate(islice(cycle(WINDOWS[window]), kills + 1)):
        fault = f"{point}:life{life}-" if point and life < kills else ""
        async with serve(folder, port=port, agents=AGENT, env={"HITL_FILE": str(file), "HITL_FAULT": fault}) as server:
            for person in people:
                person.server = server
                told.outcomes[await _look(person, lines(file))] += 1
            if life == kills:
                break
            people = await _ask(server, life, each)
            file.with_suffix(".arrived").unlink(missing_ok=True)
            await _approve_and_kill(people, server, file.with_suffix(".arrived") if point else chance.uniform(0, WITHIN_S))
            told.kills += 1
    done = Counter(line.split()[0] for line in lines(file))
    told.times = Counter(done[f"life{life}-{number}"] for life in range(kills) for number in range(each))
    assert not [thing for thing, times in done.items() if times > 1], done
    return told


async def _ask(server: Server, life: int, count: int) -> list[Person]:
    async def one(number: int) -> Person:
        order = "delete" if number % 2 else "erase"
        person = Person(server, ["interrupt", "client_tool"][number // 2 % 2], thread=f"life{life}-{number}")
        [person.card] = cards(await person.say(f"{order} {person.thread}"))
        return person

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(one(number)) for number in range(count)]
    return [one.result() for one in asked]


async def _approve_and_kill(people: list[Person], server: Server, when: Path | float) -> None:
    """Everybody says yes. The server dies when all of them have arrived in this file, or after so many seconds."""

    async def one(person: Person) -> None:
        try:
            await person.approve(person.card)
        except httpx.TransportError:
            return

    async with asyncio.TaskGroup() as group:
        for person in people:
            group.create_task(one(person))
        if isinstance(when, Path):
            await until(lambda: len(lines(when)) == len(people), 60)
        else:
            await asyncio.sleep(when)  # the random time is the point of this test
        await server.kill()


async def _look(person: Person, done: list[str]) -> str:
    """The person opens the conversation, answers what they are asked, and sees what became of their action. Returns it."""
    opened = await person.open()
    asked = cards(opened)
    outcome = "went on by itself" if not asked else asked[0]["state"]
    if asked:
        # If the yes never arrived, the person gives it again. If the outcome is unknown, the person does not try again.
        await person.answer({asked[0]["interruptId"]: {"approved": asked[0]["state"] == "new"}})
    elif not resolved(opened):
        outcome = "was done before"
    await person.open()
    [said] = [text for call, text in results(person.history).items() if call == f"1-{person.thread}"]
    thing, happened = person.thread, any(line.split()[0] == person.thread for line in done)
    if outcome == "unknown":
        assert "whether it took effect is unknown" in said, said
        return f"unknown, and it {'was' if happened else 'was not'} done"
    assert said in {f"deleted {thing}", f"erased {thing}"}, said
    return outcome


async def main(kills: int) -> None:
    """Kill at all points, with two servers at a time."""
    began, gate = time.monotonic(), asyncio.Semaphore(2)
    with tempfile.TemporaryDirectory() as folder:

        async def one(window: str) -> tuple[str, Kills]:
            async with gate:
                return window, await kill_again_and_again(Path(folder) / window.replace(" ", "-"), window, kills)

        async with asyncio.TaskGroup() as group:
            told = [group.create_task(one(window)) for window in WINDOWS]
    for task in told:
        window, each = task.result()
        print(f"{window}: {each.kills} kills, {each.times.total()} approved actions")
        print("  took effect:", ", ".join(f"{count} {times} times" for times, count in sorted(each.times.items())))
        print("  people saw: ", ", ".join(f"{count} {outcome}" for outcome, count in each.outcomes.most_common()))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
