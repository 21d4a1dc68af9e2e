"""The time from `append` until an event is durable, and until a follower has it: `python -m benchmarks.eventlog`.

Each run appends one event at a time at its rate (0: the next one when the last is acknowledged), while a follower reads. `busy`
blocks the event loop for that many milliseconds at a time, as the translation of tokens does.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import uuid_utils

from middle_core.eventlog.follow import follow
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Ending, NewRun, RunStatus, Started
from middle_core.events import ClientRunId, ClientThreadId, Owner, RunId
from middle_core.stores.urls import open_store

SECONDS = 2.0


@dataclass
class Times:
    """Seconds from the making of each event."""

    durable: list[float] = field(default_factory=list)
    followed: list[float] = field(default_factory=list)


async def begin(log: EventLog, name: int) -> Started:
    """A run on a thread of its own."""
    thread = await log.open_thread(Owner("bench"), ClientThreadId(str(name)), "agent")
    run_id = RunId(str(uuid_utils.uuid7()))
    new = NewRun(run_id, thread.thread_id, ClientRunId("r"), "agent", "digest", None, None, False, "replica", 15.0)
    started = await log.create_run(new, [{"type": "RUN_STARTED"}])
    assert isinstance(started, Started)
    return started


async def write(log: EventLog, run: Started, rate: float, times: Times) -> None:
    """Append until the time is over."""
    began, count = time.perf_counter(), 0
    while (made := time.perf_counter()) - began < SECONDS:
        await log.append(run.claim, [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "word ", "made": made}])
        times.durable.append(time.perf_counter() - made)
        count += 1
        if rate:
            await asyncio.sleep(max(0.0, began + count / rate - time.perf_counter()))
    await log.append(run.claim, [{"type": "RUN_FINISHED"}], ending=Ending(RunStatus.FINISHED))


async def read(log: EventLog, run: Started, times: Times) -> None:
    """Follow the run to its end."""
    async for batch in follow(log, run.run.run_id, after=1, tick=lambda: 10):
        now = time.perf_counter()
        times.followed += [now - record.event["made"] for record in batch if not record.terminal]


async def block(milliseconds: float) -> None:
    """Keep the loop busy."""
    began = time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        until = time.perf_counter() + milliseconds / 1000
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0.001)


async def measure(runs: int, rate: float, busy: float) -> str:
    """One line of the table."""
    times = Times()
    with TemporaryDirectory() as home:
        async with open_store(f"sqlite:///{Path(home) / 'log.db'}") as store:
            log = store.log
            started = [await begin(log, name) for name in range(runs)]
            cpu, began = time.process_time(), time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for run in started:
                    group.create_task(write(log, run, rate, times))
                    group.create_task(read(log, run, times))
                if busy:
                    group.create_task(block(busy))
            took = time.perf_counter() - began
            load = (time.process_time() - cpu) / took
    cells = [
        f"{runs}",
        f"{rate:g}",
        f"{busy:g}",
        f"{len(times.durable) / took:.0f}",
        percentiles(times.durable),
        percentiles(times.followed),
    ]
    return " | ".join([*cells, f"{load:.0%}"])


def percentiles(values: list[float]) -> str:
    """p50 / p99 in milliseconds."""
    ordered = sorted(values)
    return f"{1000 * ordered[len(ordered) // 2]:.1f} / {1000 * ordered[int(len(ordered) * 0.99)]:.1f}"


def main() -> None:
    """Print the table."""
    print("runs | events/s each | busy ms | events/s | durable p50 / p99 ms | followed p50 / p99 ms | CPU")
    for runs, rate, busy in [(1, 0.0, 0.0), (10, 50.0, 0.0), (100, 50.0, 0.0), (100, 0.0, 0.0), (20, 50.0, 10.0)]:
        print(asyncio.run(measure(runs, rate, busy)))


if __name__ == "__main__":
    main()
