"""An open question for `/chat`: the fields that a card needs, from the AG-UI interrupt in the log. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from middle_core.contract.cards import MARK
from middle_core.transports.chat.response import ChatInterrupt, Fact


def chat_interrupt(one: Mapping[str, Any], *, at: int) -> ChatInterrupt:
    """The question as `/chat` shows it. An entry that was too large for an event has only its id and its reason.

    Args:
        one: an entry of `RUN_FINISHED.outcome.interrupts`, or of CUSTOM `middle_core.waiting`.
        at: the time of its record, in milliseconds since the epoch.
    """
    metadata = one.get("metadata") or {}
    card: Mapping[str, Any] = metadata.get(MARK) or {}
    answer_by = card.get("answerBy")
    approval = bool(card) or one.get("reason") == "middle_core:approval"
    return ChatInterrupt(
        interrupt_id=one["id"],
        kind="approval" if approval else "question",
        title=str(card.get("title") or one.get("message") or ""),
        tool_call_id=one.get("toolCallId") or card.get("toolCallId"),
        tool=card.get("tool"),
        card=card.get("kind"),
        facts=[Fact(label=str(fact["label"]), value=fact["value"]) for fact in card.get("facts") or ()],
        arguments=dict(card.get("fromModel") or {}),
        editable=list(card.get("editable") or ()),
        confirm=card.get("confirm"),
        cancel=card.get("cancel"),
        danger=bool(card.get("danger")),
        state=_state(card.get("state")),
        problem=card.get("problem"),
        asked_at=card.get("askedAt"),
        answer_by=answer_by,
        expires_in_s=None if answer_by is None else max(0.0, (answer_by - at) / 1000),
        value=None if approval else (metadata.get("langgraph") or {}).get("raw"),
        response_schema=one.get("responseSchema"),
    )


def _state(said: Any) -> Literal["new", "invalid", "unknown"]:
    return said if said in ("invalid", "unknown") else "new"
