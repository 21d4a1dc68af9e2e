"""What a client that opens a thread is given: a legal stream made of a snapshot and a run's records. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from middle_core.eventlog.records import Run
from middle_core.events import Custom, Event, EventType, custom


@dataclass(frozen=True, slots=True)
class Connection:
    """A legal stream for a client that opens a thread: `before`, then the run's records beyond `after`, or `end`.

    `before` and `end` are synthetic: they have no cursor and are not stored.
    """

    run: Run | None
    after: int
    before: Sequence[Event]
    end: Sequence[Event]


def snapshot(
    thread_id: str,
    run_id: str,
    messages: Sequence[Event],
    *,
    state: Event | None = None,
    last: Run | None = None,
    topology: Event | None = None,
) -> list[Event]:
    """The beginning: the run's start, the graph, the state, the messages.

    last: the run that left the thread like this. Its clients' `runId` does not name it: an answer reuses the question's.
    topology: where no run's records follow, which have it; so that a page can draw the graph of a thread that is idle.
    """
    events: list[Event] = [{"type": EventType.RUN_STARTED.value, "threadId": thread_id, "runId": run_id}]
    if last is not None:
        events.append(custom(Custom.RUN, runId=last.run_id, threadId=thread_id, agent=last.agent, attempt=last.attempt))
    if topology is not None:
        events.append(custom(Custom.TOPOLOGY, **topology))
    if state:
        events.append({"type": EventType.STATE_SNAPSHOT.value, "snapshot": state})
    events.append({"type": EventType.MESSAGES_SNAPSHOT.value, "messages": list(messages)})
    return events


def plain_end(thread_id: str, run_id: str | None = None, interrupts: Sequence[Event] = ()) -> list[Event]:
    """The end of a thread on which nothing runs, with what it asks."""
    end: Event = {"type": EventType.RUN_FINISHED.value, "threadId": thread_id, "runId": run_id or f"connect-{thread_id}"}
    if interrupts:
        end["outcome"] = {"type": "interrupt", "interrupts": list(interrupts)}
    return [end]
