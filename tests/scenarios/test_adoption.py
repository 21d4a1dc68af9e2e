"""A run outlives its process: whoever follows it sees the answer go on, whole and once, after a kill -9 and after a drain."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from middle_core.events import Event
from tests.corpus.browser import folded
from tests.fakes.agui_verify import verify_streams
from tests.fakes.ports import free_port
from tests.fakes.process import gone, serve
from tests.fakes.stack import Reader, run_input, user
from tests.fakes.until import until_asked
from tests.scenarios import adopted_agent
from tests.scenarios.slow_agent import whole

AGENT = "slow=tests.scenarios.slow_agent:build"
STEPS = "steps=tests.scenarios.adopted_agent:build"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def shown(events: Sequence[Event]) -> list[tuple[str, Any]]:
    """What the browser's client shows of a stream, from nothing."""
    said = [one for event in events if event.get("name") == "middle_core.turn" for one in event["value"]["messages"]]
    return [(one["role"], one.get("content")) for one in folded(said, events) if one.get("content")]


def attempts(events: Sequence[Event]) -> list[int]:
    return [event["value"]["attempt"] for event in events if event.get("name") == "middle_core.attempt"]


async def killed(server: Any, reader: Reader) -> None:
    """The server dies while the stream is read; what had arrived stays in the reader."""
    await server.kill()
    with pytest.raises(httpx.TransportError):
        await reader.rest()


async def test_whoever_follows_sees_the_answer_go_on_after_a_kill(tmp_path: Path) -> None:
    port = free_port()
    async with serve(tmp_path, port=port, agents=AGENT) as server, server.say("count 120") as reader:
        await reader.until_text("w20 ")
        await killed(server, reader)
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        async with server.follow(reader.run_id, reader.last_id) as rest, server.follow(reader.run_id) as replay:
            await rest.rest()
            await replay.rest()
        for events in ([*reader.events, *rest.events], replay.events):
            assert shown(events) == [("user", "count 120"), ("assistant", whole(120))], "no half sentence, no doubled text"
            assert attempts(events) == [2]
            assert events[-1]["type"] == "RUN_FINISHED"
        [boundary] = [event["value"] for event in replay.events if event.get("name") == "middle_core.attempt"]
        void = [record for record in replay.frames if record.id and int(record.id.rpartition(":")[2]) <= boundary["discardAfterSeq"]]
        assert whole(120) not in "".join(str(record.data) for record in void)
        assert [(one["role"], one["content"]) for one in await server.history()] == [("user", "count 120"), ("assistant", whole(120))]
        assert (await server.ask("count 3")).text == whole(3)
    verdicts = await verify_streams([bytes(replay.raw)])
    assert [one for one in verdicts if not one.ok] == []


@pytest.mark.parametrize("again", ["connect", "the same request"])
async def test_whoever_comes_back_sees_the_answer_go_on(tmp_path: Path, again: str) -> None:
    port, sent = free_port(), run_input(user("count 60", "h1"), run="run-1")
    async with serve(tmp_path, port=port, agents=AGENT) as server, server.stream("POST", "/copilotkit", body=sent) as reader:
        await reader.until_text("w10 ")
        await killed(server, reader)
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        async with server.connect() if again == "connect" else server.stream("POST", "/copilotkit", body=sent) as rest:
            await rest.rest()
        assert rest.types[-1] == "RUN_FINISHED"
        assert shown(rest.events)[-1] == ("assistant", whole(60))
        assert [(one["role"], one["content"]) for one in await server.history()] == [("user", "count 60"), ("assistant", whole(60))]


async def test_a_message_meets_the_run_that_goes_on(tmp_path: Path) -> None:
    """Adopted first; then the thread's strategy."""
    port = free_port()
    async with serve(tmp_path, port=port, agents=AGENT) as server, server.say("count 2000") as reader:
        await reader.until_text("w5 ")
        await killed(server, reader)
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        refused = await server.post("/copilotkit", run_input(user("count 3")))
        assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
        body = run_input(user("count 3"), forwardedProps={"middleCore": {"multitask_strategy": "interrupt"}})
        async with server.stream("POST", "/copilotkit", body=body) as answer:
            await answer.rest()
        assert answer.text == whole(3)


async def test_a_run_whose_process_is_gone_can_be_stopped_and_its_thread_deleted(tmp_path: Path) -> None:
    port = free_port()
    async with (
        serve(tmp_path, port=port, agents=AGENT) as server,
        server.say("count 2000", thread="a") as one,
        server.say("count 2000", thread="b") as other,
    ):
        await one.until_text("w5 ")
        await other.until_text("w5 ")
        await killed(server, one)
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        assert await server.stop(thread="a")
        async with server.follow(one.run_id, one.last_id) as rest:
            await rest.rest()
        assert [event["name"] for event in rest.events if event["type"] == "CUSTOM"][-1] == "middle_core.run_cancelled"
        assert (await server.ask("count 2", thread="a")).text == whole(2)
        deleted = await server.http.delete(f"{server.url}/threads/b", headers=server.headers())
        assert deleted.status_code == 204


async def test_what_a_drain_does_not_finish_goes_on_at_once(tmp_path: Path) -> None:
    port = free_port()
    async with serve(tmp_path, port=port, agents=AGENT, env={"MIDDLE_CORE_DRAIN_S": "0"}) as server:
        async with server.say("count 120") as reader:
            await reader.until_text("w10 ")
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            await reader.rest()
        assert await gone(server.process, 10) == 0
    assert reader.events[-1]["value"]["reason"] == "drain"
    async with serve(tmp_path, port=port, agents=AGENT) as server, server.follow(reader.run_id, reader.last_id) as rest:
        await rest.rest()
    assert shown([*reader.events, *rest.events])[-1] == ("assistant", whole(120))


@pytest.mark.parametrize("moment", adopted_agent.MOMENTS)
async def test_finished_steps_are_not_done_again(tmp_path: Path, moment: str) -> None:
    """The process dies in the middle of a node, of a tool that acts, and of one that only reads; the next one goes on from there."""
    port, work = free_port(), tmp_path / "work"
    work.mkdir()
    env = {"ADOPTED_WORK": str(work), "ADOPTED_MOMENT": moment}
    async with serve(tmp_path, port=port, agents=STEPS, env=env) as server, server.say("go") as reader:
        with pytest.raises(httpx.TransportError):
            await reader.rest()
    async with serve(tmp_path, port=port, agents=STEPS, env=env) as server:
        async with server.follow(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        history = await server.history()
    assert rest.types[-1] == "RUN_FINISHED"
    assert adopted_agent.done(work) == adopted_agent.MOMENTS[moment]
    assert [one["content"] for one in history if one["role"] == "assistant" and one.get("content")] == ["All done."]
    outcomes = {
        one["toolCallId"]: one.get("metadata", {}).get("middleCoreOutcome", {}).get("outcome", "done")
        for one in history
        if one["role"] == "tool"
    }
    assert outcomes == {"act": "unknown" if moment == "in a tool that acts" else "done", "look": "done"}
    assert shown([*reader.events, *rest.events])[-1] == ("assistant", "All done.")
    assert len([event for event in [*reader.events, *rest.events] if event["type"] == "TOOL_CALL_START"]) == 2


async def test_a_run_that_ends_each_process_ends_itself_at_last(tmp_path: Path) -> None:
    port, agents = free_port(), "kills=tests.scenarios.adopted_agent:build_that_kills"
    async with serve(tmp_path, port=port, agents=agents) as server, server.say("go") as reader:
        with pytest.raises(httpx.TransportError):
            await reader.rest()
    for _ in range(4):
        async with serve(tmp_path, port=port, agents=agents) as server, server.follow(reader.run_id, reader.last_id) as rest:
            with pytest.raises(httpx.TransportError):
                await rest.rest()
    async with serve(tmp_path, port=port, agents=agents) as server, server.follow(reader.run_id, reader.last_id) as rest:
        await rest.rest()
    assert (rest.events[-1]["type"], rest.events[-1]["code"]) == ("RUN_ERROR", "run_lost")


async def test_a_run_that_nobody_comes_back_to_ends_as_lost(tmp_path: Path) -> None:
    port = free_port()
    env = {"MIDDLE_CORE_LEASE_S": "1", "MIDDLE_CORE_BEAT_S": "0.2", "MIDDLE_CORE_ORPHAN_TIMEOUT_S": "0.5"}
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server, server.say("count 2000") as reader:
        await reader.until_text("w20 ")
        await killed(server, reader)
    async with serve(tmp_path, port=port, agents=AGENT, env=env) as server:

        async def ended() -> bool:
            return (await server.get("/threads/t1")).json()["activeRun"] is None

        await until_asked(ended, within_s=20)
        async with server.follow(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        assert rest.events[-1]["code"] == "run_lost"
        history = await server.history()
        assert [(one["role"], one["content"]) for one in history] == [("user", "count 2000"), ("assistant", reader.text + rest.text)]
        assert history[1]["metadata"] == {"stopped": True, "interrupted": True}, "nobody stopped it"
