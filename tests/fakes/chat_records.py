"""Records of a run, made by hand as the engine writes them, for tests of projections without a log.

`Log` numbers them from 1; each is 10 ms after the one before. The helpers make the events that a run of a graph consists of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from middle_core.events import OUTCOME, Custom, Event, Record, RunId, custom

RUN = RunId("01900000-0000-7000-8000-000000000001")
START = 1_800_000_000_000


class Log:
    """One run's records; `add` appends events. `records` is what a follower reads."""

    def __init__(self, *events: Event, run_id: str = RUN) -> None:
        self.run_id = RunId(run_id)
        self.records: list[Record] = []
        self.add(*events)

    def add(self, *events: Event) -> Log:
        for event in events:
            at = START + 10 * len(self.records)
            self.records.append(Record(self.run_id, len(self.records) + 1, 1, at, event["type"], orjson.dumps(event)))
        return self


def begin(*, parent: str | None = None, agent: str = "copilot") -> list[Event]:
    """RUN_STARTED and our ids. parent: of a turn that answers something."""
    started = {"type": "RUN_STARTED", "threadId": "t1", "runId": "client-1", **({"parentRunId": parent} if parent else {})}
    return [started, custom(Custom.RUN, runId=RUN, threadId="t1", agent=agent, attempt=1)]


def took(*message_ids: str) -> Event:
    """CUSTOM `middle_core.turn`."""
    return custom(Custom.TURN, messages=[{"id": one, "role": "user", "content": "?"} for one in message_ids])


def drawing(*edges: str) -> Event:
    """A topology from "a>b" (always) and "a?b" (conditional); `^` and `$` are the ends. Subgraphs by ids with ":"."""
    names: dict[str, None] = {}
    drawn = []
    for edge in edges:
        source, target = (_END.get(one, one) for one in edge.replace("?", ">").split(">"))
        drawn.append({"source": source, "target": target, "conditional": "?" in edge})
        for name in (source, target):
            parts = name.split(":")
            names.update(dict.fromkeys(":".join(parts[:depth]) for depth in range(1, len(parts) + 1)))
    nodes = [
        {"id": one, "name": one.rpartition(":")[2], **({"parent": one.rpartition(":")[0]} if ":" in one else {})}
        for one in sorted(names, key=lambda one: (one == "__end__", one != "__start__"))
    ]
    return custom(Custom.TOPOLOGY, nodes=nodes, edges=drawn)


_END = {"^": "__start__", "$": "__end__"}


def started(path: str, task: str = "") -> Event:
    value = {"node": path.rpartition(":")[2], "path": path.split(":"), "taskId": task or f"task-{path}", "startedAt": START}
    return custom(Custom.NODE_STARTED, **value)


def ended(path: str, outcome: str = "ok", *, ms: int = 5, task: str = "") -> Event:
    value = {"node": path.rpartition(":")[2], "path": path.split(":"), "taskId": task or f"task-{path}", "startedAt": START}
    return custom(Custom.NODE_COMPLETED, **value, latencyMs=ms, outcome=outcome)


def visit(path: str, *inside: Event, outcome: str = "ok") -> list[Event]:
    """A node from its start to its end."""
    return [started(path), *inside, ended(path, outcome)]


def said(message_id: str, *deltas: str, role: str = "assistant") -> list[Event]:
    """A whole streamed message."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": role},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": one} for one in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    ]


def called(call_id: str, name: str, *arguments: str, parent: str | None = None) -> list[Event]:
    """A whole streamed call."""
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, **({"parentMessageId": parent} if parent else {})},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": one} for one in arguments),
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


DONE: Event = {"outcome": "done", "code": None, "message": ""}


def result(call_id: str, content: Any, outcome: Event = DONE) -> Event:
    """outcome: what became of the call."""
    text = content if isinstance(content, str) else orjson.dumps(content).decode()
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"{call_id}-result",
        "toolCallId": call_id,
        "content": text,
        "role": "tool",
        "metadata": {OUTCOME: outcome},
    }


def finished(*interrupts: Mapping[str, Any], usage: Sequence[Mapping[str, Any]] = ()) -> Event:
    outcome = {"outcome": {"type": "interrupt", "interrupts": list(interrupts)}} if interrupts else {}
    return {"type": "RUN_FINISHED", "threadId": "t1", "runId": "client-1", **outcome, **({"usage": list(usage)} if usage else {})}


def cancelled(reason: str = "stopped by the user") -> list[Event]:
    return [custom(Custom.RUN_CANCELLED, by="user", reason=reason), {**finished(), "outcome": {"type": "cancelled"}}]


def failed(code: str = "internal", **more: Any) -> Event:
    return {"type": "RUN_ERROR", "message": "It went wrong.", "code": code, "correlationId": "c0ffee", **more}


def resolved(interrupt_id: str, status: str, *, asked: int = START, answered: int | None = None, by: str | None = RUN) -> Event:
    """CUSTOM `middle_core.interrupt_resolved`. by: the run that brought the answer."""
    value = {"interruptId": interrupt_id, "toolCallId": "", "status": status, "message": "."}
    return custom(Custom.INTERRUPT_RESOLVED, **value, askedAt=asked, answeredAt=answered, answerRunId=by)


def flat(*parts: Event | Iterable[Event]) -> list[Event]:
    """Events and lists of them as one list."""
    return [event for part in parts for event in ([part] if isinstance(part, dict) else part)]
