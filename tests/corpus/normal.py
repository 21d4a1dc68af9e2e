"""Streams made comparable: stable ids and no times for a golden file, the essence for another implementation's stream."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from middle_core.events import QUESTION_ACTIVITY, Custom, Event
from tests.corpus.playing import Played
from tests.fakes.play import json_or_text

_RANDOM_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a UUID
    r"|(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"  # its hex, or LangGraph's hash of a question
    r"|(?<=-)[0-9a-f]{8}\b"  # the suffix with which `runs.graph.ids` makes an id unique
)
_DROPPED = frozenset({"timestamp", "startedAt", "latencyMs", "correlationId", "parentRunId"})
"""Keys with times, and keys that only the server sets."""
_TOLD_BY_THE_ENGINE = frozenset({Custom.TURN.value, Custom.INTERRUPT_RESOLVED.value, Custom.WAITING.value, QUESTION_ACTIVITY})
"""Events that a stream over HTTP has and the source does not send."""
_DELTAS = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
    "REASONING_MESSAGE_CONTENT": "messageId",
}


def stable(played: Played, *, numbered: bool = True) -> Played:
    """The stream with stable ids, without times, and with neighbouring deltas joined. numbered: ids that differ stay different."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id-{len(numbers) + 1}") if numbered else "id"

    def clean(value: Any) -> Any:
        match value:
            case str():
                return _RANDOM_ID.sub(number, value)
            case dict():
                return {key: clean(one) for key, one in value.items() if key not in _DROPPED}
            case list():
                return [clean(one) for one in value]
            case _:
                return value

    return Played(
        streams=[
            [clean(one) for one in joined(events) if one.get("name", one.get("activityType")) not in _TOLD_BY_THE_ENGINE]
            for events in played.streams
        ],
        shown=clean(played.shown),
        saw=clean(json.loads(json.dumps(played.saw))),
        did=clean(played.did),
    )


def joined(events: Sequence[Event]) -> list[Event]:
    """Join neighbouring deltas of one message or call, because their number depends on timing."""
    found: list[Event] = []
    for event in events:
        key = _DELTAS.get(event["type"])
        if key is not None and found and found[-1]["type"] == event["type"] and found[-1][key] == event[key]:
            found[-1] = found[-1] | {"delta": found[-1]["delta"] + event["delta"]}
        else:
            found.append(event)
    return found


def essence(played: Played, beside: Sequence[str] = ()) -> dict[str, Any]:
    """What two implementations must agree on, by aspect. beside: further aspects, of `BESIDE`.

    Ids, the number of deltas, steps, state and custom events are each implementation's own.
    """
    unnumbered = stable(played, numbered=False)
    told = {name: [look(events) for events in played.streams] for name, look in (_ASPECTS | {one: BESIDE[one] for one in beside}).items()}
    told["messages"] = [_messages(shown) for shown in played.shown]
    if "ids" in beside:
        told["ids"] = [_known(shown, events) for shown, events in zip(played.shown, played.streams, strict=True)]
    return told | {"saw": unnumbered.saw, "did": unnumbered.did}


def _gathered(events: Sequence[Event], kind: str, key: str) -> list[str]:
    found = {one[key]: "" for one in events if one["type"] == f"{kind}_START"}
    part = "ARGS" if kind == "TOOL_CALL" else "CONTENT"
    for one in events:
        if one["type"] == f"{kind}_{part}":
            found[one[key]] = found.get(one[key], "") + one["delta"]
    return list(found.values())


def _calls(events: Sequence[Event]) -> list[list[Any]]:
    names = list({one["toolCallId"]: one["toolCallName"] for one in events if one["type"] == "TOOL_CALL_START"}.values())
    return [[name, json_or_text(text)] for name, text in zip(names, _gathered(events, "TOOL_CALL", "toolCallId"), strict=False)]


def _end(events: Sequence[Event]) -> str:
    last: Event = events[-1] if events else {"type": "nothing"}
    match last["type"]:
        case "RUN_FINISHED":
            return str((last.get("outcome") or {}).get("type") or "success")
        case "RUN_ERROR":
            return f"{last.get('code', 'error')}: {last['message']}"
        case _:
            return f"cut off after {last['type']}"


def _messages(shown: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Roles, texts and calls. A result is shown with its call, as on a page, wherever its message is. Reasoning is an aspect of its own."""
    results = {one["toolCallId"]: one.get("content") for one in shown if one["role"] == "tool"}
    return [
        [
            one["role"],
            one.get("content") or "",
            *(
                [call["function"]["name"], json_or_text(call["function"]["arguments"]), results.get(call["id"])]
                for call in one.get("toolCalls") or ()
            ),
        ]
        for one in shown
        if one["role"] not in ("reasoning", "tool")
    ]


_ASPECTS: dict[str, Any] = {
    "texts": lambda events: _gathered(events, "TEXT_MESSAGE", "messageId"),
    "reasoning": lambda events: _gathered(events, "REASONING_MESSAGE", "messageId"),
    "calls": _calls,
    "results": lambda events: [one["content"] for one in events if one["type"] == "TOOL_CALL_RESULT"],
    "asks": lambda events: [
        [one["reason"], one.get("message", "")]
        for event in events
        if event["type"] == "RUN_FINISHED"
        for one in (event.get("outcome") or {}).get("interrupts", [])
    ],
    "end": _end,
}


def _order(events: Sequence[Event]) -> list[str]:
    """Texts, calls and results in the order in which they begin."""
    return [one["type"] for one in events if one["type"].endswith(("MESSAGE_START", "CALL_START", "CALL_RESULT"))]


def _steps(events: Sequence[Event]) -> dict[str, list[str]]:
    """How often each step was opened, and which were left open at the end."""
    opened: dict[str, int] = {}
    open_: list[str] = []
    for one in events:
        if one["type"] == "STEP_STARTED":
            opened[_step(one)] = opened.get(_step(one), 0) + 1
            open_.append(_step(one))
        elif one["type"] == "STEP_FINISHED" and _step(one) in open_:
            open_.remove(_step(one))
    return {"opened": sorted(f"{name} x{times}" for name, times in opened.items()), "left open": sorted(open_)}


def _step(event: Event) -> str:
    """The node's own name. Our step names are paths, with a number if a node runs again."""
    return str(event["stepName"].partition(" #")[0].rpartition(":")[2])


def _state(events: Sequence[Event]) -> list[Any]:
    """The last state that is shown, and the number of snapshots. For messages in the state, only their number."""
    shown = [one["snapshot"] for one in events if one["type"] == "STATE_SNAPSHOT"]
    snapshots = sum(one["type"] == "MESSAGES_SNAPSHOT" for one in events)
    last = {key: f"{len(value)} messages" if key == "messages" else value for key, value in shown[-1].items()} if shown else None
    return [last, f"{len(shown)} state and {snapshots} message snapshots"]


def _custom(events: Sequence[Event]) -> list[Any]:
    """CUSTOM events that a page may listen for, except the server's."""
    return [[one["name"], one.get("value")] for one in events if one["type"] == "CUSTOM" and not one["name"].startswith("middle_core.")]


def _ours(events: Sequence[Event]) -> list[str]:
    """The server's CUSTOM events, except those that every run has."""
    usual = {"middle_core.run", "middle_core.topology", "middle_core.node_started", "middle_core.node_completed"}
    return [
        one["name"] for one in events if one["type"] == "CUSTOM" and one["name"].startswith("middle_core.") and one["name"] not in usual
    ]


def _known(shown: Sequence[dict[str, Any]], events: Sequence[Event]) -> list[str]:
    """Messages that were streamed under one id and are shown under another one at the end."""
    streamed = {one["messageId"] for one in events if one["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_RESULT")}
    return [f"{len(streamed - {one['id'] for one in shown})} streamed messages are gone"]


def _encrypted(events: Sequence[Event]) -> list[str]:
    """Values that are kept for the provider and not shown."""
    return [one["encryptedValue"] for one in events if one["type"] == "REASONING_ENCRYPTED_VALUE"]


def _usage(events: Sequence[Event]) -> list[Any]:
    """Tokens, by model."""
    return [[one.get("model"), one.get("inputTokens"), one.get("outputTokens")] for end in events for one in end.get("usage") or ()]


def _nameless(events: Sequence[Event]) -> int:
    """How many messages and calls begin without an id."""
    return sum(
        not (one.get("toolCallId") or one.get("messageId")) for one in events if one["type"].endswith(("MESSAGE_START", "CALL_START"))
    )


BESIDE: dict[str, Any] = {
    "nameless": _nameless,
    "usage": _usage,
    "encrypted": _encrypted,
    "order": _order,
    "steps": _steps,
    "state": _state,
    "custom": _custom,
    "ours": _ours,
    "ids": lambda _events: None,
}
