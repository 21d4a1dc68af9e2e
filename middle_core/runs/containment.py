"""A run's code may end its run, never the process, and it may not outstay its run.

asyncio lets `SystemExit` and `KeyboardInterrupt` of any task out of the event loop, and with it every other run: a tool that
calls argparse is enough. In the tasks of a run they become an ordinary failure. Knows no graph and no log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Final

from middle_core.node_api.context import in_run

logger = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
"""How long a graph that is being stopped may take to clean up. One that swallows its cancellation would keep its thread for ever."""

TaskFactory = Callable[..., asyncio.Future[Any]]


class AgentLeft(RuntimeError):
    """The agent's code raised what is meant to end a process."""


class ContainedCoroutine(Coroutine[Any, Any, Any]):
    """A coroutine that raises AgentLeft where the one inside raises neither an Exception nor a cancellation.

    Not an `async def` around it: one that is cancelled before its first step would leave the inner one never awaited.
    """

    __slots__ = ("_inner",)

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner

    def send(self, value: Any) -> Any:
        """See `Coroutine`."""
        try:
            return self._inner.send(value)
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            raise AgentLeft(f"the agent's code raised {type(error).__name__}") from error

    def throw(self, typ: Any, val: Any = None, tb: Any = None) -> Any:
        """See `Coroutine`."""
        try:
            return self._inner.throw(typ) if val is None and tb is None else self._inner.throw(typ, val, tb)
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            raise AgentLeft(f"the agent's code raised {type(error).__name__}") from error

    def close(self) -> None:
        """See `Coroutine`."""
        self._inner.close()

    def __repr__(self) -> str:
        return f"ContainedCoroutine({self._inner!r})"

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._inner.__await__())


def containing_task_factory(before: TaskFactory | None) -> TaskFactory:
    """A task factory for the loop that contains the tasks of runs and leaves all others to the factory before it."""

    def factory(
        loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], *, context: Context | None = None, **more: Any
    ) -> asyncio.Future[Any]:
        where = copy_context() if context is None else context
        inside = ContainedCoroutine(coro) if in_run(where) else coro
        if before is not None:
            return before(loop, inside, context=where, **more)
        return asyncio.Task(inside, loop=loop, context=where, **more)

    return factory


async def cancel_and_wait(task: asyncio.Task[None]) -> None:
    """Cancel a graph's task and wait until it is done, for PATIENCE_S. What it still does after that is fenced by the run's claim.

    What it raises from now on is nobody's news.
    """
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE_S)
    if not task.done():
        logger.warning("an agent ignores its cancellation and is left behind: %s", task.get_name())
