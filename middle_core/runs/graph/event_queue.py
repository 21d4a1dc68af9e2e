"""Events on their way from a running graph's callbacks to the engine, which logs them.

Callbacks come from the loop's thread and from the threads of sync nodes. No event is held back or lost, and the number of waiting events
has a bound. Knows the shape of deltas, and nothing of graphs or logs.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from middle_core.agui.deltas import DELTAS, joins
from middle_core.errors import MiddleCoreError
from middle_core.events import Event

FULL: Final = 1_000
"""Waiting events at which async node code waits for the log. Deltas join while they wait, so tokens hardly get there."""
MAX_WAITING: Final = 50_000
"""Waiting events at which the run fails: only code in threads, which cannot be made to wait, gets beyond FULL."""
TURN_S: Final = 0.0005
"""Seconds after which a model that never waits for its socket gives others a turn. Without it the reader runs only when the model is done."""


class EventQueue:
    """Events from the graph's callbacks to the engine.

    Deltas of one message or call that wait next to each other become one (`agui.deltas`), so that a slow log does not make the queue grow
    with each token. FULL and MAX_WAITING bound it.

    Behind the first delta the model's coroutine waits until the reader has come back for more. A model that never waits for its socket
    holds the interpreter, which the log's thread needs: without this wait its first token reached the client together with its fiftieth.
    """

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._lock = threading.Lock()  # a delta must not join an event that is being taken
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._has_delta = False
        self._first_delta_taken = asyncio.Event()
        self._turn = 0.0
        self._closed = False

    @property
    def in_loop_thread(self) -> bool:
        """Whether the caller runs in the thread of the run's event loop."""
        return threading.get_ident() == self._thread

    async def wait_for_reader(self) -> None:
        """Call it after a put from a coroutine. It gives the reader a turn, and waits behind the first delta and while the queue is full."""
        # A sync model call inside an async node runs callbacks in a loop of its own while it blocks ours.
        if asyncio.get_running_loop() is not self._loop:
            return
        if self._has_delta:
            await self._first_delta_taken.wait()
        if not self._events:
            return
        now = self._loop.time()
        if now - self._turn >= TURN_S:
            self._turn = now
            await asyncio.sleep(0)
        while len(self._events) >= FULL and not self._closed:
            self._taken.clear()
            await self._taken.wait()

    def put(self, events: Iterable[Event]) -> None:
        """From any thread. What comes after the end, from a thread that outlives its run, is dropped."""
        if self._closed:
            return
        waiting = self._events
        with self._lock:
            before = len(waiting)
            for event in events:
                self._has_delta = self._has_delta or event["type"] in DELTAS
                if waiting and joins(waiting[-1], event):
                    waiting[-1]["delta"] += event["delta"]
                else:
                    waiting.append(event)
        if len(waiting) > MAX_WAITING:
            raise MiddleCoreError("The agent emits events faster than they can be written down.")
        if len(waiting) > before == 0:
            self._wake()

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._first_delta_taken.set()
        self._taken.set()
        self._wake()

    def _wake(self) -> None:
        if self.in_loop_thread:
            self._arrived.set()
        else:
            self._loop.call_soon_threadsafe(self._arrived.set)

    def take(self) -> Iterator[Event]:
        """What waits now."""
        while self._events:
            with self._lock:
                event = self._events.popleft()
            self._taken.set()
            yield event

    async def arrived(self) -> bool:
        """Wait for more. False once it is closed and empty."""
        while not self._events:
            if self._closed:
                return False
            if self._has_delta:
                self._first_delta_taken.set()
            self._arrived.clear()
            await self._arrived.wait()
        return True
