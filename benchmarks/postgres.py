"""What a replica and a Postgres carry: `python -m benchmarks.postgres`. The figures of docs/scaling.md.

A server of its own, with its disk waited for, on this machine. The reader is another process, as another replica is. The writer, the
reader and the server share the machine's cores, so times are those of a full machine.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from contextlib import AsyncExitStack

import psycopg
import uuid_utils

from middle_core.eventlog.follow import follow
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Ending, NewRun, RunStatus, Started
from middle_core.events import ClientRunId, ClientThreadId, Owner, RunId
from middle_core.stores.urls import open_store
from tests.fakes.postgres import in_a_thread, running_postgres

SECONDS = 5.0
RUNS = 50
STOPS = 100
IDLE = 500


async def begin(log: EventLog, name: str) -> Started:
    """A run on a thread of its own."""
    thread = await log.open_thread(Owner("bench"), ClientThreadId(name), "agent")
    run_id = RunId(str(uuid_utils.uuid7()))
    new = NewRun(run_id, thread.thread_id, ClientRunId("r"), "agent", "digest", None, None, False, "replica", 60.0)
    started = await log.create_run(new, [{"type": "RUN_STARTED"}])
    assert isinstance(started, Started)
    return started


def spread(times: list[float]) -> str:
    """Milliseconds."""
    ordered = sorted(times)
    p50, p95, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 for part in (0.5, 0.95, 0.99))
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms"


async def read(url: str, run_ids: list[RunId]) -> None:
    """The other process: follows the runs, and prints the seconds from each event's making to its arrival."""
    times: list[float] = []
    async with open_store(url) as store, asyncio.TaskGroup() as group:

        async def one(run_id: RunId) -> None:
            async for batch in follow(store.log, run_id, after=0, tick=lambda: 5.0):
                now = time.time()
                times.extend(now - made for record in batch if (made := json.loads(record.data).get("made")))

        for run_id in run_ids:
            group.create_task(one(run_id))
        print("ready", flush=True)
    print(json.dumps(times))


async def appends(url: str, rate: float) -> None:
    """Append at a rate, in all runs together, with a reader in another process."""
    async with open_store(url) as store:
        runs = [await begin(store.log, f"{rate} {number}") for number in range(RUNS)]
        reader = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.postgres",
            url,
            *(one.run.run_id for one in runs),
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )
        assert reader.stdout is not None
        assert (await reader.stdout.readline()).strip() == b"ready"
        durable: list[float] = []

        async def write(started: Started) -> None:
            writer = store.log.writer(started.claim)
            loop = asyncio.get_running_loop()
            end = loop.time() + SECONDS
            await asyncio.sleep(random.uniform(0, RUNS / rate))  # runs are not in step
            due = loop.time()
            while due < end:
                made = time.time()
                await writer.append([{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "word ", "made": made}])
                durable.append(time.time() - made)
                due += RUNS / rate
                await asyncio.sleep(max(0.0, due - loop.time()))
            await writer.append([{"type": "RUN_FINISHED"}], ending=Ending(RunStatus.FINISHED))

        began, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as group:
            for one in runs:
                group.create_task(write(one))
        took, used = time.perf_counter() - began, time.process_time() - cpu
        seen: list[float] = json.loads(await reader.stdout.readline())
        await reader.wait()
    print(
        f"{rate:.0f} events/s offered in {RUNS} runs: {len(durable) / took:.0f}/s appended, {used / len(durable) * 1e6:.0f} us of CPU each"
    )
    print(f"  committed: {spread(durable)}\n  at a reader in another process: {spread(seen)}")


async def stops(url: str) -> None:
    """From the request at one replica to the other one's being told."""
    times: list[float] = []
    async with open_store(url) as here, open_store(url) as there:
        for number in range(STOPS):
            started = await begin(here.log, f"stop {number}")
            told: asyncio.Future[RunId] = asyncio.get_running_loop().create_future()
            here.replicas.on_stop(told.set_result)
            asked = time.perf_counter()
            await there.log.request_cancel(started.run.run_id, "stop")
            await told
            times.append(time.perf_counter() - asked)
    print(f"stop at another replica, to the owner's being told: {spread(times)}")


async def idle(url: str) -> None:
    """Connections of a replica with many streams that wait."""
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(open_store(url)) for _ in range(2)]
        started = await begin(here.log, "idle")
        loop = asyncio.get_running_loop()
        waiting = [loop.create_task(there.log.changed(started.run.run_id, after=1, within_s=30)) for _ in range(IDLE)]
        await asyncio.sleep(3)
        async with await psycopg.AsyncConnection.connect(url) as db:
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            [(count,)] = await (await db.execute(query)).fetchall()
        await here.log.append(started.claim, [{"type": "RUN_FINISHED"}], ending=Ending(RunStatus.FINISHED))
        await asyncio.gather(*waiting)
    print(f"{IDLE} idle streams at one of two replicas: {count} connections of both together")


def size(url: str) -> None:
    """Bytes of an event in its table and index."""
    with psycopg.connect(url) as db:
        [(count, total)] = db.execute(
            "SELECT (SELECT count(*) FROM run_events), (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'run_events'::regclass)"
        ).fetchall()
    print(f"{count} events of about 100 bytes: {total / count:.0f} bytes each, with their index")


def main() -> None:
    """All of it, or the reader of it."""
    if len(sys.argv) > 1:
        asyncio.run(read(sys.argv[1], [RunId(one) for one in sys.argv[2:]]))
        return
    with running_postgres(to_disk=True) as server:
        url = server.database("bench")
        for rate in (500.0, 1_000.0, 2_500.0, 5_000.0):
            in_a_thread(appends(url, rate))
        size(url)
        in_a_thread(stops(url))
        in_a_thread(idle(url))


if __name__ == "__main__":
    main()
