"""A tool call's outcome on the message that answers it.

Whoever knows what became of a call writes it into the message's `response_metadata`. There it is part of the checkpoint, and no provider
is sent it. The message's content is for the model, and nobody reads an outcome out of it. Knows LangChain's messages, and no run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from middle_core.agui.endings import words
from middle_core.contract.outcomes import DONE, CallOutcome, OutcomeCode
from middle_core.errors import ErrorCode, Forbidden, MiddleCoreError, Unauthorized
from middle_core.events import OUTCOME, ToolOutcome


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What answers a call.

    Args:
        text: for the model.
        outcome: for people and programs.
    """

    text: str
    outcome: CallOutcome = DONE


def result(text: str, outcome: ToolOutcome, code: OutcomeCode | ErrorCode, message: str) -> ToolResult:
    """The result of a call that is not done.

    Args:
        text: for the model.
        outcome: what became of the call.
        code: why.
        message: for people. It is cut to one bounded line.
    """
    return ToolResult(text, CallOutcome(outcome=outcome, code=code, message=words(message)))


def failure(error: Exception, text: str, message: str) -> ToolResult:
    """The result of a tool that raised. An error of the server's has a code of its own, and a missing role or sign-in is a refusal.

    Args:
        error: what the tool raised.
        text: for the model.
        message: for people.
    """
    refused = isinstance(error, Forbidden | Unauthorized)
    code = error.code if isinstance(error, MiddleCoreError) else OutcomeCode.TOOL_ERROR
    return result(text, ToolOutcome.REFUSED if refused else ToolOutcome.FAILED, code, message)


def metadata(outcome: CallOutcome) -> dict[str, Any]:
    """The outcome as a message carries it: in `response_metadata` of a ToolMessage, and in `metadata` of its result on the wire."""
    return {OUTCOME: outcome.model_dump(mode="json", by_alias=True)}


def outcome_of(message: Any) -> CallOutcome:
    """The outcome that a ToolMessage carries. One that says none is done, or has failed if its status is `error`."""
    try:
        return CallOutcome.model_validate(message.response_metadata[OUTCOME])
    except (KeyError, ValidationError):
        pass  # made by a tool or a ToolNode of a team's, which knows no outcomes
    if message.status != "error":
        return DONE
    return CallOutcome(outcome=ToolOutcome.FAILED, code=OutcomeCode.TOOL_ERROR, message=words(str(message.text)))


def of_json(stored: Any) -> CallOutcome | None:
    """An outcome as it was stored; None where there is none, or none that can be read."""
    try:
        return None if stored is None else CallOutcome.model_validate(stored)
    except ValidationError:
        return None
