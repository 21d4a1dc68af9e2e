"""What `/chat` is asked, and what of it becomes a run's request. Pure; `docs/chat.md` explains the fields.

An answer to an open question goes the way of every other door's: as an AG-UI resume entry, decided by the question's row.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import Annotated, Any, Final, Literal, Self

from ag_ui.core import ResumeEntry, RunAgentInput, UserMessage
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from middle_core.runs.intake.request import OnDisconnect, StartRequest, start_request

MAX_ANSWERS: Final = 32

_ID: Final = r"^[A-Za-z0-9][A-Za-z0-9_.:@~-]{0,127}$"
Id = Annotated[str, StringConstraints(pattern=_ID)]
InterruptId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@~+/=-]{0,199}$")]


class _Request(BaseModel):
    """A field that nobody reads is a mistake of the sender, so it is refused."""

    model_config = ConfigDict(extra="forbid")


class ChatRequest(_Request):
    """A message to an agent.

    thread_id: the conversation; a new one where it is missing. run_id: the client's own name for this turn, so that sending it
    again attaches to the turn. state: keys that the agent lets clients write.
    """

    message: Annotated[str, StringConstraints(min_length=1)]
    thread_id: Id | None = None
    agent: Annotated[str, StringConstraints(max_length=64)] | None = None
    run_id: Id | None = None
    state: dict[str, Any] = Field(default_factory=dict)
    on_disconnect: OnDisconnect = "cancel"
    multitask_strategy: Literal["reject", "interrupt"] = "reject"


class ChatAnswer(_Request):
    """A person's answer to one question.

    approve: go ahead with what is shown. edit: go ahead with `edits` in place of these arguments. reject: do not; `comment` is
    told to the model. answer: `value`, exactly as it is, for a graph's own question. cancel: no answer.
    """

    interrupt_id: InterruptId
    decision: Literal["approve", "edit", "reject", "answer", "cancel"]
    edits: dict[str, Any] | None = None
    comment: Annotated[str, StringConstraints(max_length=4_000)] | None = None
    value: Any = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        given = self.model_fields_set
        if ("value" in given) != (self.decision == "answer"):
            raise ValueError("`value` goes with the decision `answer`, and that needs it (null is a value)")
        if (self.edits is not None) != (self.decision == "edit"):
            raise ValueError("`edits` go with the decision `edit`, and that needs them")
        if self.comment is not None and self.decision != "reject":
            raise ValueError("a `comment` goes with the decision `reject`")
        return self

    def entry(self) -> ResumeEntry:
        """The answer as AG-UI has it."""
        if self.decision == "cancel":
            return ResumeEntry(interrupt_id=self.interrupt_id, status="cancelled")
        payload: Any = self.value
        if self.decision == "approve":
            payload = {"approved": True}
        elif self.decision == "edit":
            payload = {"approved": True, "edits": self.edits}
        elif self.decision == "reject":
            payload = {"approved": False} if self.comment is None else {"approved": False, "comment": self.comment}
        return ResumeEntry(interrupt_id=self.interrupt_id, status="resolved", payload=payload)


class ResumeRequest(_Request):
    """Answers to questions that a thread waits for: all of them or some, each once."""

    thread_id: Id
    answers: Annotated[list[ChatAnswer], Field(min_length=1, max_length=MAX_ANSWERS)]
    run_id: Id | None = None
    on_disconnect: OnDisconnect = "cancel"

    @model_validator(mode="after")
    def _once(self) -> Self:
        ids = [one.interrupt_id for one in self.answers]
        if len(set(ids)) != len(ids):
            raise ValueError("answers: one of the questions is answered twice")
        return self


def message_request(asked: ChatRequest, digest: str, *, owner: str, idempotency_key: str | None) -> StartRequest:
    """The run's request. Raises InvalidRequest.

    A request that names itself and no thread gets the same new thread each time, so that its repetition finds its run.
    """
    named = idempotency_key or asked.run_id
    thread_id = asked.thread_id or (_thread_of(owner, named) if named else str(uuid.uuid4()))
    body = RunAgentInput(
        thread_id=thread_id,
        run_id=asked.run_id or str(uuid.uuid4()),
        messages=[UserMessage(id=f"user-{uuid.uuid4()}", role="user", content=asked.message)],
        state=asked.state,
        tools=[],
        context=[],
        forwarded_props={"middleCore": {"on_disconnect": asked.on_disconnect, "multitask_strategy": asked.multitask_strategy}},
    )
    return start_request(body, digest, idempotency_key=idempotency_key)


def resume_request(asked: ResumeRequest, digest: str, *, idempotency_key: str | None) -> StartRequest:
    """The run's request. Raises InvalidRequest."""
    body = RunAgentInput(
        thread_id=asked.thread_id,
        run_id=asked.run_id or str(uuid.uuid4()),
        messages=[],
        state={},
        tools=[],
        context=[],
        forwarded_props={"middleCore": {"on_disconnect": asked.on_disconnect}},
        resume=[one.entry() for one in asked.answers],
    )
    return start_request(body, digest, idempotency_key=idempotency_key)


def _thread_of(owner: str, name: str) -> str:
    return f"chat-{hashlib.sha256(f'{owner} {name}'.encode()).hexdigest()[:32]}"
