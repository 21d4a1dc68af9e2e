"""An approval on the wire: the card that a person is shown, and what was decided. `docs/hitl.md` explains both."""

from __future__ import annotations

from typing import Any, Final, Literal

from typing_extensions import TypeAliasType

from middle_core.contract.wire import Absent, Camel
from middle_core.eventlog.interrupts import InterruptStatus

CARD_TOOL: Final = "approve_action"
"""The browser's tool that shows the card. A page that has it gets its cards as calls of it, other clients as AG-UI interrupts.
The model is never given it: the server alone writes such a call."""

MARK: Final = "middleCore"
"""The key under which an approval stands: in what a graph asks, and on the wire in the `metadata` of an interrupt and of a message."""

REVIEW: Final = "middleCoreReview"
"""The key in an interrupt's `metadata` under which stands what LangChain's own parts ask: whether tool calls may be made."""

Decision = TypeAliasType("Decision", Literal["approve", "edit", "reject", "respond"])
CardState = TypeAliasType("CardState", Literal["new", "invalid", "unknown"])
FieldKind = TypeAliasType("FieldKind", Literal["text", "number", "integer", "boolean", "choice", "list"])


class Fact(Camel):
    """A line of the card, looked up by the system. value: any JSON."""

    label: str
    value: Any


class EditableField(Camel):
    """An argument that the person may change, and what a form needs to ask for it. options: of a choice."""

    name: str
    kind: FieldKind
    nullable: bool
    options: Absent[list[str | float | bool]] = None
    minimum: Absent[float] = None
    maximum: Absent[float] = None
    min_length: Absent[int] = None
    max_length: Absent[int] = None
    min_items: Absent[int] = None
    max_items: Absent[int] = None
    item_max_length: Absent[int] = None


class Card(Camel):
    """What a person is asked to approve.

    facts are the system's, from_model is what the model wrote. state: `invalid` and `unknown` ask once more, and `problem` says why.
    answer_by: null where there is no limit. Times are milliseconds since the epoch.
    """

    interrupt_id: str
    tool_call_id: str
    tool: str
    kind: str
    title: str
    facts: list[Fact]
    from_model: dict[str, Any]
    confirm: str
    cancel: str
    danger: bool
    editable: list[str]
    fields: list[EditableField]
    state: CardState
    problem: Absent[str] = None
    asked_at: int
    answer_by: int | None


class Verdict(Camel):
    """What was decided. ok: whether it took effect; null where that is unknown, or nothing was done yet. message: for people.

    edits: the arguments that were approved in place of those on the card.
    """

    approved: bool
    status: InterruptStatus
    answered_at: int | None
    ok: bool | None
    message: str
    edits: Absent[dict[str, Any]] = None


class DecidedCard(Card, Verdict):
    """A card that is over, in `metadata` of the guarded call's result, under `MARK`."""


class ReviewedAction(Camel):
    """A tool call that waits for a decision. respond: a person answers in the tool's place."""

    name: str
    args: dict[str, Any]
    description: str
    allowed: list[Decision]


class ActionReview(Camel):
    """What is to be decided, under `REVIEW`. The answer is `{"decisions": [...]}`, one for each action, in their order."""

    actions: list[ReviewedAction]


class QuestionOver(Camel):
    """A graph's own question that is over: the content of an activity of type `QUESTION_ACTIVITY`. answer: where one was given."""

    interrupt_id: str
    status: InterruptStatus
    question: Any
    answer: Absent[Any] = None
