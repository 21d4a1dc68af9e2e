"""CPU of the server per token at 2,000 tokens a second, beside the SDK's own endpoint. Also: what merging adds to the first token.

Both servers run the same class of model on the same simulator. Ours merges deltas in the model and has the durable log on. The SDK's
endpoint gets the model without merging, one read for each packet, raw events off, and the saver in memory.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from benchmarks.coalesce import simulator
from benchmarks.figures import Figure, spread
from benchmarks.servers import FIRST, headers, middle_core_command, process_of, turn_body
from tests.fakes.ports import free_port

TOKENS = 2000
RATE = 2000.0
ROUNDS = 5
TURNS = 3
FIRST_TOKENS = 40

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """User and system time that the process has used so far, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


async def run() -> list[Figure]:
    """Measure both servers in turns, round by round."""
    share = []
    with tempfile.TemporaryDirectory() as folder:
        async with simulator(TOKENS, RATE) as model_url, httpx.AsyncClient(timeout=60) as http:
            env = {"BENCH_MODEL_URL": model_url}
            async with ours(Path(folder), "merged", env) as merged, ours(Path(folder), "plain", env) as plain, peer(env) as stock:
                for server in (merged, plain, stock):
                    await turn(http, server[0])
                for _ in range(ROUNDS):
                    used = {}
                    for server in (merged, stock):
                        before = cpu_s(server[1])
                        for _ in range(TURNS):
                            await turn(http, server[0])
                        used[server] = (cpu_s(server[1]) - before) / (TURNS * TOKENS)
                    share.append(used[merged] / used[stock])
                later = [1000 * (await first(http, merged[0]) - await first(http, plain[0])) for _ in range(FIRST_TOKENS)]
    added = statistics.median(later)
    return [
        Figure("server CPU per token at 2,000 tokens/s, of stock's", spread(share), "<= 0.2", statistics.median(share) <= 0.2),
        Figure("merging adds to the first token", f"{spread(later, '{:.1f}')} ms", "<= 2 ms", added <= 2),
    ]


@asynccontextmanager
async def ours(folder: Path, which: str, env: dict[str, str]) -> AsyncIterator[tuple[str, int]]:
    """Our server, with the merging or the plain model. Yields its URL and its process id."""
    port = free_port()
    command, settings = middle_core_command(folder / which, port, agent=f"benchmarks.cerebras_graph:{which}")
    async with process_of(command, f"http://127.0.0.1:{port}/readyz", {**settings, **env}) as (url, pid):
        yield url, pid


@asynccontextmanager
async def peer(env: dict[str, str]) -> AsyncIterator[tuple[str, int]]:
    """The SDK's endpoint with the same class of model."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.stock", str(port), "benchmarks.cerebras_graph:stock"]
    async with process_of(command, f"http://127.0.0.1:{port}/readyz", env) as (url, pid):
        yield url, pid


async def turn(http: httpx.AsyncClient, url: str) -> None:
    """One whole answer."""
    seen = bytearray()
    async with http.stream("POST", f"{url}/copilotkit", json=turn_body("Tell me everything."), headers=headers()) as response:
        response.raise_for_status()
        async for chunk in response.aiter_raw():
            seen += chunk
    assert b'"RUN_FINISHED"' in seen, seen[-500:]


async def first(http: httpx.AsyncClient, url: str) -> float:
    """Seconds to the first token. Then the run is stopped."""
    body = turn_body("Tell me everything.")
    started = time.perf_counter()
    took = 0.0
    seen = bytearray()
    async with http.stream("POST", f"{url}/copilotkit", json=body, headers=headers()) as response:
        async for chunk in response.aiter_raw():
            seen += chunk
            if FIRST in seen:
                took = time.perf_counter() - started
                break
    await http.post(f"{url}/copilotkit/stop", json={"threadId": body["threadId"]}, headers=headers())
    return took
