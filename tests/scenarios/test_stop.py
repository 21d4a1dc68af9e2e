"""Stop really stops: the model's stream is closed, the partial answer stays, and the thread is usable at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from tests.fakes.agui_verify import verify_streams
from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.stack import run_input, stack, user
from tests.fakes.until import until
from tests.scenarios.agents import tool_agent

pytestmark = pytest.mark.both_stores


async def test_stop_closes_the_model_keeps_the_text_and_ends_once(tmp_path: Path) -> None:
    never = asyncio.Event()
    model = ScriptedModel(turns=[["partial ", "answer", never, "never said"], ["the next", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, beat_s=600, lease_s=1800) as server:  # it waits for no beat
        async with server.say("hi") as reader:
            await reader.until_text("partial answer")
            assert await server.stop()
            await until(lambda: model.ended == ["cancelled"])
            await reader.rest()
        terminals = [event for event in reader.events if event["type"] in {"RUN_FINISHED", "RUN_ERROR"}]
        assert reader.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]
        assert len(terminals) == 1
        assert terminals[0]["result"] == {"status": "cancelled"}
        history = await server.history()
        assert [(m["role"], m["content"]) for m in history] == [("user", "hi"), ("assistant", "partial answer")]
        assert history[1]["id"] == next(event["messageId"] for event in reader.events if event["type"] == "TEXT_MESSAGE_START")
        after = await server.ask("and now?")
        assert after.text == "the next"
        status = (await server.get("/threads/t1")).json()
        assert (status["running"], status["lastRun"]["status"]) == (False, "finished")
    assert [message.content for message in model.seen[1]] == ["hi", "partial answer", "and now?"]
    [verdict] = await verify_streams([bytes(reader.raw)])
    assert verdict.ok, verdict
    assert verdict.messages[-1]["content"] == "partial answer"


async def test_a_stopped_message_is_marked_in_history(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["partial", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        async with server.say("hi") as reader:
            await reader.until_text("partial")
            await server.stop()
            await reader.rest()
        answer = (await server.history())[-1]
    assert answer["metadata"] == {"stopped": True}


async def test_a_message_sent_before_the_stop_has_finished_is_answered(tmp_path: Path) -> None:
    class Stubborn(ScriptedModel):
        """Delays its own cancellation."""

        release: asyncio.Event

        async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            try:
                async for chunk in super()._astream(*args, **kwargs):
                    yield chunk
            except asyncio.CancelledError:
                await self.release.wait()
                raise

    model = Stubborn(turns=[["slow", asyncio.Event()], ["answered", finish()]], release=asyncio.Event())
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("first") as first:
        await first.until_text("slow")
        assert await server.stop()
        async with asyncio.TaskGroup() as group:
            second = group.create_task(server.ask("second"))
            busy = await server.get("/threads/t1")
            assert busy.json()["running"] is True
            model.release.set()
        assert second.result().text == "answered"
        assert second.result().types[-1] == "RUN_FINISHED"
        await first.rest()
        assert [m["content"] for m in await server.history()] == ["first", "slow", "second", "answered"]


async def test_a_second_run_on_a_busy_thread_is_refused_before_any_stream(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["slow", gate, finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("first") as first:
        await first.until_text("slow")
        refused = await server.post("/copilotkit", run_input(user("second")))
        assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
        gate.set()
        await first.rest()
        assert [m["content"] for m in await server.history()] == ["first", "slow"]


async def test_a_second_run_may_interrupt_the_first(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["slow", asyncio.Event()], ["fast", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("first") as first:
        await first.until_text("slow")
        second = await server.ask("second", forwardedProps={"middleCore": {"multitask_strategy": "interrupt"}})
        assert second.text == "fast"
        await first.rest()
        assert first.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]


async def test_an_async_tool_sees_the_cancellation_and_its_call_gets_a_result(tmp_path: Path) -> None:
    entered, seen = asyncio.Event(), []

    @tool
    async def slow(q: str) -> str:
        """A slow tool."""
        try:
            entered.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return q

    model = ScriptedModel(turns=[[call("slow", {"q": "x"}), finish("tool_calls")], ["hello again", finish()]], strict=True)
    async with stack(tmp_path, agents={"default": lambda: tool_agent(model, [slow])}) as server:
        async with server.say("go") as reader:
            await reader.until_type("TOOL_CALL_END")
            await entered.wait()
            assert await server.stop()
            await reader.rest()
        told = [event for event in reader.events if event["type"] == "TOOL_CALL_RESULT"]
        assert [event["toolCallId"] for event in told] == ["call_1"], "the page must not show the call as running"
        await until(lambda: seen == ["cancelled"])
        assert (await server.ask("hello")).text == "hello again"
        history = await server.history()
    results = [message for message in history if message["role"] == "tool"]
    assert len(results) == 1
    assert "stopped" in results[0]["content"]


async def test_a_tool_that_had_finished_keeps_its_result(tmp_path: Path) -> None:
    """EvoScientist/EvoScientist#489: the finished one of two parallel calls was reported as not done."""
    entered, done = asyncio.Event(), asyncio.Event()

    @tool
    async def quick(q: str) -> str:
        """A quick tool."""
        done.set()
        return f"quick {q}"

    @tool
    async def slow(q: str) -> str:
        """A slow tool."""
        entered.set()
        await asyncio.Event().wait()
        return q

    calls = [call("quick", {"q": "a"}, call_id="c1", index=0), call("slow", {"q": "b"}, call_id="c2", index=1), finish("tool_calls")]
    model = ScriptedModel(turns=[calls, ["ok", finish()]], strict=True)
    async with stack(tmp_path, agents={"default": lambda: tool_agent(model, [quick, slow])}) as server:
        async with server.say("go") as reader:
            await done.wait()
            await entered.wait()
            await reader.until_type("TOOL_CALL_RESULT")
            await server.stop()
            await reader.rest()
        await server.ask("again")
    results = {message.tool_call_id: message.content for message in model.seen[1] if isinstance(message, ToolMessage)}
    assert results["c1"] == "quick a"
    assert "stopped" in results["c2"]


async def test_stopping_what_does_not_run_says_so(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["x", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:
        assert await server.stop(thread="never-seen") is False
        await server.ask("hi")
        assert await server.stop() is False


async def test_a_tab_that_attached_later_can_stop_the_run(tmp_path: Path) -> None:
    """vercel/ai#6502: stop had no effect on a stream that was attached again."""
    model = ScriptedModel(turns=[["partial", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, server.say("hi", run="client-run") as first:
        await first.until_text("partial")
        async with server.connect() as second:
            await second.until_text("partial")
            assert await server.stop(run="client-run")
            await second.rest()
            await first.rest()
        assert first.frames[-1] == second.frames[-1]


async def test_fifty_stops_leave_nothing_behind(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["text", asyncio.Event()] for _ in range(50)])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server:

        async def one(number: int) -> None:
            async with server.say("hi", thread=f"t{number}") as reader:
                await reader.until_text("text")
                assert await server.stop(thread=f"t{number}")
                await reader.rest()
                assert reader.types[-2:] == ["middle_core.run_cancelled", "RUN_FINISHED"]

        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(one(number))
        await until(lambda: len(model.ended) == 50)
        await until(lambda: server.parts.supervisor.live == 0)
    assert set(model.ended) == {"cancelled"}
