"""One line in the server's log for each attempt of a run: which agent and model, how long, how many tokens, and how it ended.

Knows no log of events and no client. It holds no text of a conversation.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any, Final

from middle_core.agui.endings import End, Failed
from middle_core.eventlog.records import Ending, Run
from middle_core.events import Custom, Event, EventType
from middle_core.runs.graph.graph_run import GraphRun

logger = logging.getLogger(__name__)

_FIRST: Final = frozenset(
    {EventType.TEXT_MESSAGE_CONTENT.value, EventType.REASONING_MESSAGE_CONTENT.value, EventType.TOOL_CALL_START.value}
)
"""The events of which a person sees the first as the beginning of the answer."""


@dataclass(slots=True)
class RunReport:
    """What one attempt did, collected while it goes."""

    run: Run
    attempt: int
    graph_runs: list[GraphRun] = field(default_factory=list)
    """The attempt's runs of its graph; each counts its tokens."""
    _began: float = field(default_factory=time.monotonic)
    _first: float | None = None
    _cut_off: str = ""

    def saw(self, event: Event) -> None:
        """One event of the agent's, on its way to the gate."""
        if self._first is None and event["type"] in _FIRST:
            self._first = time.monotonic()
        elif event["type"] == EventType.CUSTOM.value and event["name"] == Custom.CUT_OFF:
            self._cut_off = event["value"]["reason"]

    def log(self, end: End, ending: Ending) -> None:
        """Write the line. Times are in milliseconds; first_token_ms is absent where nothing was shown."""
        usage = [entry for one in self.graph_runs for entry in one.usage]
        facts: dict[str, Any] = {
            "run_id": self.run.run_id,
            "agent": self.run.agent,
            "outcome": ending.status.value,
            "ms": round((time.monotonic() - self._began) * 1000),
            "first_token_ms": None if self._first is None else round((self._first - self._began) * 1000),
            "model": ", ".join(dict.fromkeys(str(entry["model"]) for entry in usage if entry.get("model"))),
            "input_tokens": sum(entry.get("inputTokens", 0) for entry in usage),
            "output_tokens": sum(entry.get("outputTokens", 0) for entry in usage),
            "code": end.code if isinstance(end, Failed) else None,
            "correlation_id": end.correlation_id if isinstance(end, Failed) else None,
            "cut_off": self._cut_off,
            "attempt": self.attempt if self.attempt > 1 else None,
        }
        logger.info("run ended", extra={name: value for name, value in facts.items() if value not in (None, "")})
