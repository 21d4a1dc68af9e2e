"""What became of a tool call: data, said by whoever knows it, and never read out of a result's text.

Each result in the log carries one, in `metadata` under `OUTCOME`, in the stream and in every snapshot. The result's content is for the
model; `message` is for people.
"""

from __future__ import annotations

from enum import StrEnum

from middle_core.contract.wire import Camel
from middle_core.errors import ErrorCode
from middle_core.events import ToolOutcome


class OutcomeCode(StrEnum):
    """Why a call is not done. Where an error of the server's is the reason, its `ErrorCode` stands in place of one of these."""

    TOOL_ERROR = "tool_error"  # failed: the tool's own code raised, or returned an error
    REJECTED = "rejected"  # refused: the person said no
    NOBODY_TO_ASK = "nobody_to_ask"  # refused: it needs an approval, and there is nobody who could give it
    LENGTH = "length"  # not_run: the model's message ended at its length limit, so the call may be incomplete
    BROKEN_OFF = "broken_off"  # not_run: the model's message was broken off on the model's side
    TOO_MANY_CALLS = "too_many_calls"  # not_run: more calls than one message may have
    UNKNOWN_TOOL = "unknown_tool"  # not_run
    INVALID_ARGUMENTS = "invalid_arguments"  # not_run
    UNANSWERED = "unanswered"  # not_run: the conversation went on without its result, for example because the page was left
    WITHDRAWN = "withdrawn"  # not_run: the person said something else instead of answering
    EXPIRED = "expired"  # not_run: the time for the answer was over
    CHANGED = "changed"  # not_run: the arguments are not those that were approved
    STOPPED = "stopped"  # cancelled or unknown: somebody stopped the run
    CUT_OFF = "cut_off"  # unknown: the server stopped while it ran


class CallOutcome(Camel):
    """code: null where it is done. message: for people; empty where there is nothing to say."""

    outcome: ToolOutcome
    code: OutcomeCode | ErrorCode | None = None
    message: str = ""


DONE = CallOutcome(outcome=ToolOutcome.DONE)
