"""What a person has to approve before it is done, as node code sees it: the port, and what both of its sides must agree on.

An approval is a row of the log, and nothing else authorises anything. The engine puts the real port, bound to the run's claim, into the
run's context: `agents.approval` asks through it, and `runs.questions.answering` takes the answers. Both compute the digest of the
arguments here, so that what was shown is what runs. Knows no database.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from middle_core.errors import ErrorCode
from middle_core.eventlog.interrupts import InterruptStatus
from middle_core.events import ToolOutcome
from middle_core.node_api.context import run_context
from middle_core.node_api.outcomes import ToolResult, result

MAX_CARD_CHARS: Final = 20_000
"""Characters of JSON of the arguments: nothing is done that a card could not show whole."""

_JOINERS: Final = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Approval:
    """The newest question about a call, as it stands.

    Args:
        interrupt_id: the question's id.
        status: where it stands.
        question: what was asked.
        answer: as it came; None before it came.
        stale: whether its time is over and it was answered in an earlier run.
        root_id: id of the first question about the same action. All of these questions share one Idempotency-Key.
        idempotency_key: the key to send along when the action is carried out.
        result: what came of the action; None before that is known.
    """

    interrupt_id: str
    status: InterruptStatus
    question: Mapping[str, Any]
    answer: Any
    stale: bool
    root_id: str
    idempotency_key: str
    result: ToolResult | None


class Approvals(Protocol):
    """Durable, fenced by the run's claim: a superseded run raises `errors.Superseded`."""

    async def of_call(self, call_key: str) -> Approval | None:
        """The newest question about the call, or None if nobody was asked."""

    async def begin(self, approval: Approval, *, digest: str) -> bool:
        """Whether the action may be done now, by this caller. True once.

        Args:
            approval: of the action.
            digest: of the arguments that it would be done with.
        """

    async def end(self, approval: Approval, result: ToolResult) -> None:
        """Write down what came of the action.

        Args:
            approval: of the action.
            result: what answers the call.
        """

    async def drop(self, approval: Approval, result: ToolResult) -> None:
        """Take back what was approved and not begun.

        Args:
            approval: of the action.
            result: what answers the call.
        """


def idempotency_key() -> str:
    """The key of the approved action that is being done. Raises LookupError outside of one."""
    key = run_context().idempotency_key
    if key is None:
        raise LookupError("Only an approved action has an Idempotency-Key.")
    return key


def missing_role(roles: Sequence[str], doing: str) -> ToolResult:
    """The result for a caller who has none of the roles.

    Args:
        roles: those that the action needs one of.
        doing: the action as the subject of a sentence, such as "Deleting a source".
    """
    needed = " or ".join(roles)
    text = f"permission denied: {needed} role required"
    return result(text, ToolOutcome.REFUSED, ErrorCode.FORBIDDEN, f"{doing} needs the role {needed}.")


def digest(args: Mapping[str, Any]) -> str:
    """SHA-256 of the arguments in a canonical form, as hex. Arguments as `plain` returns them."""
    text = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def edits_of(answer: Any) -> dict[str, Any]:
    """The arguments that a person changed, out of an answer as it came; empty if none."""
    edits = answer.get("edits") if isinstance(answer, Mapping) else None
    return dict(plain(edits)) if isinstance(edits, Mapping) else {}


def plain(value: Any) -> Any:
    """JSON of which a person sees all: no control and no format characters (which turn text around or hide it), no NaN.

    Applied before an approval is asked for and again before it is carried out: what runs is what was shown. Lines and tabs stay.
    """
    match value:
        case str():
            return _visible(value)
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {_visible(str(key)): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case _:
            return _visible(str(value))


def _visible(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return "".join(c if c in "\n\t" or c in _JOINERS or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn"} else "" for c in text)
