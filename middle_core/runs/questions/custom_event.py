"""A question as CopilotKit's CUSTOM event `on_interrupt`, and the answer to one.

This is the form of the pages that are deployed: `useLangGraphInterrupt` reads `event.value.<what the graph asked with>` and answers by
`forwardedProps.command`. AG-UI 1.0's outcome does not serve these pages: its client strips every key of a question that the protocol
does not name. A page holds one question at a time in this form (the last event of a run wins), so one is sent at a time, and the answer
names its question by sending the event's value back. Pure: knows no log and no graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import orjson

from middle_core.contract.cards import MARK
from middle_core.errors import InvalidRequest
from middle_core.eventlog.interrupts import Interrupt, InterruptKind
from middle_core.events import Event, EventType
from middle_core.runs.intake.request import InterruptForm
from middle_core.runs.intake.turn import AgentRules, CommandResume
from middle_core.runs.questions import approval_card, graph_question

ON_INTERRUPT: Final = "on_interrupt"
"""The name of the CUSTOM event."""


class QuestionForm(StrEnum):
    """How the client of a run is asked, where its page does not draw an approval by the card tool."""

    OUTCOME = "outcome"
    """AG-UI 1.0: the outcome of RUN_FINISHED, all questions at once."""
    CUSTOM = "custom"
    """CUSTOM `on_interrupt` with an object."""
    CUSTOM_TEXT = "custom_text"
    """CUSTOM `on_interrupt` with JSON text, as the SDK's own endpoint sends it."""


def form_of(wanted: InterruptForm | None, rules: AgentRules) -> QuestionForm:
    """The form for a client. An agent with `legacy_interrupts` decides for all of its clients."""
    if rules.legacy_interrupts:
        return QuestionForm.CUSTOM_TEXT
    return QuestionForm.CUSTOM if wanted == "custom" else QuestionForm.OUTCOME


def events(interrupts: Sequence[Mapping[str, Any]], form: QuestionForm) -> list[Event]:
    """The event for the first of these AG-UI interrupts; the next one is asked when it is answered. Empty in the form OUTCOME."""
    if form is QuestionForm.OUTCOME or not interrupts:
        return []
    asked = interrupts[0]
    value = _asked_with(asked)
    if form is QuestionForm.CUSTOM_TEXT:
        value = value if isinstance(value, str) else orjson.dumps(value).decode()
    elif isinstance(value, Mapping):
        # For `useInterrupt` the fields of an AG-UI interrupt stand beside the graph's own, which win where both have one.
        mark = value.get(MARK)
        mark = {**(mark if isinstance(mark, Mapping) else {}), "interruptId": asked["id"]}
        value = {**asked, **value, MARK: mark}
    return [{"type": EventType.CUSTOM.value, "name": ON_INTERRUPT, "value": value}]


def answered_row(command: CommandResume, rows: Iterable[Interrupt], form: QuestionForm) -> Interrupt | None:
    """The question that a command answers; None where it answers nothing that may be answered so.

    Args:
        command: the answer.
        rows: the thread's questions, in the order in which they were asked.
        form: of the run's agent and client. Without its question's value, an approval is answered in the form CUSTOM_TEXT only: a bare
            "yes" must not approve a card which that client was shown in another form.

    Raises:
        InvalidRequest: several questions wait, and the command names none of them.
    """
    rows = list(rows)
    if (named := _named(command, rows)) is not None:
        return named
    waiting = [row for row in rows if row.pending]
    if len(waiting) > 1:
        raise InvalidRequest(
            "forwardedProps.command: several questions wait, and it names none. Send the event's value back as interruptEvent, "
            "or answer with resume[] by id."
        )
    if not waiting or (waiting[0].kind is InterruptKind.APPROVAL and form is not QuestionForm.CUSTOM_TEXT):
        return None
    return waiting[0]


def named_id(command: CommandResume) -> str:
    """The id in the value that a command sends back; empty where there is none. Nothing says yet that such a question exists."""
    value = _as_value(command.interrupt_event)
    mark = value.get(MARK) if isinstance(value, Mapping) else None
    found = mark.get("interruptId") if isinstance(mark, Mapping) else value.get("interruptId") if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def payload(command: CommandResume, row: Interrupt) -> Any:
    """The answer for the row: what the graph's `interrupt()` returns is exactly what came; an approval may come as JSON text."""
    value = command.value
    return approval_card.payload_of(value) if row.kind is InterruptKind.APPROVAL and isinstance(value, str) else value


def _asked_with(asked: Mapping[str, Any]) -> Any:
    """What the page draws: the card of an approval, else what the graph called `interrupt()` with."""
    metadata = asked.get("metadata") or {}
    return metadata[MARK] if MARK in metadata else graph_question.raw_of(asked)


def _named(command: CommandResume, rows: Sequence[Interrupt]) -> Interrupt | None:
    """The row whose question the command sends back: by the id in it, else by the value itself, a waiting row first."""
    if command.interrupt_event is None:
        return None
    question_id = named_id(command)
    if (by_id := next((row for row in rows if row.interrupt_id == question_id), None)) is not None:
        return by_id
    values = (command.interrupt_event, _as_value(command.interrupt_event))
    same = [row for row in rows if _asked_with(approval_card.interrupt(row)) in values]
    return next((row for row in same if row.pending), same[-1] if same else None)


def _as_value(event: Any) -> Any:
    """The value of an event, which is JSON text in the form CUSTOM_TEXT."""
    return approval_card.payload_of(event) if isinstance(event, str) else event
