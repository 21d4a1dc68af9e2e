"""The rules of a legal run, written from the protocol's documents and from what its clients refuse.

This module shares no code with `agui.gate`, so that a fault of the gate shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from middle_core.events import Event

PAIRS = {
    "TEXT_MESSAGE_END": ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "messageId"),
    "TOOL_CALL_END": ("TOOL_CALL_START", "TOOL_CALL_ARGS", "toolCallId"),
    "REASONING_MESSAGE_END": ("REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "messageId"),
    "REASONING_END": ("REASONING_START", None, "messageId"),
    "STEP_FINISHED": ("STEP_STARTED", None, "stepName"),
}
STARTS = {start: (start, key) for start, _, key in PAIRS.values()}
PARTS = {part: (start, key) for start, part, key in PAIRS.values() if part}
ENDS = {end: (start, key) for end, (start, _, key) in PAIRS.items()}
ALONE = {
    "TOOL_CALL_RESULT",
    "STATE_SNAPSHOT",
    "STATE_DELTA",
    "MESSAGES_SNAPSHOT",
    "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA",
    "REASONING_ENCRYPTED_VALUE",
    "CUSTOM",
}


def violations(events: Sequence[Event], *, max_bytes: int | None = None) -> list[str]:
    """Every broken rule of a whole run, in words. max_bytes: of each event's JSON."""
    broken: list[str] = []
    open_: set[tuple[str, str]] = set()
    message_ids: set[str] = set()
    call_ids: set[str] = set()
    answered: set[str] = set()
    if not events or events[0]["type"] != "RUN_STARTED":
        broken.append("does not begin with RUN_STARTED")
    for at, event in enumerate(events):
        kind = event["type"]
        where = f"{at} {kind}"
        last = at == len(events) - 1
        size = len(orjson.dumps(event))
        if max_bytes is not None and size > max_bytes:
            broken.append(f"{where}: {size} bytes")
        if at and kind == "RUN_STARTED":
            broken.append(f"{where}: a second time")
        broken += [f"{where}: {key} is null" for key, value in event.items() if value is None and (kind, key) != ("CUSTOM", "value")]
        if (kind in ("RUN_FINISHED", "RUN_ERROR")) != last:
            broken.append(f"{where}: a terminal event must be the last one, and only that")
        if kind in ("RUN_FINISHED", "RUN_ERROR") and open_:
            broken.append(f"{where}: still open: {open_}")
        if kind in STARTS:
            start, key = STARTS[kind]
            if (start, event[key]) in open_:
                broken.append(f"{where}: {event[key]!r} is open already")
            open_.add((start, event[key]))
            ids = {"TEXT_MESSAGE_START": message_ids, "REASONING_MESSAGE_START": message_ids, "TOOL_CALL_START": call_ids}.get(kind)
            if ids is not None:
                if event[key] in ids:
                    broken.append(f"{where}: {event[key]!r} was used before")
                ids.add(event[key])
            if kind == "REASONING_MESSAGE_START" and not any(start == "REASONING_START" for start, _ in open_):
                broken.append(f"{where}: outside of a reasoning block")
        elif kind in PARTS:
            start, key = PARTS[kind]
            if (start, event[key]) not in open_:
                broken.append(f"{where}: {event[key]!r} is not open")
            if not event["delta"]:
                broken.append(f"{where}: empty delta")
        elif kind in ENDS:
            start, key = ENDS[kind]
            if (start, event[key]) not in open_:
                broken.append(f"{where}: {event[key]!r} is not open")
            open_.discard((start, event[key]))
            if kind == "REASONING_END" and not any(s == "REASONING_START" for s, _ in open_):
                broken += [f"{where}: {key!r} outlives its block" for s, key in open_ if s == "REASONING_MESSAGE_START"]
        elif kind == "TOOL_CALL_RESULT":
            if ("TOOL_CALL_START", event["toolCallId"]) in open_:
                broken.append(f"{where}: a result before its call was complete")
            if event["toolCallId"] in answered or event["messageId"] in message_ids:
                broken.append(f"{where}: answered twice, or its message id is taken")
            answered.add(event["toolCallId"])
            message_ids.add(event["messageId"])
            if not isinstance(event["content"], str):
                broken.append(f"{where}: content is no string")
        elif kind == "MESSAGES_SNAPSHOT":
            broken += [f"{where}: {key} of a message is null" for one in event["messages"] for key, value in one.items() if value is None]
        elif kind not in ALONE | {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"}:
            broken.append(f"{where}: not in the vocabulary")
    return broken
