"""Wait for a condition, with a bound. Tests use this instead of sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

STEP_S = 0.002
ASK_S = 0.02
"""Seconds between two questions to another process, because each question costs that process time."""


async def until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    """Return once the condition holds. Fails after `within_s` seconds."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - a bounded poll, for what has no event to wait for
            await asyncio.sleep(STEP_S)


async def until_asked(condition: Callable[[], Awaitable[bool]], within_s: float = 10.0) -> None:
    """Return once another process answers so. Fails after `within_s` seconds, or with what the condition raises."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - as above, of another process
            await asyncio.sleep(ASK_S)
