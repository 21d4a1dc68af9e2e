"""Which nodes of the graph are at work: steps and timings from the true starts and ends of tasks.

Told of each start and end by the source; makes STEP_* and our node events. A node that failed, stopped at
an interrupt or was cancelled has an end of its own, with that outcome. Pure but for the clock it is given.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

from middle_core.events import Custom, Event, EventType, custom

NodeOutcome = Literal["ok", "error", "interrupted", "cancelled"]


@dataclass(slots=True)
class _Node:
    step: str
    value: dict[str, Any]
    began: float


class Nodes:
    """The open nodes of one run, by the key under which they were started.

    wall, clock: seconds; the first is shown to people, the second measures.
    """

    def __init__(self, *, wall: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._clock = clock
        self._open: dict[Hashable, _Node] = {}
        self._names: Counter[str] = Counter()

    def started(self, key: Hashable, namespace: str) -> list[Event]:
        """A task begins. namespace: LangGraph's, "outer:<task id>|inner:<task id>"; the last one is the task's own."""
        # A numbered segment stands between where a task runs several subgraphs; it names no node.
        segments = [one.partition(":") for one in namespace.split("|") if ":" in one]
        path = [name for name, _, _ in segments]
        name = ":".join(path)
        self._names[name] += 1
        # The browser's client refuses a step name that is open already, and a loop runs a node many times.
        step = name if self._names[name] == 1 else f"{name} #{self._names[name]}"
        value = {"node": path[-1], "path": path, "taskId": segments[-1][2], "startedAt": round(self._wall() * 1000)}
        self._open[key] = _Node(step, value, self._clock())
        return [{"type": EventType.STEP_STARTED.value, "stepName": step}, custom(Custom.NODE_STARTED, **value)]

    def ended(self, key: Hashable, outcome: NodeOutcome) -> list[Event]:
        """A task ended. Nothing comes of a key that is not open."""
        node = self._open.pop(key, None)
        if node is None:
            return []
        latency = round((self._clock() - node.began) * 1000)
        return [
            custom(Custom.NODE_COMPLETED, **node.value, latencyMs=latency, outcome=outcome),
            {"type": EventType.STEP_FINISHED.value, "stepName": node.step},
        ]

    def close(self, outcome: NodeOutcome) -> list[Event]:
        """End every node that is still open, the innermost first."""
        return [event for key in reversed(list(self._open)) for event in self.ended(key, outcome)]
