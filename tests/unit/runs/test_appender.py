"""Property tests of the appender: nothing is lost or reordered, it is bounded, and only neighbouring deltas of one message merge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.agui.deltas import merge_deltas
from middle_core.errors import Superseded
from middle_core.eventlog.records import Ending, RunStatus
from middle_core.events import Event
from middle_core.runs.appender import IN_FLIGHT, Appender
from tests.fakes.until import until


def text(message_id: str, delta: str) -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}


def end(message_id: str) -> Event:
    return {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def args(call_id: str, delta: str) -> Event:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}


EVENTS = st.lists(
    st.one_of(
        st.builds(text, st.sampled_from("ab"), st.text(min_size=1, max_size=4)),
        st.builds(args, st.sampled_from("ab"), st.text(min_size=1, max_size=4)),
        st.builds(lambda n: {"type": "CUSTOM", "name": n, "value": {}}, st.sampled_from("xy")),
    ),
    max_size=40,
)


def unmerged(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """One entry per character (or per other event): equal before and after any legal merge."""
    flat: list[tuple[Any, ...]] = []
    for event in events:
        if "delta" in event:
            flat += [(event["type"], event.get("messageId"), event.get("toolCallId"), char) for char in event["delta"]]
        else:
            flat.append((event["type"], event["name"]))
    return flat


@given(EVENTS, st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_merging_keeps_every_character_in_order_and_the_bound(events: list[Event], bound: int) -> None:
    before = [dict(event) for event in events]
    merged = merge_deltas(events, max_chars=bound)
    assert unmerged(merged) == unmerged(events)
    assert events == before, "the input is not changed"
    assert all(len(event["delta"]) <= max(bound, 4) for event in merged if "delta" in event)


def test_neighbours_of_one_message_become_one_record() -> None:
    merged = merge_deltas([text("a", "x"), text("a", "y"), args("c", "{"), args("c", "}"), text("a", "z")], max_chars=100)
    assert merged == [text("a", "xy"), args("c", "{}"), text("a", "z")]


class SlowWriter:
    """A writer whose commit takes as long as the test says."""

    def __init__(self) -> None:
        self.batches: list[list[Event]] = []
        self.handed = 2
        self.endings: list[Ending | None] = []
        self.gate = asyncio.Semaphore(0)
        self.entered = 0
        self.error: Exception | None = None

    async def append(self, events: Sequence[Event], *, ending: Ending | None = None) -> list[Any]:
        self.handed += len(events)
        self.entered += 1
        await self.gate.acquire()
        if self.error is not None:
            raise self.error
        self.batches.append(list(events))
        self.endings.append(ending)
        return []


async def test_the_first_event_is_written_alone_and_later_ones_gather_behind_those_in_flight() -> None:
    log = SlowWriter()
    appender = Appender(log)
    async with asyncio.TaskGroup() as group, asyncio.timeout(5):
        appender.start(group)
        for number in range(1, IN_FLIGHT + 1):
            await appender.put([end(str(number))])
            await until(lambda number=number: log.handed == 2 + number)  # type: ignore[misc]  # mypy cannot type the default
        await appender.put([end("x")])
        await appender.put([end("y")])
        assert log.batches == []
        for _ in range(IN_FLIGHT + 2):
            log.gate.release()
        await appender.finish([{"type": "RUN_FINISHED"}], Ending(RunStatus.FINISHED))
        appender.stop()
    assert log.batches == [*([end(str(n + 1))] for n in range(IN_FLIGHT)), [end("x"), end("y")], [{"type": "RUN_FINISHED"}]]
    assert [ending is not None for ending in log.endings][-2:] == [False, True]


async def test_the_first_delta_is_waited_for_and_no_later_one() -> None:
    log = SlowWriter()
    appender = Appender(log)
    async with asyncio.TaskGroup() as group, asyncio.timeout(5):
        appender.start(group)
        await appender.put([{"type": "CUSTOM", "name": "x", "value": {}}])
        first = group.create_task(appender.put([text("a", "1")]))
        await until(lambda: log.handed == 4)
        assert not first.done(), "neither what came before it nor itself is written yet"
        log.gate.release()
        await until(lambda: len(log.batches) == 1)
        assert not first.done()
        log.gate.release()
        await first
        await appender.put([text("a", "2")])
        assert len(log.batches) == 2, "the second did not wait"
        log.gate.release()
        appender.stop()
    assert [event.get("delta") for batch in log.batches for event in batch] == [None, "1", "2"]


async def test_a_full_buffer_slows_the_source_and_drops_nothing() -> None:
    log = SlowWriter()
    appender = Appender(log, max_pending=3)
    put = 0
    async with asyncio.TaskGroup() as group, asyncio.timeout(5):
        appender.start(group)

        async def source() -> None:
            nonlocal put
            for index in range(20):
                await appender.put([args(str(index), "x")])
                put += 1
            appender.stop()

        group.create_task(source())
        await until(lambda: log.entered > 0 and log.gate.locked())
        assert put < 20, "the source waits for the log"
        for _ in range(20):
            log.gate.release()
    assert [event["toolCallId"] for batch in log.batches for event in batch] == [str(index) for index in range(20)]


async def test_a_superseded_writer_ends_the_whole_attempt() -> None:
    log = SlowWriter()
    log.error = Superseded()
    appender = Appender(log, max_pending=1)
    log.gate.release()
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group, asyncio.timeout(5):
            appender.start(group)
            await appender.put([text("a", "1")])
            await appender.drain()
    assert caught.group_contains(Superseded)


async def _put_much(appender: Appender) -> None:
    for _ in range(10):
        await appender.put([end("1")])


def _named(coroutine: str) -> list[asyncio.Task[Any]]:
    """The tasks that run this coroutine function, at least one."""
    tasks = [task for task in asyncio.all_tasks() if f"{coroutine}()" in repr(task)]
    assert tasks
    return tasks


WAITS = [
    pytest.param(lambda appender: appender.put([text("a", "1")]), 2, id="the first delta"),
    pytest.param(_put_much, IN_FLIGHT, id="room"),
    pytest.param(lambda appender: appender.drain(), 1, id="everything before"),
    pytest.param(lambda appender: appender.finish([{"type": "RUN_FINISHED"}], Ending(RunStatus.FINISHED)), 1, id="the end"),
]
"""The calls that wait for the writer, and how many batches the log has at that time."""


@pytest.mark.parametrize(("wait", "batches"), WAITS)
@pytest.mark.parametrize("hit", ["Appender._run", "Appender._write"])
async def test_whoever_waits_for_a_writer_that_is_cancelled_is_cancelled(
    wait: Callable[[Appender], Coroutine[Any, Any, None]], batches: int, hit: str
) -> None:
    """A loop that closes cancels the writer and its writes at once, so none of them can wake those that wait."""
    log = SlowWriter()
    appender = Appender(log, max_pending=2)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        appender.start(group)
        await appender.put([end("0")])
        waiting = group.create_task(wait(appender))
        await until(lambda: log.entered == batches)
        assert not waiting.done()
        for task in _named(hit):
            task.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        with pytest.raises(asyncio.CancelledError):
            await appender.put([end("late")])
        appender.stop()


async def test_a_writer_that_is_cancelled_before_its_first_step_leaves_nobody_waiting() -> None:
    appender = Appender(SlowWriter())
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        appender.start(group)
        for task in _named("Appender._run"):
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appender.put([text("a", "1")])


async def test_one_who_takes_the_cancellation_for_a_stop_does_not_wait_for_ever() -> None:
    """A stop comes at the same moment as a superseding writer."""
    log = SlowWriter()
    log.error = Superseded()
    appender = Appender(log)
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            appender.start(group)
            await appender.put([end("1")])
            log.gate.release()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                task = asyncio.current_task()
                assert task is not None
                task.uncancel()
            with pytest.raises(Superseded):
                await appender.put([text("a", "1")])
            with pytest.raises(Superseded):
                await appender.drain()
    assert caught.group_contains(Superseded)
