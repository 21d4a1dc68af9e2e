"""What a client that opens a thread is given: a legal stream that begins with a snapshot of the thread.

On an idle thread the stream ends with what the thread asks. On a busy one the records of the active run follow. These events are
made for the one client: they have no cursor and are not stored. Knows no transport and no principal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ag_ui.core import RunAgentInput

from middle_core.errors import NotFound
from middle_core.eventlog.follow import replay
from middle_core.eventlog.interrupts import Interrupt, InterruptKind
from middle_core.eventlog.port import EventLog, InterruptLog
from middle_core.eventlog.records import Run, Thread
from middle_core.events import Custom, Event, EventType, custom
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.request import interrupt_form
from middle_core.runs.intake.turn import ThreadView
from middle_core.runs.questions import custom_event
from middle_core.runs.questions.approval_card import interrupt, offers_cards, with_cards
from middle_core.runs.questions.custom_event import QuestionForm, form_of

PAGE = 256
"""Records read at once."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Events of a stream that opens a thread.

    Args:
        before: the snapshot.
        end: the end of an idle thread's stream; empty where a run's records follow `before`.
    """

    before: Sequence[Event]
    end: Sequence[Event] = ()


def of_new_thread(thread_id: str, source: GraphSource) -> Opening:
    """A thread that its owner does not have yet."""
    before = snapshot(thread_id, f"connect-{thread_id}", [], topology=source.topology())
    return Opening(before, plain_end(thread_id, f"connect-{thread_id}"))


class ThreadOpener:
    """Opens threads that are in the log."""

    def __init__(self, log: EventLog, questions: InterruptLog) -> None:
        self._log = log
        self._questions = questions

    async def idle(self, thread: Thread, source: GraphSource, body: RunAgentInput) -> Opening:
        """A thread in which nothing runs: its messages, and what it asks."""
        # The last run is read before the messages: if a run comes in between, the page must not think that it has seen that run.
        last = await self._log.last_run(thread.thread_id)
        view = await source.view(thread.thread_id)
        rows = await self._questions.of_thread(thread.thread_id)
        thread_id, cards = thread.client_thread_id, offers_cards(body)
        run_id = last.client_run_id if last is not None else f"connect-{thread_id}"
        messages, state = with_cards(view.messages, rows, cards=cards), await source.state(thread.thread_id)
        before = snapshot(thread_id, run_id, messages, state=state, last=last, topology=source.topology())
        asked = _asked(rows, view, cards=cards)
        form = form_of(interrupt_form(body), source.rules)
        told = custom_event.events(asked, form)
        return Opening(before, [*told, *plain_end(thread_id, run_id, asked if form is QuestionForm.OUTCOME else ())])

    async def busy(self, thread: Thread, run: Run, source: GraphSource, *, cards: bool) -> Opening:
        """The thread as it was before this run, with the messages that the run took in. The run's records after the first one follow:
        the first one is RUN_STARTED, for which `before` has its own.
        """
        taken = await self._turn_messages(run)
        made = {message["id"] for message in taken}
        view = await source.view(thread.thread_id)
        events = [record.event async for record in replay(self._log, run.run_id)]
        made.update(str(event[key]) for event in events for key in ("messageId", "parentMessageId") if key in event)
        # What stands behind the words that the run took in was made by the run, also where the log does not show it yet.
        end = next((at for at, message in enumerate(view.messages) if taken and message["id"] == taken[0]["id"]), None)
        messages = [message for message in view.messages[:end] if message["id"] not in made] + list(taken)
        rows = [row for row in await self._questions.of_thread(thread.thread_id) if row.run_id != run.run_id]
        messages = with_cards(messages, rows, cards=cards)
        return Opening(snapshot(thread.client_thread_id, run.client_run_id, messages, state=await source.state(thread.thread_id)))

    async def _turn_messages(self, run: Run) -> Sequence[Event]:
        """The user messages that the run took in. They are in the log a moment after its start, so this waits for them.

        Raises:
            NotFound: the run is deleted meanwhile, with its thread.
        """
        seen = 0
        while True:
            for record in await self._log.read(run.run_id, after=seen, limit=PAGE):
                seen = record.seq
                event = record.event
                if event.get("name") == Custom.TURN:
                    messages: Sequence[Event] = event["value"]["messages"]
                    return messages
                if record.terminal:
                    return []
            if not await self._log.changed(run.run_id, after=seen, within_s=1.0) and await self._log.get_run(run.run_id) is None:
                raise NotFound


def snapshot(
    thread_id: str,
    run_id: str,
    messages: Sequence[Event],
    *,
    state: Event | None = None,
    last: Run | None = None,
    topology: Event | None = None,
) -> list[Event]:
    """The beginning of the stream: the run's start, the graph, the state, the messages.

    Args:
        run_id: the clients' `runId`. It does not name one run, because an answer reuses the `runId` of its question.
        last: the run that left the thread like this.
        topology: the graph, for a page that draws it. Needed where no run's records follow, which have it.
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


def plain_end(thread_id: str, run_id: str, interrupts: Sequence[Event] = ()) -> list[Event]:
    """The end of a stream of an idle thread, with what the thread asks."""
    end: Event = {"type": EventType.RUN_FINISHED.value, "threadId": thread_id, "runId": run_id}
    if interrupts:
        end["outcome"] = {"type": "interrupt", "interrupts": list(interrupts)}
    return [end]


def _open_ids(view: ThreadView) -> set[str]:
    return {str(one["id"]) for one in view.interrupts}


def _asked(rows: Sequence[Interrupt], view: ThreadView, *, cards: bool) -> list[Event]:
    """What the thread asks of this page. A page with cards has its approvals among the messages."""
    open_ids = _open_ids(view)
    waiting = [row for row in rows if row.pending and not row.late and row.interrupt_id in open_ids]
    return [interrupt(row) for row in waiting if not (cards and row.kind is InterruptKind.APPROVAL)]
