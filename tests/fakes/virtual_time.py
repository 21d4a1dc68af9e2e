"""An event loop whose clock jumps to the next timer when nothing is left to do: times are exact, and tests do not wait for them."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTime(asyncio.SelectorEventLoop):
    """See the module. Fails where nothing is left that could ever happen."""

    def __init__(self) -> None:
        super().__init__(_Jumping(self))
        self.now = 0.0

    def time(self) -> float:
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualTime) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "nothing is left that could ever happen: a deadlock"
        self._loop.now += max(0.0, timeout)
        return super().select(0)


def in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run it, in no time."""
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        return runner.run(main)
