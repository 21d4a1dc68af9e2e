"""The time from the request of the stop button, over HTTP, until the model's stream is closed."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.figures import Figure, quantile
from benchmarks.graph import CLOSED_FILE
from benchmarks.servers import FIRST, headers, middle_core, turn_body

STOPS = 200
GOAL_S = 0.1


async def run() -> list[Figure]:
    """One stop after the other, each in the middle of a stream of 200 tokens a second."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        closed_file = Path(folder) / "closed"
        closed_file.touch()
        async with (
            middle_core(Path(folder) / "data", env={CLOSED_FILE: str(closed_file)}) as url,
            httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None)) as http,
        ):
            took += [await _stop(http, url, f"stop{number}", closed_file) for number in range(STOPS)]
    p50, p99 = quantile(took, 0.5) * 1000, quantile(took, 0.99) * 1000
    return [
        Figure(
            "stop to the model's closed stream",
            f"p50 {p50:.1f} ms, p99 {p99:.1f} ms ({STOPS} stops)",
            "p99 <= 100 ms",
            p99 <= GOAL_S * 1000,
        )
    ]


async def _stop(http: httpx.AsyncClient, url: str, thread: str, closed_file: Path) -> float:
    before = closed_file.read_text(encoding="utf-8").count("\n")
    async with http.stream("POST", f"{url}/copilotkit", json=turn_body("4000@200", thread), headers=headers()) as response:
        seen = bytearray()
        chunks = response.aiter_raw()
        while FIRST not in seen:
            seen += await anext(chunks)
        clicked = time.monotonic()
        answer = await http.post(f"{url}/copilotkit/stop", json={"threadId": thread}, headers=headers())
        assert answer.json() == {"stopped": True}
        async for _ in chunks:
            continue
    async with asyncio.timeout(10):
        while True:
            lines = closed_file.read_text(encoding="utf-8").splitlines()
            if len(lines) > before:
                return float(lines[before]) - clicked
            await asyncio.sleep(0.005)
