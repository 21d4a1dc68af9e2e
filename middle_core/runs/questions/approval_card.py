"""An open question on the wire: as an AG-UI interrupt, as a call of the browser's card tool, and as history.

One row, two forms; the request's tools say which. A call of the card tool is written by the server, not by the model, and
stands in no checkpoint: it is put into what a client sees. Pure. `docs/hitl.md` is the contract.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import orjson
from ag_ui.core import RunAgentInput

from middle_core.contract.cards import CARD_TOOL, MARK
from middle_core.contract.outcomes import DONE, CallOutcome, OutcomeCode
from middle_core.eventlog.interrupts import Channel, Interrupt, InterruptKind, InterruptStatus, NewInterrupt
from middle_core.events import Custom, Event, EventType, ToolOutcome, custom
from middle_core.node_api.approvals import digest, edits_of
from middle_core.node_api.outcomes import ToolResult, metadata, of_json, result
from middle_core.runs.questions import graph_question

S = InterruptStatus

WORDS: Final[Mapping[InterruptStatus, str]] = {
    S.PENDING: "This waits for your answer.",
    S.ANSWERED: "This was answered.",
    S.APPROVED: "This was approved.",
    S.EDITED: "This was approved with changes.",
    S.REJECTED: "This was cancelled. Nothing was done.",
    S.WITHDRAWN: "This was withdrawn. Nothing was done.",
    S.EXPIRED: "The time for this is over. Nothing was done.",
    S.EXECUTING: "This was approved and is being done.",
    S.EXECUTED: "This was approved and carried out.",
    S.INDETERMINATE: "This was approved and begun. Whether it took effect is unknown.",
}
"""For people, of each state."""

LEFT: Final = result(
    "It was begun and cut off, and not tried again. Whether it took effect is unknown.",
    ToolOutcome.UNKNOWN,
    OutcomeCode.CUT_OFF,
    "It was begun and cut off, and not tried again. Whether it took effect is unknown.",
)
"""Of an action that was begun before: what becomes of the question whether to try again says nothing of the first try."""

_OUTCOMES: Final[Mapping[InterruptStatus, tuple[ToolOutcome, OutcomeCode | None]]] = {
    S.REJECTED: (ToolOutcome.REFUSED, OutcomeCode.REJECTED),
    S.WITHDRAWN: (ToolOutcome.NOT_RUN, OutcomeCode.WITHDRAWN),
    S.EXPIRED: (ToolOutcome.NOT_RUN, OutcomeCode.EXPIRED),
    S.EXECUTING: (ToolOutcome.UNKNOWN, OutcomeCode.CUT_OFF),
    S.INDETERMINATE: (ToolOutcome.UNKNOWN, OutcomeCode.CUT_OFF),
    S.EXECUTED: (ToolOutcome.DONE, None),
}
"""What a state says of the call, where the row says nothing more."""

SAID_YES: Final = frozenset({S.APPROVED, S.EDITED, S.EXECUTING, S.EXECUTED, S.INDETERMINATE})


def offers_cards(body: RunAgentInput) -> bool:
    """Whether the page that sent this shows cards itself, through its card tool."""
    return any(one.name == CARD_TOOL for one in body.tools or ())


def new_interrupt(asked: Mapping[str, Any], *, cards: bool, ttl_s: float, after: str | None = None) -> NewInterrupt:
    """The row for an interrupt of `runs.graph.interrupts`. cards: as `offers_cards`; ttl_s: for approvals that name none.

    after: the id of the thread's last message.
    """
    about = _about(asked)
    if about is None:
        payload = graph_question.payload(asked, after=after)
        return NewInterrupt(
            asked["id"], InterruptKind.QUESTION, Channel.INTERRUPT, payload, tool_call_id=str(asked.get("toolCallId") or "")
        )
    payload = {key: asked[key] for key in ("reason", "message", "toolCallId", "responseSchema") if key in asked}
    own_ttl_s = about.get("ttlS")
    return NewInterrupt(
        interrupt_id=asked["id"],
        kind=InterruptKind.APPROVAL,
        channel=Channel.CLIENT_TOOL if cards else Channel.INTERRUPT,
        payload={**payload, MARK: about},
        tool_call_id=str(asked.get("toolCallId") or ""),
        call_key=about["callKey"],
        tool=about["tool"],
        args_digest=about["argsDigest"],
        roles=tuple(about["roles"]),
        ttl_s=ttl_s if own_ttl_s is None else float(own_ttl_s),
        root_id=about["rootId"],
    )


def _about(asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
    raw = (asked.get("metadata") or {}).get("langgraph", {}).get("raw")
    about = raw.get(MARK) if isinstance(raw, Mapping) else None
    return about if isinstance(about, Mapping) and "callKey" in about and "card" in about else None


def card(row: Interrupt) -> dict[str, Any]:
    """What the page draws: the same fields in both forms. `answerBy` is ours: a past `expiresAt` bricks @ag-ui/client 0.0.59."""
    shown = {"interruptId": row.interrupt_id, "toolCallId": row.tool_call_id, **row.payload[MARK]["card"]}
    return {**shown, "askedAt": row.created_at, "answerBy": row.expires_at}


def interrupt(row: Interrupt) -> dict[str, Any]:
    """The row as an AG-UI 1.0 interrupt."""
    if row.kind is not InterruptKind.APPROVAL:
        return graph_question.interrupt(row)
    fields = {key: value for key, value in row.payload.items() if key != MARK}
    return {"id": row.interrupt_id, **fields, "metadata": {MARK: card(row)}}


def card_call(row: Interrupt) -> list[Event]:
    """The row as a call of the card tool, in a run's stream."""
    call = {"toolCallId": row.interrupt_id}
    return [
        {"type": EventType.TOOL_CALL_START.value, **call, "toolCallName": CARD_TOOL},
        {"type": EventType.TOOL_CALL_ARGS.value, **call, "delta": _json(card(row))},
        {"type": EventType.TOOL_CALL_END.value, **call},
    ]


def card_result(row: Interrupt) -> Event:
    """That the card is closed, for a page that did not close it itself."""
    return {
        "type": EventType.TOOL_CALL_RESULT.value,
        "messageId": answer_id(row),
        "toolCallId": row.interrupt_id,
        "content": _json(verdict(row)),
        "role": "tool",
        "metadata": metadata(DONE),
    }


def answer_id(row: Interrupt) -> str:
    """The id of the message that closes a card which the page did not close itself."""
    return f"{row.interrupt_id}-answer"


def resolved(row: Interrupt) -> Event:
    """CUSTOM `middle_core.interrupt_resolved`: where the row stands now."""
    value = {"interruptId": row.interrupt_id, "toolCallId": row.tool_call_id, "status": row.status.value, "message": words_of(row)}
    times = {"askedAt": row.created_at, "answeredAt": row.answered_at, "answerRunId": row.answer_run_id}
    return custom(Custom.INTERRUPT_RESOLVED, **value, **times, **_edits(row))


def verdict(row: Interrupt) -> dict[str, Any]:
    """A closed card, read-only: what was decided, when, and what came of it."""
    outcome = row.outcome or {}
    return {
        "approved": row.status in SAID_YES,
        "status": row.status.value,
        "answeredAt": row.answered_at,
        "ok": None if _left(row) else outcome.get("ok"),
        "message": words_of(row),
        **_edits(row),
    }


def stored(answer: ToolResult) -> dict[str, Any]:
    """What a row keeps of how its call was answered. ok: whether it took effect; None where that is unknown."""
    unknown = answer.outcome.outcome is ToolOutcome.UNKNOWN
    return {
        "ok": None if unknown else answer.outcome == DONE,
        "text": answer.text,
        "outcome": answer.outcome.model_dump(mode="json", by_alias=True),
    }


def result_of(row: Interrupt) -> ToolResult:
    """What answers the call that the row is about: words for the model, and the outcome."""
    if _left(row):
        return LEFT
    kept = row.outcome or {}
    outcome = of_json(kept.get("outcome"))
    if outcome is None:
        what, code = _OUTCOMES.get(row.status, (ToolOutcome.NOT_RUN, OutcomeCode.UNANSWERED))
        outcome = DONE if what is ToolOutcome.DONE else CallOutcome(outcome=what, code=code, message=WORDS[row.status])
    return ToolResult(str(kept.get("text") or WORDS[row.status]), outcome)


def words_of(row: Interrupt) -> str:
    """Where the row stands, for people."""
    kept = of_json((row.outcome or {}).get("outcome"))
    return LEFT.outcome.message if _left(row) else kept.message if kept is not None and kept.message else WORDS[row.status]


def _left(row: Interrupt) -> bool:
    """Whether it asked to try again what had been begun, and that was not done."""
    return row.root_id not in {"", row.interrupt_id} and row.status in {S.REJECTED, S.WITHDRAWN, S.EXPIRED}


def left_results(rows: Iterable[Interrupt], open_ids: Container[str]) -> tuple[Event, ...]:
    """What the model is told of such calls that the graph still waits at, as tool messages: not that they were not carried out."""
    return tuple(_result_message(row) for row in rows if _left(row) and row.interrupt_id in open_ids)


def _result_message(row: Interrupt) -> Event:
    """What answers the call that the row is about, as an AG-UI message."""
    answer = result_of(row)
    content = {"content": answer.text, "metadata": metadata(answer.outcome)}
    return {"id": f"{row.call_key}-result", "role": "tool", "toolCallId": row.tool_call_id, **content}


def _edits(row: Interrupt) -> dict[str, Any]:
    """The arguments that were approved in place of those on the card, under `edits`; empty where there are none."""
    edits = edits_of(row.answer) if row.kind is InterruptKind.APPROVAL and row.status in SAID_YES else {}
    return {"edits": edits} if edits else {}


def decide(row: Interrupt, payload: Any, *, cancelled: bool) -> tuple[InterruptStatus, str]:
    """What an answer means, and the digest of the arguments that it approves. Anything but a clear yes is a no."""
    if row.kind is not InterruptKind.APPROVAL:
        return (S.REJECTED if cancelled else S.ANSWERED), ""
    approved = payload.get("approved") if isinstance(payload, Mapping) else payload
    if cancelled or approved is not True:
        return S.REJECTED, ""
    edits = edits_of(payload)
    given = row.payload[MARK]["card"]["fromModel"]
    return (S.EDITED, digest({**given, **edits})) if edits else (S.APPROVED, row.args_digest)


def payload_of(content: str) -> Any:
    """The answer in a tool message: JSON, or the text itself."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return content


def with_cards(
    messages: Sequence[Event], rows: Iterable[Interrupt], *, cards: bool, answers: Mapping[str, str] = MappingProxyType({})
) -> list[Event]:
    """A thread's messages with its cards: each before the result of the call that it is about, or after the call's message.
    Then with its questions that are over.

    A closed approval is told in `metadata` of its call's result, and makes that result where the thread has none yet. cards:
    also as calls of the card tool, for a page that has it. answers: ids of the page's own answers, by question; the browser's
    client puts a message that it does not know at the end. Rows whose call is not in the messages are left out.
    """
    rows = list(rows)
    shown = [dict(one) for one in messages]
    for asked in rows:
        # Past its time it is closed, whether or not the clock has been there.
        row = replace(asked, status=S.EXPIRED) if asked.pending and asked.late else asked
        if row.kind is not InterruptKind.APPROVAL or (at := _place(shown, row.tool_call_id)) is None:
            continue
        if not row.pending:
            at_result = next((i for i, one in enumerate(shown) if one.get("toolCallId") == row.tool_call_id), None)
            if at_result is None and row.status not in {S.EXECUTING, S.APPROVED, S.EDITED}:
                shown.insert(at, _result_message(row))
                at_result = at
            if at_result is not None:
                shown[at_result]["metadata"] = {**(shown[at_result].get("metadata") or {}), MARK: {**card(row), **verdict(row)}}
        if cards:
            shown[at:at] = _as_messages(row, answers.get(row.interrupt_id) or answer_id(row))
    return graph_question.with_questions(shown, rows)


def _as_messages(row: Interrupt, own_id: str) -> list[Event]:
    function = {"name": CARD_TOOL, "arguments": _json(card(row))}
    asked: Event = {
        "id": row.interrupt_id,
        "role": "assistant",
        "toolCalls": [{"id": row.interrupt_id, "type": "function", "function": function}],
    }
    if row.pending:
        return [asked]
    answer = {"id": own_id, "role": "tool", "toolCallId": row.interrupt_id, "content": _json(verdict(row)), "metadata": metadata(DONE)}
    return [asked, answer]


def _place(messages: Sequence[Event], call_id: str) -> int | None:
    """Where a card about this call stands: None where nobody calls it."""
    caller = next((i for i, one in enumerate(messages) if any(call["id"] == call_id for call in one.get("toolCalls") or ())), None)
    if caller is None:
        return None
    at = caller + 1
    while at < len(messages) and not (messages[at]["role"] == "user" or messages[at].get("toolCallId") == call_id):
        at += 1
    return at


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
