"""What answers a guarded call that is not carried out: words for the model, the outcome, and words for people.

`agents.approval` decides which of them a call gets. Knows no tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from middle_core.agents.tool_text import as_text
from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import ErrorCode
from middle_core.events import ToolOutcome
from middle_core.node_api.approvals import Approval, plain
from middle_core.node_api.outcomes import ToolResult, result

NOBODY: Final = result(
    "This needs a person's approval, and nobody can be asked here. Nothing was done.",
    ToolOutcome.REFUSED,
    OutcomeCode.NOBODY_TO_ASK,
    "This needs a person’s approval, and nobody can be asked here.",
)
NO_CARD: Final = result(
    "The question for the person who would have to approve it could not be made: a fault of this server. Nothing was done.",
    ToolOutcome.FAILED,
    ErrorCode.INTERNAL,
    "The question could not be made: a fault of this server. Nothing was done.",
)
TOO_LARGE: Final = result(
    "The arguments are too large to be shown to the person who would have to approve them. Nothing was done.",
    ToolOutcome.NOT_RUN,
    ErrorCode.TOO_LARGE,
    "The arguments are too large to be shown to you for approval. Nothing was done.",
)
REJECTED: Final = result("The user said no. Nothing was done.", ToolOutcome.REFUSED, OutcomeCode.REJECTED, "You said no. Nothing was done.")
WITHDRAWN: Final = result(
    "The user did not answer and went on with something else. Nothing was done.",
    ToolOutcome.NOT_RUN,
    OutcomeCode.WITHDRAWN,
    "Withdrawn. Nothing was done.",
)
EXPIRED: Final = result(
    "The time for the approval is over. Nothing was done.",
    ToolOutcome.NOT_RUN,
    OutcomeCode.EXPIRED,
    "The time for the approval is over. Nothing was done.",
)
CHANGED: Final = result(
    "This is not what was approved. Nothing was done.",
    ToolOutcome.NOT_RUN,
    OutcomeCode.CHANGED,
    "This is not what was approved. Nothing was done.",
)
_CUT_OFF_WORDS: Final = "Begun and cut off, and not tried again. Whether it took effect is unknown."
LEFT: Final = result(
    "It was begun and cut off, so whether it took effect is unknown. The user chose not to try it again.",
    ToolOutcome.UNKNOWN,
    OutcomeCode.CUT_OFF,
    _CUT_OFF_WORDS,
)
LEFT_ALONE: Final = result(
    "It was begun and cut off, so whether it took effect is unknown. It was not tried again.",
    ToolOutcome.UNKNOWN,
    OutcomeCode.CUT_OFF,
    _CUT_OFF_WORDS,
)
_UNKNOWN_TEXT: Final = (
    "Whether this took effect is unknown: the answer never came. "
    "Say so, and look at how things stand before anything like it is tried again."
)


def unknown(code: OutcomeCode | ErrorCode, why: str = "") -> ToolResult:
    """Of an action that was begun, and whose answer never came. why: what hindered it, in words for everybody."""
    text = f"{why} {_UNKNOWN_TEXT}".strip()
    message = f"{why} Whether this took effect is unknown: check before repeating it.".strip()
    return result(text, ToolOutcome.UNKNOWN, code, message)


def invalid(problem: str) -> ToolResult:
    """Of changes by the person that cannot be used. problem: in words for them."""
    return result(problem, ToolOutcome.NOT_RUN, OutcomeCode.INVALID_ARGUMENTS, problem)


def settled(asked: Approval) -> ToolResult | None:
    """The result of a call that is not to be run (again); None where it is still to be decided what is run."""
    again = asked.root_id != asked.interrupt_id
    match asked.status:
        case "rejected":
            return LEFT if again else _rejected(asked)
        case "withdrawn" | "expired" if again:
            return LEFT_ALONE
        case "withdrawn":
            return asked.result or WITHDRAWN
        case "expired":
            return EXPIRED
        case "executed":
            return asked.result
        case _:
            return None


def _rejected(asked: Approval) -> ToolResult:
    """With the person's comment for the model, where they wrote one."""
    comment = asked.answer.get("comment") if isinstance(asked.answer, Mapping) else None
    if isinstance(comment, str) and comment.strip():
        return ToolResult(f"{REJECTED.text} They wrote: {as_text(plain(comment), 2_000)}", REJECTED.outcome)
    return asked.result or REJECTED
