"""Model chunks to AG-UI events, kept apart by the id of the model run that they belong to.

The SDK's own translation keeps one message in progress for the whole graph. So parallel nodes mix their texts (ag-ui-protocol/ag-ui#1016
shows it for tool calls), and it loses arguments that come with the name, a second call in one chunk, and the text on the finishing chunk.
Here each model run is its own stream.

Ids are settled here as well. The chunk object passes through before the model's caller sees it, so an id that is missing, empty or taken is
replaced *in the chunk*. What is streamed, what the graph stores and what the history shows then have one id. Knows chunks by duck typing,
and no graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.utils.json import parse_partial_json

from middle_core.agui.fold import REASONING
from middle_core.errors import MiddleCoreError
from middle_core.events import Event, EventType
from middle_core.runs.graph.content import pieces
from middle_core.runs.graph.ids import Ids
from middle_core.runs.graph.think_tags import ThinkTags, move_reasoning

_TEXT_START = EventType.TEXT_MESSAGE_START.value
_TEXT = EventType.TEXT_MESSAGE_CONTENT.value
_TEXT_END = EventType.TEXT_MESSAGE_END.value

MANY_PIECES: Final = 20_000
"""Pieces of one answer at which the log says what they cost."""
MAX_PIECES: Final = 300_000
"""Pieces of one answer at which the run fails. LangChain keeps each piece of a model's answer, 1.7 kB of memory, until the answer ends."""


@dataclass(frozen=True, slots=True)
class Show:
    """What of a model run the client may see.

    Args:
        text: whether it sees the text.
        tools: of whose calls it sees the start and the arguments: all, none, or the named tools.
        predict: CopilotKit's `predict_state`.
    """

    text: bool = True
    tools: bool | Collection[str] = True
    predict: tuple[Mapping[str, Any], ...] = ()

    def tool(self, name: str) -> bool:
        """Whether calls of this tool are shown."""
        return self.tools if isinstance(self.tools, bool) else name in self.tools


@dataclass(slots=True)
class _Call:
    """A tool call under way. `waiting` holds arguments that came before the name."""

    call_id: str
    source_id: str | None
    index: int
    name: str = ""
    shown: bool = False
    waiting: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self.arguments)


@dataclass(slots=True)
class _Stream:
    """One model run."""

    run_id: Hashable
    show: Show
    message_id: str = ""
    text_open: bool = False
    reasoning_id: str = ""
    reasoning_part: Any = None
    reasonings: int = 0
    chunks: int = 0
    tags: ThinkTags = field(default_factory=ThinkTags)
    calls: list[_Call] = field(default_factory=list)
    at: dict[int | str, _Call] = field(default_factory=dict)
    """The call at the provider's index: the newest, where it gives one index to several."""


class ModelStreams:
    """The model runs of one run of a graph. Not thread-safe: the owner locks.

    Attributes:
        predicted: tool call id to the state keys whose value the client is predicting from its arguments.

    Args:
        ids: those of the thread.
        warn: says something in the server's log.
    """

    def __init__(self, ids: Ids, warn: Callable[[str], None] = lambda _words: None) -> None:
        self._ids = ids
        self._warn = warn
        self._streams: dict[Hashable, _Stream] = {}
        self._broken_calls: dict[str, dict[str, str]] = {}
        self.predicted: dict[str, list[str]] = {}

    def start(self, run_id: Hashable, show: Show) -> None:
        """A model run begins."""
        self._streams[run_id] = _Stream(run_id, show)

    def chunk(self, run_id: Hashable, message: Any) -> list[Event]:
        """One chunk. Its id, and those of its tool call chunks, are set in place where they need it."""
        stream = self._streams.get(run_id)
        if stream is None:
            return []
        self._pin(stream, message)
        stream.chunks += 1
        if stream.chunks >= MANY_PIECES:
            self._count(stream)
        move_reasoning(message, stream.tags, last=getattr(message, "chunk_position", None) == "last")
        calls = getattr(message, "tool_call_chunks", None)
        content = message.content
        if type(content) is str and not calls and not message.additional_kwargs and not stream.reasoning_id and not stream.calls:
            # The hot path: a token of text.
            if not content or not stream.show.text:
                return []
            event: Event = {"type": _TEXT, "messageId": stream.message_id, "delta": content}
            return [event] if stream.text_open else [*self._open_text(stream), event]
        events = list(self._message_events(stream, content, message.additional_kwargs))
        if calls:
            events.extend(self._call_chunks(stream, calls))
        last = getattr(message, "chunk_position", None) == "last"
        if stream.calls and last:
            _spoil(message.tool_call_chunks, stream.calls)
        if calls and (last or any(part.get("id") for part in calls)):
            message.init_tool_calls()  # a lone chunk is never joined, so its calls are read again here
        return events

    def _count(self, stream: _Stream) -> None:
        """Speak of an answer in very many pieces. Raises MiddleCoreError where it has too many."""
        if stream.chunks == MANY_PIECES:
            self._warn(
                f"One answer came in more than {MANY_PIECES} pieces, which LangChain keeps until it ends. Wrap the model: "
                "middle_core.models.coalesce.Coalesce(inner=model)."
            )
        if stream.chunks > MAX_PIECES:
            raise MiddleCoreError("The model's answer is too long.")

    def message_id(self, run_id: Hashable) -> str:
        """The id of the message that this model run, which is not over, streams. Empty before its first chunk."""
        stream = self._streams.get(run_id)
        return "" if stream is None else stream.message_id

    def shows_text(self, run_id: Hashable) -> bool:
        """Whether the text of this model run, which is not over, is shown."""
        stream = self._streams.get(run_id)
        return stream is not None and stream.show.text

    def end(self, run_id: Hashable, message: Any) -> list[Event]:
        """The model run is over. `message` is the whole; it is told here if nothing was streamed."""
        stream = self._streams.pop(run_id, None)
        if stream is None:
            return []
        self._pin(stream, message)
        broken = {one.call_id: one.text for one in stream.calls if not _is_object(one.text)}
        if broken:
            self._broken_calls[stream.message_id] = broken
            if getattr(message, "tool_call_chunks", None) is None:  # a chunk is the caller's own, who may join it only later
                self.drop_broken_calls(message)
        events: list[Event] = []
        if not stream.chunks:
            move_reasoning(message, stream.tags, last=True)
            events = [*self._message_events(stream, message.content, message.additional_kwargs), *self._whole_calls(stream, message)]
        return [*events, *self._close(stream)]

    def drop_broken_calls(self, message: Any) -> None:
        """Take from a message, in place, the calls whose streamed arguments were no JSON object; see `_spoil`.

        As invalid calls, with their arguments as streamed, they cannot run, and the model is told.
        """
        broken = self._broken_calls.get(message.id)
        if not broken:
            return
        kept = [one for one in message.tool_calls if one["id"] not in broken]
        found = {one["id"]: one["name"] for one in (*message.tool_calls, *message.invalid_tool_calls) if one["id"] in broken}
        rest = [one for one in message.invalid_tool_calls if one["id"] not in broken]
        message.tool_calls = kept
        message.invalid_tool_calls = rest + [
            {"name": name, "args": broken[call_id], "id": call_id, "error": None, "type": "invalid_tool_call"}
            for call_id, name in found.items()
        ]
        if getattr(message, "tool_call_chunks", None):
            # A stored chunk is parsed again when it is read.
            message.tool_call_chunks = [one for one in message.tool_call_chunks if one["id"] not in broken]

    def abort(self, run_id: Hashable) -> list[Event]:
        """The model run broke off. Returns the ends of what it left open, for whoever finds that the node went on without it.

        They are not due at once: an end claims that a message is whole, and a stopped run's is not.
        """
        stream = self._streams.pop(run_id, None)
        return [] if stream is None else list(self._close(stream))

    def whole_message(self, message: Any) -> list[Event]:
        """An assistant message that came without any model run of ours: told as one. Its id is taken already."""
        stream = _Stream(None, Show(), message_id=message.id)
        move_reasoning(message, stream.tags, last=True)
        return [
            *self._message_events(stream, message.content, message.additional_kwargs),
            *self._whole_calls(stream, message),
            *self._close(stream),
        ]

    def _pin(self, stream: _Stream, message: Any) -> None:
        if not stream.message_id:
            stream.message_id = self._ids.message(message.id, f"lc_run--{stream.run_id}")
        if message.id != stream.message_id:
            message.id = stream.message_id

    # Text and reasoning ------------------------------------------------------------------------------

    def _open_text(self, stream: _Stream) -> Iterator[Event]:
        stream.text_open = True
        yield {"type": _TEXT_START, "messageId": stream.message_id, "role": "assistant"}

    def _message_events(self, stream: _Stream, content: Any, extra: Mapping[str, Any] | None) -> Iterator[Event]:
        if not stream.show.text:
            return
        for piece in pieces(content, extra):
            if piece.kind == "text":
                yield from self._end_reasoning(stream)
                if not stream.text_open:
                    yield from self._open_text(stream)
                yield {"type": _TEXT, "messageId": stream.message_id, "delta": piece.text}
            else:
                yield from self._reasoning_events(stream, piece.kind == "encrypted", piece.text, piece.part)

    def _reasoning_events(self, stream: _Stream, encrypted: bool, text: str, part: Any) -> Iterator[Event]:
        if not stream.reasoning_id:
            stream.reasoning_id = f"{stream.message_id}{REASONING}{stream.reasonings}"
            stream.reasoning_part = part
            stream.reasonings += 1
            yield {"type": EventType.REASONING_START.value, "messageId": stream.reasoning_id}
            yield {"type": EventType.REASONING_MESSAGE_START.value, "messageId": stream.reasoning_id, "role": "reasoning"}
        if encrypted:
            yield {
                "type": EventType.REASONING_ENCRYPTED_VALUE.value,
                "subtype": "message",
                "entityId": stream.reasoning_id,
                "encryptedValue": text,
            }
            return
        delta = text if part == stream.reasoning_part else f"\n\n{text}"
        stream.reasoning_part = part
        yield {"type": EventType.REASONING_MESSAGE_CONTENT.value, "messageId": stream.reasoning_id, "delta": delta}

    def _end_reasoning(self, stream: _Stream) -> Iterator[Event]:
        if stream.reasoning_id:
            yield {"type": EventType.REASONING_MESSAGE_END.value, "messageId": stream.reasoning_id}
            yield {"type": EventType.REASONING_END.value, "messageId": stream.reasoning_id}
            stream.reasoning_id = ""

    # Tool calls --------------------------------------------------------------------------------------

    def _call_chunks(self, stream: _Stream, parts: list[dict[str, Any]]) -> Iterator[Event]:
        yield from self._end_reasoning(stream)
        for part in parts:
            call = self._find(stream, part)
            if call is None:
                call = self._new(stream, part)
            else:
                # Said already; LangChain would join the repeated name to "searchsearch".
                if call.name:
                    part["name"] = None
                part["id"] = None
            # LangChain joins the parts of a call by their index; without one it would make a call of each.
            part["index"] = call.index
            yield from self._call_events(stream, call, part.get("name") or "", part.get("args") or "")

    def _find(self, stream: _Stream, part: Mapping[str, Any]) -> _Call | None:
        index, source_id, name = part.get("index"), part.get("id") or None, part.get("name") or None
        if index is not None:
            call = stream.at.get(index)
        elif source_id is not None:
            call = next((one for one in stream.calls if one.source_id == source_id), None)
        else:
            call = stream.calls[-1] if stream.calls and name is None else None
        if call is None:
            return None
        # A provider that numbers each call 0 tells them apart by id, or by a new name.
        other_id = source_id is not None and call.source_id is not None and source_id != call.source_id
        other_name = name is not None and bool(call.name) and name != call.name
        return None if other_id or other_name else call

    def _new(self, stream: _Stream, part: dict[str, Any]) -> _Call:
        source_id, key = part.get("id") or None, part.get("index")
        used = {one.index for one in stream.calls}
        index = key if isinstance(key, int) and key not in used else max(used, default=-1) + 1
        call = _Call(self._ids.call(source_id), source_id, index)
        part["id"] = call.call_id
        stream.calls.append(call)
        if key is not None:
            stream.at[key] = call
        return call

    def _call_events(self, stream: _Stream, call: _Call, name: str, arguments: str) -> Iterator[Event]:
        call.waiting += arguments
        call.arguments.append(arguments)
        if not call.name:
            if not name:
                return
            call.name = name
            call.shown = stream.show.tool(name)
            keys = [str(one.get("state_key")) for one in stream.show.predict if one.get("tool") == name]
            if keys:
                self.predicted[call.call_id] = keys
                yield {"type": EventType.CUSTOM.value, "name": "PredictState", "value": [dict(one) for one in stream.show.predict]}
            if call.shown:
                yield {
                    "type": EventType.TOOL_CALL_START.value,
                    "toolCallId": call.call_id,
                    "toolCallName": name,
                    "parentMessageId": stream.message_id,
                }
        if call.waiting and call.shown:
            yield {"type": EventType.TOOL_CALL_ARGS.value, "toolCallId": call.call_id, "delta": call.waiting}
        call.waiting = ""

    def _whole_calls(self, stream: _Stream, message: Any) -> Iterator[Event]:
        for one in (*message.tool_calls, *message.invalid_tool_calls):
            call = _Call(self._ids.call(one.get("id")), one.get("id"), index=len(stream.calls))
            one["id"] = call.call_id
            stream.calls.append(call)
            arguments = one.get("args")
            text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)
            yield from self._call_events(stream, call, one.get("name") or "tool", text)

    def _close(self, stream: _Stream) -> Iterator[Event]:
        yield from self._end_reasoning(stream)
        if stream.text_open:
            yield {"type": _TEXT_END, "messageId": stream.message_id}
        for call in stream.calls:
            if call.shown:
                yield {"type": EventType.TOOL_CALL_END.value, "toolCallId": call.call_id}


def _is_object(arguments: str) -> bool:
    """No arguments at all are an empty object."""
    if not arguments.strip():
        return True
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _spoil(parts: list[dict[str, Any]], calls: Iterable[_Call]) -> None:
    """Add an end to arguments that are no JSON object, so that LangChain does not take them for one either.

    LangChain completes what was cut off: `{"id": "X12` becomes a call with id X12, and the tool runs with it. One closing bracket
    too many, inside or outside of a string, makes it an invalid call for everyone who joins the chunks, a team's node too.

    Args:
        parts: the call chunks of the last chunk.
        calls: all calls of the model run.
    """
    for call in calls:
        if _is_object(call.text):
            continue
        closing = "]" * (call.text.count("[") + 1)
        ends = (before + closing for before in ("", '"', '\\"'))
        end = next((one for one in ends if not _completes(call.text + one)), closing)
        mine = next((part for part in reversed(parts) if part.get("index") == call.index), None)
        if mine is None:
            parts.append({"name": None, "args": end, "id": None, "index": call.index, "type": "tool_call_chunk"})
        else:
            mine["args"] = f"{mine.get('args') or ''}{end}"


def _completes(arguments: str) -> bool:
    """Whether LangChain would make an object of these arguments."""
    try:
        return isinstance(parse_partial_json(arguments), dict)
    except ValueError:
        return False
