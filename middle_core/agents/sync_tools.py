"""Where synchronous tools run: threads of their own, bounded, so that one that blocks stalls nobody else.

Not asyncio's default executor: a few hung tools would fill it (6 threads on 2 cores) and stop everything
that uses it, and its threads hold up the exit of the process. These are daemon threads. A thread cannot be
cancelled: the caller lets go of it at once, its late result is dropped, and the tool can look at
`stop_requested()` to end early. Knows nothing of tools or graphs.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Final, TypeVar

from middle_core.errors import ErrorCode, MiddleCoreError

logger = logging.getLogger(__name__)

MAX_THREADS: Final = 32
MAX_WAIT_S: Final = 30.0

T = TypeVar("T")

_STOP: ContextVar[threading.Event | None] = ContextVar("middle_core_tool_stop", default=None)


class ToolsBusy(MiddleCoreError):
    """Too many tools are running right now. Try again in a moment."""

    code = ErrorCode.RATE_LIMITED
    status = 503
    title = "Tools are busy"


def stop_requested() -> bool:
    """For the code of a synchronous tool: whether the run was stopped, so that the rest of the work is in vain."""
    stop = _STOP.get()
    return stop is not None and stop.is_set()


class SyncToolPool:
    """At most `limit` threads at once, in order of arrival; who waits longer than `wait_s` seconds gets `ToolsBusy`.

    A slot is free again when the thread ends, not when its caller is cancelled: hung tools cannot pile up.
    """

    def __init__(self, limit: int = MAX_THREADS, wait_s: float = MAX_WAIT_S) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._wait_s = wait_s

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, called in a thread with a copy of the caller's context."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._slots.acquire()
        except TimeoutError as error:
            raise ToolsBusy from error
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Callable[[], T]] = loop.create_future()
        stop = threading.Event()
        context = copy_context()
        context.run(_STOP.set, stop)

        def settle(result: Callable[[], T]) -> None:
            self._slots.release()
            if not outcome.done():  # done: the caller was cancelled, the late result is dropped
                outcome.set_result(result)

        def body() -> None:
            result = _caught(lambda: context.run(work))
            try:
                loop.call_soon_threadsafe(settle, result)
            except RuntimeError:  # the loop is closed: the process is on its way out, nobody waits for this
                logger.info("A synchronous tool ended after its event loop.")

        try:
            threading.Thread(target=body, name="middle-core-tool", daemon=True).start()
        except BaseException:
            self._slots.release()
            raise
        try:
            return (await outcome)()
        finally:
            stop.set()


def _caught(work: Callable[[], T]) -> Callable[[], T]:
    """Run the work now; the result is a function that returns or raises what came of it."""
    try:
        value = work()
    except BaseException as error:  # noqa: BLE001 - it is raised again, in the caller's task
        failure = error

        def throw() -> T:
            raise failure

        return throw
    return lambda: value
