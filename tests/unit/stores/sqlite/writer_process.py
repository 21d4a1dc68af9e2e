"""A program that appends as fast as it can and prints what was acknowledged; a test kills it."""

from __future__ import annotations

import asyncio
import sys

from middle_core.events import RunId
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import start, text


def acknowledge(run_id: RunId, seq: int) -> None:
    """Tell the test, at once."""
    sys.stdout.write(f"{run_id} {seq}\n")
    sys.stdout.flush()


async def main(url: str) -> None:
    """Four runs, in batches of one to three events, without end. One line per acknowledgement: run_id seq."""
    async with open_store(url) as store, asyncio.TaskGroup() as group:

        async def write() -> None:
            started = await start(store.log)
            acknowledge(started.run.run_id, 1)
            for n in range(1_000_000):
                records = await store.log.append(started.claim, [text(str(n))] * (1 + n % 3))
                acknowledge(started.run.run_id, records[-1].seq)

        for _ in range(4):
            group.create_task(write())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
