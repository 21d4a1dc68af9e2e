"""The queue between a graph and the log: it holds nothing back, loses nothing, and is bounded."""

from __future__ import annotations

import asyncio
import threading

import pytest

from middle_core.agui.deltas import MAX_DELTA_CHARS
from middle_core.errors import MiddleCoreError
from middle_core.events import Event
from middle_core.runs.graph.event_queue import FULL, MAX_WAITING, EventQueue


def delta(text: str, message_id: str = "m", kind: str = "TEXT_MESSAGE_CONTENT") -> Event:
    return {"type": kind, "messageId": message_id, "delta": text}


async def test_deltas_that_wait_become_one_and_others_do_not() -> None:
    queue = EventQueue()
    queue.put([delta("a"), delta("b")])
    queue.put([delta("c"), delta("x", "n"), delta("d"), {"type": "STEP_STARTED", "stepName": "s"}, delta("e")])
    assert [one.get("delta") for one in queue.take()] == ["abc", "x", "d", None, "e"]
    queue.put([{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": one} for one in "12"])
    assert [one["delta"] for one in queue.take()] == ["12"]
    queue.put([delta("r", kind="REASONING_MESSAGE_CONTENT"), delta("s", kind="REASONING_MESSAGE_CONTENT")])
    assert [one["delta"] for one in queue.take()] == ["rs"]
    half = "x" * (MAX_DELTA_CHARS // 2)
    queue.put(delta(one) for one in (half, half, half))
    assert [len(one["delta"]) for one in queue.take()] == [MAX_DELTA_CHARS, MAX_DELTA_CHARS // 2], "joining has a bound"


async def test_what_was_taken_is_not_added_to() -> None:
    queue = EventQueue()
    queue.put([delta("a")])
    [taken] = queue.take()
    queue.put([delta("b")])
    assert taken["delta"] == "a"
    assert [one["delta"] for one in queue.take()] == ["b"]


async def test_a_reader_is_woken_and_told_of_the_end() -> None:
    queue = EventQueue()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        waiting = group.create_task(queue.arrived())
        await asyncio.sleep(0)
        queue.put([delta("a")])
        assert await waiting
        list(queue.take())
        waiting = group.create_task(queue.arrived())
        await asyncio.sleep(0)
        queue.close()
        assert not await waiting


async def test_what_was_put_before_the_end_is_still_read() -> None:
    queue = EventQueue()
    queue.put([delta("a")])
    queue.close()
    assert await queue.arrived()
    list(queue.take())
    assert not await queue.arrived()


async def test_a_thread_wakes_the_reader_and_loses_nothing() -> None:
    queue = EventQueue()
    text: list[str] = []

    def talk() -> None:
        for at in range(3000):
            queue.put([delta(chr(97 + at % 26))])

    thread = threading.Thread(target=talk)
    thread.start()
    async with asyncio.timeout(10):
        while sum(map(len, text)) < 3000:
            await queue.arrived()
            text.extend(one["delta"] for one in queue.take())
    thread.join()
    assert "".join(text) == "".join(chr(97 + at % 26) for at in range(3000))


async def test_async_code_waits_while_the_box_is_full() -> None:
    queue = EventQueue()
    said: list[int] = []

    async def flood() -> None:
        for at in range(FULL * 2):
            queue.put([{"type": "STEP_STARTED", "stepName": str(at)}])
            said.append(at)
            await queue.wait_for_reader()
        queue.close()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(flood())
        while await queue.arrived():
            assert len(list(queue.take())) <= FULL
    assert len(said) == FULL * 2


async def test_the_model_waits_behind_its_first_delta_until_the_reader_comes_back() -> None:
    queue = EventQueue()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        queue.put([{"type": "STEP_STARTED", "stepName": "s"}])
        await queue.wait_for_reader()  # nothing is said yet
        queue.put([delta("a")])
        model = group.create_task(queue.wait_for_reader())
        assert await queue.arrived()
        assert len(list(queue.take())) == 2
        await asyncio.sleep(0)
        assert not model.done(), "what was taken is not written yet"
        reader = group.create_task(queue.arrived())
        await model
        queue.put([delta("b")])
        await queue.wait_for_reader()  # and never again
        assert await reader


async def test_the_end_lets_a_waiting_model_go() -> None:
    queue = EventQueue()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        queue.put([delta("a")])
        model = group.create_task(queue.wait_for_reader())
        await asyncio.sleep(0)
        assert not model.done()
        queue.close()
        await model


async def test_a_flood_that_cannot_be_made_to_wait_fails() -> None:
    queue = EventQueue()
    with pytest.raises(MiddleCoreError, match="faster than"):
        queue.put([{"type": "STEP_STARTED", "stepName": "x"}] * (MAX_WAITING + 1))


async def test_what_comes_after_the_end_is_dropped() -> None:
    queue = EventQueue()
    queue.close()
    queue.put([delta("late")])
    assert list(queue.take()) == []
