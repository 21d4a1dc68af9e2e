"""The protocol gate: what enters the log is a legal AG-UI sequence, whatever the source does.

Pure: events in, events out. It repairs what has one sensible repair (the table is `agui.grammar`), counts it in
`Gate.repairs`, and ends the run with closers and one RUN_ERROR where there is none. Otherwise it decides
nothing about a run's fate, reads no clock, and knows neither agents nor transports.

Legal is what both the AG-UI 1.x documents (https://docs.ag-ui.com/concepts/events) and the verifier of
@ag-ui/client 0.0.59 accept. What that client cannot *parse* is no matter of this module: see `transports.agui.frames`.

Ids. Text, reasoning and tool messages share one namespace (the client appends text to whichever message has the
id), tool calls have another. An id whose message or call was ended and starts again gets a suffix, `m~2`, for
everything that follows under it. The client would append to the ended message; AG-UI wants ids unique per run.

Size. No event is longer than `max_event_bytes` of JSON. Text, arguments and reasoning are split into several
deltas; a tool result is cut, with a note; anything else is replaced by CUSTOM `middle_core.omitted`.

State grows with the number of messages, calls and steps of one run, not with its length in tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from middle_core.agui.endings import Cancelled, End, Failed, Finished, opening, terminal
from middle_core.agui.grammar import (
    CALL,
    EXCEPTIONS,
    KINDS,
    MOVES,
    REASONING,
    RULES,
    STEP,
    TEXT,
    THOUGHT,
    Act,
    Kind,
    Malformed,
    Move,
    State,
    raw_string,
    string,
)
from middle_core.agui.jsonable import TooBig, content_text, json_pieces, json_size, text
from middle_core.agui.payloads import MAX_NAME, Payloads
from middle_core.agui.unique_ids import MESSAGE, Names
from middle_core.errors import MiddleCoreError
from middle_core.events import TERMINAL, ClientRunId, ClientThreadId, Event, EventType

__all__ = ["Cancelled", "End", "Failed", "Finished", "Gate", "opening"]

T = EventType

MIN_EVENT_BYTES: Final = 4096
"""Below it an event's bounded ids and names, all escaped, might not fit."""
UNNAMED_TOOL: Final = "unknown_tool"

_ROLES = frozenset({"assistant", "user", "system", "developer"})
HOT: Final[dict[str, tuple[Kind, str]]] = {kind.part.value: (kind, kind.part.value) for kind in KINDS if kind.part}


@dataclass(slots=True, eq=False)
class _Open:
    """An open thing: the source's id, ours, and what has come so far."""

    kind: Kind
    source_id: str
    id: str
    filled: bool = False
    half: str = ""
    """A high surrogate that waits for its other half in the next delta."""
    depth: int = 1
    ours: bool = False
    """A reasoning block that this gate opened itself: it ends with the last message in it."""


class Gate:
    """One run's gate. `feed` what the source says, then `close` once. Afterwards nothing comes out.

    Args:
        thread_id: the client's.
        run_id: the client's.
        max_event_bytes: of one event's JSON, at least `MIN_EVENT_BYTES`.
        correlation_id: for the RUN_ERROR that the gate itself may have to write; by default the run's id.

    Raises:
        ValueError: max_event_bytes is too small.
    """

    def __init__(self, *, thread_id: ClientThreadId, run_id: ClientRunId, max_event_bytes: int, correlation_id: str | None = None) -> None:
        if max_event_bytes < MIN_EVENT_BYTES:
            raise ValueError(f"max_event_bytes is {max_event_bytes}; it must be at least {MIN_EVENT_BYTES}")
        self.end: End | None = None
        """How the run ended; None while it is open."""
        self.fault: str | None = None
        """What was beyond repair, for the log of this server; holds no value of the event."""
        self.repairs: Counter[str] = Counter()
        """What was repaired or dropped, by kind of repair."""
        self._thread_id = thread_id
        self._run_id = run_id
        self._correlation_id = correlation_id if correlation_id is not None else str(run_id)
        self._max = max_event_bytes
        # An id stands in an event beside others; a sixty-fourth leaves room for all of them, escaped.
        limit = max_event_bytes // 64
        self._names = Names(limit)
        self._payloads = Payloads(self._names, self.repairs, max_event_bytes)
        self._open: dict[tuple[Kind, str], _Open] = {}
        self._unanswered: dict[str, list[str]] = {}
        self._answered: set[str] = set()
        self._latest: dict[Kind, str] = {}
        # JSON escapes a character into 6 bytes at most: shorter deltas fit without being measured.
        self._surely_fits = (max_event_bytes - 256) // 6 - limit

    @property
    def ended(self) -> bool:
        """Whether the terminal event has come out."""
        return self.end is not None

    def feed(self, event: Mapping[str, Any]) -> list[Event]:
        """The legal, JSON-safe events that this one becomes: none, one or several. Never raises.

        RUN_STARTED, RUN_FINISHED and RUN_ERROR of the source are not passed: the engine decides them.
        """
        if self.end is not None:
            return []
        # The hot path: one more piece for something open that already has its START.
        said = event.get("type") if type(event) is dict and len(event) == 3 else None
        if isinstance(said, str) and said in HOT:
            kind, name = HOT[said]
            source_id, delta = event.get(kind.key), event.get("delta")
            if type(source_id) is str and type(delta) is str and delta and len(delta) < self._surely_fits and text(delta) is delta:
                thing = self._open.get((kind, source_id))
                if thing is not None and not thing.half:
                    thing.filled = True
                    return [{"type": name, kind.key: thing.id, "delta": delta}]
        out: list[Event] = []
        try:
            for legal in self._feed(event):
                out.append(legal)  # noqa: PERF402 - what came out before a fault has changed the state, so it must be kept
        except Malformed as fault:
            self.fault = str(fault)
            out += self.close(Failed(MiddleCoreError.code, MiddleCoreError().detail, self._correlation_id))
        return out

    def close(self, end: End) -> list[Event]:
        """Closers for everything open, innermost first, then the one terminal event. [] after that."""
        if self.end is not None:
            return []
        out = list(self._close_all())
        self.end = end
        out += terminal(end, thread_id=self._thread_id, run_id=self._run_id, max_event_bytes=self._max)
        return out

    def recover(self, logged: Iterable[Event]) -> list[Event]:
        """Take over an earlier attempt: learn its events from the log, and close what it left open."""
        for event in logged:
            self.feed(event)
        return list(self._close_all())

    # What comes in --------------------------------------------------------------------------------------

    def _feed(self, event: Mapping[str, Any]) -> Iterator[Event]:
        if not isinstance(event, Mapping):
            raise Malformed(f"an event is a {type(event).__name__}, not a mapping")
        said = event.get("type")
        if not isinstance(said, str):
            raise Malformed(f"type is a {type(said).__name__}, not a string")
        name = str(said.value) if isinstance(said, Enum) else said
        if name in MOVES:
            yield from self._move(*MOVES[name], event)
        elif name == T.TOOL_CALL_RESULT:
            yield from self._result(event)
        elif name in self._payloads.table:
            yield from self._payloads.table[name](event)
        elif name not in TERMINAL and name != T.RUN_STARTED:
            self._count("raw_dropped" if name == "RAW" else "unknown_type_dropped")

    def _move(self, move: Move, kind: Kind, event: Mapping[str, Any]) -> Iterator[Event]:
        source_id = self._source_id(move, kind, event)
        # As it came: half of a surrogate pair may wait for the other half.
        delta = raw_string(event, "delta") if move is Move.PART and event.get("delta") is not None else ""
        thing = self._open.get((kind, source_id))
        if thing is not None:
            state = State.FILLED if thing.filled else State.STARTED
        else:
            # A step's name may come again; an id may not.
            state = State.ENDED if kind is not STEP and self._names.newest(kind, source_id) is not None else State.ABSENT
        act = EXCEPTIONS.get((kind, move, state)) or RULES[move, state]
        if act is Act.DROP or act is Act.NEST:
            self._count(f"{kind.name}_{move.value}_{state.value}")
            if act is Act.NEST and thing is not None:
                thing.depth += 1
            return
        if act is Act.RESTART and thing is not None:
            self._count(f"{kind.name}_restarted")
            yield from self._end(thing)
        if thing is None or act is Act.RESTART:
            if move is Move.PART and not delta and not event.get("toolCallName"):
                self._count("empty_delta")
                return
            self._count(f"{kind.name}_opened", move is not Move.START)
            yield from self._start(kind, source_id, event)
            thing = self._open[kind, source_id]
        if move is Move.PART:
            yield from self._part(thing, delta, self._payloads.metadata(event))
        elif move is Move.END:
            thing.depth -= 1
            if thing.depth == 0:
                yield from self._end(thing, self._payloads.metadata(event))

    def _source_id(self, move: Move, kind: Kind, event: Mapping[str, Any]) -> str:
        if move is Move.PART and event.get(kind.key) is None and kind in self._latest:
            return self._latest[kind]  # a chunk without an id goes on with the one before
        source_id = string(event, kind.key) or kind.name
        self._latest[kind] = source_id
        return source_id

    # Things with a beginning and an end -----------------------------------------------------------------

    def _start(self, kind: Kind, source_id: str, event: Mapping[str, Any]) -> Iterator[Event]:
        if kind is THOUGHT and not self._all(REASONING):
            yield from self._start(REASONING, source_id, {})
            self._open[REASONING, source_id].ours = True
            self._count("reasoning_opened")
        more: Event = {}
        if kind is TEXT:
            role, name = event.get("role"), event.get("name")
            more["role"] = str(role) if isinstance(role, str) and role in _ROLES else "assistant"
            if isinstance(name, str):
                more["name"] = text(name)[:MAX_NAME]
        elif kind is CALL:
            name = event.get("toolCallName")
            more["toolCallName"] = (string(event, "toolCallName")[:MAX_NAME] if name is not None else "") or UNNAMED_TOOL
        elif kind is THOUGHT:
            more["role"] = "reasoning"
        our_id = self._names.open(kind, source_id, carries_calls=more.get("role") == "assistant")
        self._count("renamed", our_id != source_id)
        self._open[kind, source_id] = _Open(kind, source_id, our_id)
        if kind is CALL:
            self._unanswered.setdefault(source_id, []).append(our_id)
            parent = event.get("parentMessageId")
            carrier = self._names.carrier(our_id, text(parent) if isinstance(parent, str) else None)
            if carrier is not None:
                more["parentMessageId"] = carrier
        yield {"type": kind.start.value, kind.key: our_id} | more | self._payloads.metadata(event)

    def _part(self, thing: _Open, delta: str, metadata: Event) -> Iterator[Event]:
        delta = thing.half + delta
        thing.half = ""
        if delta and "\ud800" <= delta[-1] <= "\udbff":
            thing.half, delta = delta[-1], delta[:-1]
        if not delta:
            self._count("empty_delta", not thing.half)
            return
        delta = text(delta)
        thing.filled = True
        assert thing.kind.part is not None
        frame: Event = {"type": thing.kind.part.value, thing.kind.key: thing.id} | metadata
        pieces = [delta]
        if len(delta) >= self._surely_fits:
            pieces = list(json_pieces(delta, self._max - json_size(frame) - len(',"delta":')))
            self._count("split", len(pieces) > 1)
        for piece in pieces:
            yield frame | {"delta": piece}

    def _end(self, thing: _Open, metadata: Event | None = None) -> Iterator[Event]:
        if thing.kind is REASONING and self._all(REASONING) == [thing]:
            # Reasoning messages stand inside a block: none outlives the last one.
            thing.ours = False
            for thought in reversed(self._all(THOUGHT)):
                self._count("thought_closed")
                yield from self._end(thought)
        if thing.half:
            thing.half = ""
            yield from self._part(thing, "\ufffd", {})
        del self._open[thing.kind, thing.source_id]
        yield {"type": thing.kind.end.value, thing.kind.key: thing.id} | (metadata or {})
        if thing.kind is THOUGHT and not self._all(THOUGHT):
            for block in [one for one in self._all(REASONING) if one.ours]:
                yield from self._end(block)

    def _all(self, kind: Kind) -> list[_Open]:
        return [one for one in self._open.values() if one.kind is kind]

    def _count(self, repair: str, happened: bool = True) -> None:
        if happened:
            self.repairs[repair] += 1

    def _close_all(self) -> Iterator[Event]:
        while self._open:
            thing = next(reversed(self._open.values()))
            self._count(f"{thing.kind.name}_closed")
            yield from self._end(thing)

    # Events that stand alone ----------------------------------------------------------------------------

    def _result(self, event: Mapping[str, Any]) -> Iterator[Event]:
        source_id = string(event, "toolCallId") or CALL.name
        waiting = self._unanswered.get(source_id)
        our_call = waiting[0] if waiting else self._names.answered(source_id)
        if our_call in self._answered:
            self._count("result_again")
            return
        wanted = event.get("messageId")
        wanted = (string(event, "messageId") if wanted is not None else "") or f"result-{our_call}"
        for call in [one for one in self._all(CALL) if one.id == our_call]:
            self._count("call_closed")
            yield from self._end(call)
        if waiting:
            del waiting[0]
        self._answered.add(our_call)
        our_id = self._names.take(MESSAGE, wanted)
        self._count("renamed", our_id != wanted)
        frame: Event = {"type": T.TOOL_CALL_RESULT.value, "messageId": our_id, "toolCallId": our_call, "role": "tool"}
        frame |= self._payloads.result_metadata(event)
        yield frame | {"content": self._content(event.get("content"), self._max - json_size(frame) - len(',"content":'))}

    def _content(self, content: Any, room: int) -> str:
        """A tool's result as one string (@ag-ui/client 0.0.59 takes no other), cut where it is too long."""
        try:
            whole = content_text(content, budget=16 * room)
        except TooBig:
            self._count("result_cut")
            return "[The result is much larger than one event may carry; it was left out.]"
        if json_size(whole) <= room:
            return whole
        self._count("result_cut")
        note = f"\n[Cut here: the result has {len(whole)} characters, more than one event may carry.]"
        return next(json_pieces(whole, room - len(note) - 8)) + note
