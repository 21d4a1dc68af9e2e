"""A graph's own question that is over, as it stays in a conversation: an AG-UI activity message where it was asked.

An open question travels in RUN_FINISHED's outcome and stands in no message. Once it is answered, cancelled or withdrawn it
would be gone from the page, and after a reload the answer would refer to nothing. The graph's messages are left alone: the
model's history stays what it was. Pure. `docs/hitl.md` is the contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from middle_core.agui.jsonable import json_size
from middle_core.contract.cards import MARK, REVIEW
from middle_core.eventlog.interrupts import Interrupt, InterruptKind, InterruptStatus
from middle_core.events import QUESTION_ACTIVITY, Event, EventType
from middle_core.runs.questions import action_review

MAX_SHOWN: Final = 8_000
"""Characters of JSON of a question or an answer that is shown again; of a longer one only that it is there."""


def payload(asked: Mapping[str, Any], *, after: str | None) -> dict[str, Any]:
    """What the row keeps of a question of `runs.graph.interrupts`. after: the id of the thread's last message when it was asked."""
    kept = {key: value for key, value in asked.items() if key != "id"}
    if found := action_review.actions(raw_of(asked), asked.get("responseSchema")):
        kept["metadata"] = {**kept["metadata"], REVIEW: action_review.wire(found)}
        kept.setdefault("message", action_review.title(found))
        kept["responseSchema"] = action_review.answer_schema(found)
    return {**kept, MARK: {"after": after, "schema": asked.get("responseSchema")}}


def raw_of(asked: Mapping[str, Any]) -> Any:
    """What the graph called `interrupt()` with, out of an interrupt or of what a row keeps of one."""
    return (asked.get("metadata") or {}).get("langgraph", {}).get("raw")


def answer(row: Interrupt, payload: Any, *, cancelled: bool) -> tuple[Any, bool]:
    """What the graph gets for an answer, and whether it is told of a cancellation instead. Raises InvalidRequest; see `action_review`."""
    raw = raw_of(row.payload)
    found = action_review.actions(raw, (row.payload.get(MARK) or {}).get("schema"))
    return (action_review.answer(raw, found, payload, cancelled=cancelled), False) if found else (payload, cancelled)


def interrupt(row: Interrupt) -> dict[str, Any]:
    """The row as an AG-UI 1.0 interrupt."""
    return {"id": row.interrupt_id, **{key: value for key, value in row.payload.items() if key != MARK}}


def activity_event(row: Interrupt) -> Event:
    """That it is over, in a run's stream."""
    return {
        "type": EventType.ACTIVITY_SNAPSHOT.value,
        "messageId": _id(row),
        "activityType": QUESTION_ACTIVITY,
        "content": _content(row),
    }


def with_questions(messages: Sequence[Event], rows: Iterable[Interrupt]) -> list[Event]:
    """The messages with the questions that are over, each behind what was the last message when it was asked.

    One whose place is gone, because the conversation was edited before it, is left out.
    """
    shown = list(messages)
    ends: dict[str | None, int] = {}
    for row in rows:
        if row.kind is InterruptKind.APPROVAL or row.pending or MARK not in row.payload:
            continue
        after = row.payload[MARK]["after"]
        at = 0 if after is None else next((place for place, one in enumerate(shown, 1) if one["id"] == after), None)
        if at is None:
            continue
        at += ends.get(after, 0)  # behind the questions that were asked there before
        ends[after] = ends.get(after, 0) + 1
        shown.insert(at, {"id": _id(row), "role": "activity", "activityType": QUESTION_ACTIVITY, "content": _content(row)})
    return shown


def _id(row: Interrupt) -> str:
    return f"{row.interrupt_id}-question"


def _content(row: Interrupt) -> dict[str, Any]:
    content: dict[str, Any] = {"interruptId": row.interrupt_id, "status": row.status.value, "question": _short(raw_of(row.payload))}
    return {**content, "answer": _short(row.answer)} if row.status is InterruptStatus.ANSWERED else content


def _short(value: Any) -> Any:
    return value if json_size(value) <= MAX_SHOWN else "(too long to be shown again)"
