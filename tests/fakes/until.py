"""Wait for a condition, with a bound: what tests use where others sleep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

STEP_S = 0.002


async def until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    """Return once the condition holds. Fails after `within_s` seconds."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - the one bounded poll, for what has no event to wait for
            await asyncio.sleep(STEP_S)
