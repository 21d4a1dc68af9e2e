"""An answer of Cerebras: the bytes of its stream to events, and the frames in them to LangChain message chunks.

Pure. The format is https://inference-docs.cerebras.ai/api-reference/chat-completions. `request` writes what is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from middle_core.models.cerebras.errors import StreamFault

PROVIDER = "cerebras"


@dataclass(slots=True)
class FrameReader:
    """Bytes of an SSE body in, the `data` of each event out. Lines end at CR, LF or CRLF only: U+2028 and U+0085 are text.

    The SDK's decoder is not used because it hides whether the end marker came; see `stream_frames`. httpx-sse is not used because
    it makes a text and an object of every line, at thousands of events a second, and puts no limit on an event.

    limit: the most bytes of one event; more raises ValueError.
    """

    limit: int = 8 * 1024 * 1024
    _rest: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that `piece` completes."""
        whole = piece.startswith(b"data: ") and piece.endswith(b"\n\n") and piece.count(b"\n") == 2 and b"\r" not in piece
        if whole and not (self._rest or self._data) and len(piece) <= self.limit:
            return [piece[6:-2]]  # a piece is one whole event, nearly always: this is the fast path
        events = []
        buffer = self._rest + piece
        if self._size + len(buffer) > self.limit:
            raise ValueError("An event of the model's stream is too large.")
        lines = buffer.splitlines(keepends=True)
        # A piece may end within a line, or between the CR and the LF of one line end.
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for line in lines:
            if (text := line.rstrip(b"\r\n")).startswith(b"data:"):
                self._data.append(text[5:].removeprefix(b" "))
                self._size += len(line)
            elif not text and self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
                self._size = 0
        return events


def is_visible(frame: Mapping[str, Any] | None) -> bool:
    """Whether the frame holds something that a person would see. None stands for the end marker.

    Raises:
        TypeError, AttributeError, LookupError: the frame is not a chunk of a chat completion. `Answer.chunks` takes every frame
            that passes here.
    """
    delta = _delta(frame) if frame else {}
    text, thought, calls = delta.get("content"), delta.get("reasoning"), delta.get("tool_calls")
    if thought is None and calls is None and type(text) is str:  # nearly every frame: this is the fast path
        return text != ""
    text, thought, calls = text or "", thought or "", calls or []
    if not (isinstance(text, str) and isinstance(thought, str) and all(map(_is_call, calls))):
        raise TypeError("A delta is text, and calls.")
    return bool(text or thought or calls)


def _is_call(call: Mapping[str, Any]) -> bool:
    function = call.get("function") or {}
    texts = (call.get("id"), function.get("name"), function.get("arguments"))
    return isinstance(call.get("index"), int | None) and all(isinstance(one, str | None) for one in texts)


def _delta(frame: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = frame.get("choices")
    delta: Mapping[str, Any] = (choices[0].get("delta") if choices else None) or {}
    return delta


@dataclass(slots=True)
class Answer:
    """One streamed answer: frames in, message chunks out, then `last()` with what belongs to the whole answer.

    Usage, finish reason and times go out once, in `last()`, however many frames bring them. LangChain adds up what comes twice.
    """

    model: str
    begun: bool = False
    finish_reason: str | None = None
    _frame: Mapping[str, Any] = field(default_factory=dict)
    _usage: object = None
    _times: Mapping[str, Any] | None = None
    _arguments: dict[int, list[str]] = field(default_factory=dict)
    _ids: dict[int, str] = field(default_factory=dict)

    def chunks(self, frames: Iterable[Mapping[str, Any]]) -> Iterator[AIMessageChunk]:
        """The frames as chunks. Neighbours with text only become one chunk: to build a chunk costs more than all else that a token needs."""
        texts: list[str] = []
        for frame in frames:
            delta = self._take(frame)
            if not (delta.get("reasoning") or delta.get("tool_calls")):
                texts.append(delta.get("content") or "")
                continue
            if text := "".join(texts):
                yield AIMessageChunk(content=text)
            texts.clear()
            yield self._chunk(delta)
        if text := "".join(texts):
            yield AIMessageChunk(content=text)

    def _take(self, frame: Mapping[str, Any]) -> Mapping[str, Any]:
        """The frame's delta. Usage, finish reason and times are kept for `last`."""
        self._frame = frame
        self._usage = frame.get("usage") or self._usage
        self._times = frame.get("time_info") or self._times
        choices = frame.get("choices")
        self.finish_reason = (choices[0].get("finish_reason") if choices else None) or self.finish_reason
        return _delta(frame)

    def _chunk(self, delta: Mapping[str, Any]) -> AIMessageChunk:
        thought = delta.get("reasoning")
        return AIMessageChunk(
            content=delta.get("content") or "",
            additional_kwargs={"reasoning_content": thought} if thought else {},
            tool_call_chunks=[self._call_chunk(position, call) for position, call in enumerate(delta.get("tool_calls") or ())],
        )

    def _call_chunk(self, position: int, call: Mapping[str, Any]) -> ToolCallChunk:
        function = call.get("function") or {}
        index = call.get("index")
        index = position if index is None else index
        arguments = function.get("arguments")
        self._arguments.setdefault(index, []).append(arguments or "")
        if call.get("id"):
            self._ids.setdefault(index, call["id"])
        return tool_call_chunk(name=function.get("name"), args=arguments, id=call.get("id"), index=index)

    def last(self) -> AIMessageChunk:
        """The closing chunk: usage, metadata, and in `malformed_tool_calls` the ids of calls whose arguments are not one JSON object.

        Such calls must not run. LangChain completes arguments that were cut off by guessing, so these ids are the only trace.

        Raises:
            StreamFault: no frame named a finish reason, so the answer was cut.
        """
        if self.finish_reason is None:
            raise StreamFault("The stream ended without a finish reason.")
        metadata = {key: self._frame[key] for key in ("id", "system_fingerprint", "service_tier") if self._frame.get(key)}
        metadata |= {"model_name": self._frame.get("model") or self.model, "model_provider": PROVIDER, "finish_reason": self.finish_reason}
        if self._times:
            metadata["time_info"] = self._times
        if malformed := [self._ids.get(i, "") for i, args in self._arguments.items() if not _is_object("".join(args))]:
            metadata["malformed_tool_calls"] = malformed
        return AIMessageChunk(content="", chunk_position="last", usage_metadata=_usage(self._usage), response_metadata=metadata)


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text or "{}"), dict)
    except orjson.JSONDecodeError:
        return False


def _usage(usage: object) -> UsageMetadata | None:
    """The usage as far as it is numbers. An answer is not lost because its usage cannot be read."""
    if not (isinstance(usage, Mapping) and usage):
        return None
    sent, got = _tokens(usage, "prompt_tokens") or 0, _tokens(usage, "completion_tokens") or 0
    metadata = UsageMetadata(input_tokens=sent, output_tokens=got, total_tokens=_tokens(usage, "total_tokens") or sent + got)
    if (cached := _tokens(usage.get("prompt_tokens_details"), "cached_tokens")) is not None:
        metadata["input_token_details"] = {"cache_read": cached}
    if (thought := _tokens(usage.get("completion_tokens_details"), "reasoning_tokens")) is not None:
        metadata["output_token_details"] = {"reasoning": thought}
    return metadata


def _tokens(counts: object, name: str) -> int | None:
    found = counts.get(name) if isinstance(counts, Mapping) else None
    return found if isinstance(found, int) else None
