"""What a turn of `/chat` amounts to: the one place where its JSON is defined. `docs/chat.md` explains it.

The same object is the body of a JSON answer and stands in the stream's last event. Every field is always there; the order of
the fields is part of the contract, because a golden file pins the bytes. Knows no record, no run and no request.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import ErrorCode
from middle_core.events import ToolOutcome

VERSION: Final = "1"
"""Of the response and the events together. Another schema is another version, under a schema file of its own."""

Status = Literal["completed", "paused", "refused", "cancelled", "failed"]
NodeOutcome = Literal["ok", "skipped", "error", "interrupted", "cancelled"]

Millis = Annotated[int, Field(description="Milliseconds since the epoch, by the database's clock.")]


class Wire(BaseModel):
    """What travels: nothing unknown, nothing changed once it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_serialization_defaults_required=True)


class TextPart(Wire):
    """What the assistant said in one message."""

    type: Literal["text"] = "text"
    message_id: str
    text: str


class ToolCallPart(Wire):
    """A tool that the assistant called. arguments: an object; the text itself where it is no JSON object."""

    type: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    name: str
    arguments: dict[str, Any] | str


class ToolResultPart(Wire):
    """What a tool answered in this turn; its call may be one of an earlier turn, which waited for a person.

    content: what the model is told. outcome: what became of the call. code: why it is not done, and null where it is. message: the same
    for people; empty where there is nothing to say.
    """

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    content: str
    outcome: ToolOutcome
    code: OutcomeCode | ErrorCode | None
    message: str


Part = Annotated[TextPart | ToolCallPart | ToolResultPart, Field(discriminator="type")]


class Citation(Wire):
    """A passage that a tool found in this turn, so that the answer can rest on it."""

    tool_call_id: str
    source: str
    title: str
    location: str
    excerpt: str
    score: float | None


class Reply(Wire):
    """What the assistant said and did in this turn, in order.

    message_id: of its last message with words; null where it said none. truncated: parts were cut, because they were too long
    to be told here.
    """

    message_id: str | None
    parts: list[Part]
    citations: list[Citation]
    truncated: bool


class Fact(Wire):
    """A line of a card, looked up by the system."""

    label: str
    value: Any


class ChatInterrupt(Wire):
    """What a person is asked, as a card needs it.

    kind: an `approval` of an action, or a graph's own `question`. card: which look (`delete_source`, `confirm_plan`, ...).
    arguments: of the action, as the model wrote them; editable: those that the person may change. value: what a question asks,
    as the graph gave it. expires_in_s: from the event on; null where there is no limit.
    """

    interrupt_id: str
    kind: Literal["approval", "question"]
    title: str
    tool_call_id: str | None
    tool: str | None
    card: str | None
    facts: list[Fact]
    arguments: dict[str, Any]
    editable: list[str]
    confirm: str | None
    cancel: str | None
    danger: bool
    state: Literal["new", "invalid", "unknown"]
    problem: str | None
    asked_at: Millis | None
    answer_by: Millis | None
    expires_in_s: float | None
    value: Any
    response_schema: dict[str, Any] | None


class Usage(Wire):
    """Tokens that one model spent in this turn; null where it does not say."""

    provider: str | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    reasoning_tokens: int | None
    cached_input_tokens: int | None


class NodeRun(Wire):
    """One visit to a node. path: the names from the outermost graph inwards; task_id and started_at are null where it was skipped."""

    node: str
    path: list[str]
    task_id: str | None
    started_at: Annotated[int | None, Field(description="Milliseconds since the epoch, by the clock of the replica that ran it.")]
    latency_ms: int
    outcome: NodeOutcome


class TurnError(Wire):
    """Why a turn failed: a code of `docs/http-api.md`, words for people. retry_after: seconds."""

    code: ErrorCode
    message: str
    correlation_id: str
    retry_after: float | None


class ChatResponse(Wire):
    """One turn.

    thread_id: as the client calls it; run_id: ours. reason: why it was refused or cancelled, for people. duration_ms: from the
    turn's first record to its last.
    """

    version: Literal["1"] = VERSION
    thread_id: str
    run_id: str
    agent: str
    status: Status
    reply: Reply | None
    interrupts: list[ChatInterrupt]
    usage: list[Usage]
    latency: list[NodeRun]
    error: TurnError | None
    reason: str | None
    duration_ms: int

    def encoded(self) -> bytes:
        """The bytes of the JSON representation."""
        return self.model_dump_json().encode()
