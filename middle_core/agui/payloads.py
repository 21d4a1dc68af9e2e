"""Events that stand alone and carry any JSON: state, history, activities, encrypted values, CUSTOM.

They have no beginning and no end, so they may come at any place of a run. What can be wrong is their payload:
it is made JSON, kept within the bound or left out as a whole with a CUSTOM `middle_core.omitted` that says so,
and a patch is never sent onto a document that the client does not have. Pure; part of `agui.gate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from middle_core.agui.grammar import CALL, TEXT, THOUGHT, Malformed, string
from middle_core.agui.jsonable import TooBig, json_size, jsonable
from middle_core.agui.snapshot_messages import wire_message
from middle_core.agui.unique_ids import Names
from middle_core.events import OUTCOME, Custom, Event, EventType, ToolOutcome, custom

T = EventType

MAX_WORD: Final = 64
"""Characters of a word that programs decide by."""
_OUTCOMES: Final = frozenset(one.value for one in ToolOutcome)
MAX_NAME: Final = 256
"""Characters of a name for people: of a CUSTOM event, a tool, a message's author."""


class Payloads:
    """One run's events of this sort. Every method may raise `Malformed`.

    Args:
        names: the ids of the run.
        repairs: counts what is repaired or left out.
        max_event_bytes: of one event's JSON.
    """

    def __init__(self, names: Names, repairs: Counter[str], max_event_bytes: int) -> None:
        self._names = names
        self._repairs = repairs
        self._max = max_event_bytes
        self._state_lost = False
        self.table: Final[dict[str, Callable[[Mapping[str, Any]], Iterator[Event]]]] = {
            T.STATE_SNAPSHOT.value: self._state_snapshot,
            T.STATE_DELTA.value: self._state_delta,
            T.MESSAGES_SNAPSHOT.value: self._messages,
            T.ACTIVITY_SNAPSHOT.value: self._activity_snapshot,
            T.ACTIVITY_DELTA.value: self._activity_delta,
            T.REASONING_ENCRYPTED_VALUE.value: self._encrypted,
            T.CUSTOM.value: self._custom,
        }

    def metadata(self, event: Mapping[str, Any]) -> Event:
        """`{"metadata": ...}` for an event that has some, within an eighth of the bound; else nothing."""
        metadata = event.get("metadata")
        if not isinstance(metadata, Mapping):
            return {}
        try:
            plain = jsonable(metadata, budget=self._max // 8)
        except TooBig:
            plain = None
        if plain is None or json_size(plain) > self._max // 8:
            self._repairs["metadata_dropped"] += 1
            return {}
        return {"metadata": plain}

    def result_metadata(self, event: Mapping[str, Any]) -> Event:
        """`{"metadata": ...}` of a tool's result: every result in the log says what became of its call. One that says nothing is done."""
        kept: Event = self.metadata(event).get("metadata", {})
        if _word(kept.get(OUTCOME), "outcome") in _OUTCOMES:
            return {"metadata": kept}
        given = event.get("metadata")
        told = given.get(OUTCOME) if isinstance(given, Mapping) else None
        outcome, code = _word(told, "outcome"), _word(told, "code")
        if outcome not in _OUTCOMES:
            outcome, code = ToolOutcome.DONE.value, None
        # The words were too long, or there are none: what became of the call is told all the same.
        return {"metadata": {**kept, OUTCOME: {"outcome": outcome, "code": code, "message": ""}}}

    def _state_snapshot(self, event: Mapping[str, Any]) -> Iterator[Event]:
        if event.get("snapshot") is None:
            self._repairs["empty_snapshot"] += 1
            return
        self._state_lost = False
        yield from self._whole(event, T.STATE_SNAPSHOT, "snapshot")

    def _state_delta(self, event: Mapping[str, Any]) -> Iterator[Event]:
        operations = event.get("delta")
        if not isinstance(operations, list):
            raise Malformed(f"STATE_DELTA.delta is a {type(operations).__name__}, not a list")
        if self._state_lost or not operations or not all(map(_is_patch, operations)):
            self._repairs["state_delta_dropped"] += 1
            return
        yield from self._whole(event, T.STATE_DELTA, "delta")

    def _messages(self, event: Mapping[str, Any]) -> Iterator[Event]:
        messages = event.get("messages")
        if not isinstance(messages, list | tuple):
            raise Malformed(f"MESSAGES_SNAPSHOT.messages is a {type(messages).__name__}, not a list")
        kept: dict[str, Event] = {}
        for message in messages:
            try:
                plain = wire_message(message, budget=self._max)
            except TooBig:
                # Part of a history is worse than none: the browser drops what a snapshot does not name.
                yield self._omitted(T.MESSAGES_SNAPSHOT, None)
                return
            if plain is None:
                self._repairs["message_dropped"] += 1
            else:
                kept[plain["id"]] = plain
        yield self._fitting({"type": T.MESSAGES_SNAPSHOT.value, "messages": list(kept.values())} | self.metadata(event))

    def _activity_snapshot(self, event: Mapping[str, Any]) -> Iterator[Event]:
        fields = self._activity(event)
        if not isinstance(event.get("content"), Mapping):
            raise Malformed(f"ACTIVITY_SNAPSHOT.content is a {type(event.get('content')).__name__}, not a mapping")
        if isinstance(replace := event.get("replace"), bool):
            fields["replace"] = replace
        yield from self._whole(event, T.ACTIVITY_SNAPSHOT, "content", fields)

    def _activity_delta(self, event: Mapping[str, Any]) -> Iterator[Event]:
        operations = event.get("patch")
        if not isinstance(operations, list) or not all(map(_is_patch, operations)):
            self._repairs["activity_delta_dropped"] += 1
            return
        yield from self._whole(event, T.ACTIVITY_DELTA, "patch", self._activity(event))

    def _activity(self, event: Mapping[str, Any]) -> Event:
        source_id, kind = string(event, "messageId"), string(event, "activityType")
        return {"messageId": self._names.activity(source_id), "activityType": kind[:MAX_NAME]}

    def _encrypted(self, event: Mapping[str, Any]) -> Iterator[Event]:
        subtype, entity = event.get("subtype"), string(event, "entityId")
        if subtype not in ("tool-call", "message"):
            self._repairs["encrypted_value_dropped"] += 1
            return
        kinds = (CALL,) if subtype == "tool-call" else (THOUGHT, TEXT)
        ours = next((ours for kind in kinds if (ours := self._names.newest(kind, entity)) is not None), entity)
        frame: Event = {"type": T.REASONING_ENCRYPTED_VALUE.value, "subtype": subtype, "entityId": ours}
        yield self._fitting(frame | {"encryptedValue": string(event, "encryptedValue")} | self.metadata(event))

    def _custom(self, event: Mapping[str, Any]) -> Iterator[Event]:
        name, value = string(event, "name"), event.get("value")
        if name == Custom.OMITTED and isinstance(value, Mapping) and value.get("type") in (T.STATE_SNAPSHOT, T.STATE_DELTA):
            self._state_lost = True  # an earlier attempt of this run left it out
        yield from self._whole(event, T.CUSTOM, "value", {"name": name[:MAX_NAME]})

    def _whole(self, event: Mapping[str, Any], name: T, payload: str, fields: Event | None = None) -> Iterator[Event]:
        frame: Event = {"type": name.value} | (fields or {})
        try:
            frame[payload] = jsonable(event.get(payload), budget=self._max)
        except TooBig:
            yield self._omitted(name, frame.get("name"))
            return
        yield self._fitting(frame | self.metadata(event))

    def _fitting(self, event: Event) -> Event:
        return event if json_size(event) <= self._max else self._omitted(T(event["type"]), event.get("name"))

    def _omitted(self, name: T, label: str | None) -> Event:
        self._repairs["omitted"] += 1
        if name in (T.STATE_SNAPSHOT, T.STATE_DELTA):
            self._state_lost = True
        return custom(Custom.OMITTED, type=name.value, label=label, maxBytes=self._max)


def _word(value: Any, key: str) -> str | None:
    """A short text in a mapping; None where there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return str(found) if isinstance(found, str) and len(found) <= MAX_WORD else None


def _is_patch(operation: Any) -> bool:
    """Whether it is an operation of RFC 6902 by its shape."""
    if not isinstance(operation, Mapping):
        return False
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str) or (path and not path.startswith("/")):
        return False
    if op in ("move", "copy"):
        return isinstance(operation.get("from"), str)
    return op == "remove" or (op in ("add", "replace", "test") and "value" in operation)
