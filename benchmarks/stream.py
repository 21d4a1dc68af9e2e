"""500 tokens without delays, with the durable log on, beside the SDK's own endpoint: time to the first token, tokens a second, bytes."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import httpx

from benchmarks.figures import Figure, spread
from benchmarks.servers import Turn, middle_core, stock, take

TOKENS = 500
ROUNDS = 5
TURNS = 12


async def run() -> list[Figure]:
    """Measure both servers in turns, with a new thread for each turn."""
    first, rate, size = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        async with middle_core(Path(folder)) as ours, stock() as theirs, httpx.AsyncClient(timeout=60) as http:
            for url in (ours, theirs):
                for _ in range(3):
                    await take(http, f"{url}/copilotkit", "50")
            for round_ in range(ROUNDS):
                got: dict[str, list[Turn]] = {ours: [], theirs: []}
                for url in (ours, theirs) if round_ % 2 else (theirs, ours):
                    got[url] = [await take(http, f"{url}/copilotkit", str(TOKENS)) for _ in range(TURNS)]
                assert all(turn.words == TOKENS for turns in got.values() for turn in turns)
                first.append(_median(got[ours], "first") / _median(got[theirs], "first"))
                rate.append(_median(got[theirs], "whole") / _median(got[ours], "whole"))
                size.append(_median(got[ours], "size") / _median(got[theirs], "size"))
    return [
        Figure("time to the first token, of stock's", spread(first), "<= 0.33", statistics.median(first) <= 0.333),
        Figure("tokens a second, of stock's", spread(rate), ">= 1", statistics.median(rate) >= 1),
        Figure("bytes for the same answer, of stock's", spread(size), "", True),
    ]


def _median(turns: list[Turn], what: str) -> float:
    return float(statistics.median(getattr(turn, what) for turn in turns))
