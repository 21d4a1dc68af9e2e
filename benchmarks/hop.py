"""What the hop through Next.js adds to the first token, and whether it buffers. Needs the built page."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.figures import Figure, spread
from benchmarks.servers import FIRST, headers, middle_core, process, turn_body
from middle_core.demo.page import page_command, page_env
from tests.fakes.ports import free_port
from tests.fakes.process import ROOT

ROUNDS = 5
TURNS = 20
GOAL_MS = 15.0
PACED = "40@20"


async def run() -> list[Figure]:
    """Measure in turns: directly at middle-core, and through Next."""
    try:
        command = page_command(ROOT)
    except FileNotFoundError as error:
        raise SystemExit(str(error)) from None
    added = []
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        async with (
            middle_core(Path(folder)) as ours,
            process(command, f"http://127.0.0.1:{port}/api/health", page_env(port=port, middle_core=ours)),
            httpx.AsyncClient(timeout=60) as http,
        ):
            direct, proxied = f"{ours}/copilotkit", f"http://127.0.0.1:{port}/api/copilotkit/agent/default/run"
            for url in (direct, proxied) * 3:
                await _first(http, url)
            for _ in range(ROUNDS):
                pairs = [(await _first(http, direct), await _first(http, proxied)) for _ in range(TURNS)]
                added.append(1000 * (statistics.median(pair[1] for pair in pairs) - statistics.median(pair[0] for pair in pairs)))
            arrivals = await _arrivals(http, proxied)
    gap = max(later - earlier for earlier, later in itertools.pairwise(arrivals))
    return [
        Figure("the Next.js hop adds to the first token", f"{spread(added, '{:.1f}')} ms", "<= 15 ms", statistics.median(added) <= GOAL_MS),
        Figure(
            "through it, 40 tokens at 20 a second",
            f"{len(arrivals)} arrivals, longest gap {gap * 1000:.0f} ms",
            "one by one",
            len(arrivals) >= 38,
        ),
    ]


async def _first(http: httpx.AsyncClient, url: str) -> float:
    started = time.perf_counter()
    seen = bytearray()
    async with http.stream("POST", url, json=turn_body("5"), headers=headers()) as response:
        response.raise_for_status()
        async for chunk in response.aiter_raw():
            seen += chunk
            if FIRST in seen:
                return time.perf_counter() - started
    raise AssertionError(f"no token came: {bytes(seen[-300:])!r}")


async def _arrivals(http: httpx.AsyncClient, url: str) -> list[float]:
    """The time at which each chunk with a token came."""
    async with http.stream("POST", url, json=turn_body(PACED), headers={**headers(), "accept-encoding": "gzip, br"}) as response:
        return [time.perf_counter() async for chunk in response.aiter_bytes() if FIRST in chunk]
