"""How a run begins and ends in the log: its opening records, its three ends, and their terminal events.

Pure. Every text here is bounded and free of control characters. The caller decides what a text says, and has taken secrets and the texts
of exceptions out of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from middle_core.agui.jsonable import TooBig, jsonable, text
from middle_core.errors import ErrorCode
from middle_core.events import ClientRunId, ClientThreadId, Custom, Event, EventType, Outcome, RunId, custom

MAX_WORDS: Final = 500
"""Characters of a text for people in a terminal event."""
_MAX_ID = 4096
_COUNTS = ("inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens")


@dataclass(frozen=True, slots=True)
class Finished:
    """The graph came to its end, or stopped at open questions.

    Args:
        interrupts: AG-UI's Interrupt objects.
        usage: AG-UI's TokenUsage objects.
        waits: whether a person is asked something. It is also true where the browser has the question as a call of its own, and the run
            ends plainly.
    """

    interrupts: Sequence[dict[str, Any]] = ()
    usage: Sequence[dict[str, Any]] | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """It failed.

    Args:
        code: for programs.
        message: for people. The caller has taken secrets out of it.
        correlation_id: finds the error in this server's log.
        retry_after: seconds; None where trying again is of no use.
    """

    code: ErrorCode
    message: str
    correlation_id: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Someone stopped it.

    Args:
        by: who, in one word, such as `user`.
        reason: for people.
    """

    by: str
    reason: str


End = Finished | Failed | Cancelled


CUT_OFF_WORDS: Final[Mapping[str, str]] = {
    "length": "The answer was cut off at its length limit.",
    "context": "The answer was cut off: the conversation fills all the room that the model has.",
    "filtered": "The answer was cut off by a filter of the model's provider.",
    "paused": "The model paused before it was done.",
    "failed": "The answer was broken off on the model's side.",
    "empty": "The model ended without an answer.",
}
"""Each `CutOffReason` for people."""


def opening(
    *,
    thread_id: ClientThreadId,
    run_id: ClientRunId,
    our_run_id: RunId,
    agent: str,
    attempt: int,
    parent_run_id: ClientRunId | None = None,
) -> list[Event]:
    """A run's first records: RUN_STARTED with the client's ids, then CUSTOM `middle_core.run` with ours.

    Args:
        thread_id: the client's.
        run_id: the client's.
        our_run_id: ours.
        agent: the agent's name.
        attempt: the number of the attempt, from 1.
        parent_run_id: the client's id of the run whose question this run answers.
    """
    started: Event = {"type": EventType.RUN_STARTED.value, "threadId": thread_id, "runId": run_id}
    if parent_run_id is not None:
        started["parentRunId"] = parent_run_id
    return [started, custom(Custom.RUN, runId=our_run_id, threadId=thread_id, agent=agent, attempt=attempt)]


def refused(by: str, reason: str) -> Event:
    """CUSTOM `middle_core.refused`: the turn declines what it was asked.

    Args:
        by: `node`, `model` or `server`.
        reason: for people.
    """
    return custom(Custom.REFUSED, by=by, reason=words(reason))


def cut_off(message_id: str, reason: str) -> Event:
    """CUSTOM `middle_core.cut_off`: an answer is not whole.

    Args:
        message_id: of the answer.
        reason: a `CutOffReason`.
    """
    return custom(Custom.CUT_OFF, messageId=message_id, reason=reason, text=CUT_OFF_WORDS[reason])


def terminal(end: End, *, thread_id: ClientThreadId, run_id: ClientRunId, max_event_bytes: int) -> list[Event]:
    """The records that end a run. The last one is its one terminal event.

    A cancelled run says so twice, in CUSTOM `middle_core.run_cancelled` and in `outcome`. @ag-ui/client 0.0.59 cannot parse the outcome, so
    `transports.agui.frames` takes it away, and that client has the CUSTOM event.

    Args:
        end: how the run ended.
        thread_id: the client's.
        run_id: the client's.
        max_event_bytes: of one event's JSON. What does not fit is left out, except for what an answer needs.
    """
    if isinstance(end, Failed):
        error: Event = {
            "type": EventType.RUN_ERROR.value,
            "message": words(end.message) or "Something went wrong.",
            "code": end.code.value,
            "correlationId": words(end.correlation_id),
        }
        if end.retry_after is not None:
            error["retryAfter"] = jsonable(end.retry_after, budget=64)
        return [error]
    finished: Event = {"type": EventType.RUN_FINISHED.value, "threadId": thread_id, "runId": run_id}
    if isinstance(end, Cancelled):
        told = custom(Custom.RUN_CANCELLED, by=words(end.by), reason=words(end.reason))
        return [told, finished | {"outcome": {"type": Outcome.CANCELLED.value}}]
    usage = [entry for entry in map(_usage, end.usage or ()) if entry]
    if usage and len(orjson.dumps(usage)) <= max_event_bytes // 4:
        finished["usage"] = usage
    full = [open_ for open_ in (_interrupt(one, max_event_bytes // 2) for one in end.interrupts) if open_]
    if full:
        if len(orjson.dumps(full)) > max_event_bytes // 2:
            # The answer needs the id; the card can be drawn from the tool call. The rest is what can be left out.
            full = [{key: one[key] for key in ("id", "reason", "toolCallId") if key in one} for one in full]
        finished["outcome"] = {"type": Outcome.INTERRUPT.value, "interrupts": full}
    return [finished]


def words(value: str) -> str:
    """One line for people: no control or format characters, at most `MAX_WORDS` characters."""
    head = text(value[: 4 * MAX_WORDS])
    # Format characters (Cf) turn text around or hide it; the joiners that emoji and Persian need stay.
    clean = "".join(c if c in "\u200c\u200d" or unicodedata.category(c) not in ("Cc", "Cf") else " " for c in head)
    line = " ".join(clean.split())
    return line if len(line) <= MAX_WORDS else line[: MAX_WORDS - 1].rstrip() + "…"


def _usage(entry: object) -> Event | None:
    """What of a TokenUsage the protocol knows: two labels and non-negative counts."""
    if not isinstance(entry, Mapping):
        return None
    labels = {key: words(entry[key]) for key in ("provider", "model") if isinstance(entry.get(key), str)}
    counts = {key: entry[key] for key in _COUNTS if type(entry.get(key)) is int and 0 <= entry[key] < 2**53}
    return labels | counts if counts else None


def _interrupt(one: object, budget: int) -> Event | None:
    """An Interrupt the client can parse: `id` and `reason` are required, null is no value."""
    if not isinstance(one, Mapping) or not isinstance(one.get("id"), str) or not one["id"]:
        return None
    reason = one.get("reason")
    plain: Event = {"id": text(one["id"])[:_MAX_ID], "reason": words(reason) if isinstance(reason, str) and reason else "input_required"}
    for key in ("message", "toolCallId", "expiresAt"):
        if isinstance(one.get(key), str):
            plain[key] = text(one[key])[:_MAX_ID]
    for key in ("responseSchema", "metadata"):
        if isinstance(one.get(key), Mapping):
            try:
                plain[key] = jsonable(one[key], budget=budget)
            except TooBig:
                continue
    return plain
