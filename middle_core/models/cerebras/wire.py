"""What goes over the wire to Cerebras and back: LangChain messages to request messages, SSE frames to chunks.

Pure: it knows the documented chat-completions format (https://inference-docs.cerebras.ai/api-reference/chat-completions)
and what each model accepts; it knows no client, no clock and no retry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from middle_core.errors import InvalidRequest, ModelBadRequest
from middle_core.models.cerebras.errors import StreamFault

Json = dict[str, Any]

PROVIDER = "cerebras"

EVERY_MODEL = frozenset(
    {"max_completion_tokens", "response_format", "seed", "stop", "temperature", "tool_choice", "tools", "top_p", "user"}
)
"""Body fields that every model of the service takes."""

MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file"})
TEXT = frozenset({"text", "text-plain", "input_text", "output_text"})
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Traits:
    """What one model takes beyond `EVERY_MODEL`. The service answers 400 to a field the model does not know."""

    reasoning_efforts: frozenset[str] = frozenset()
    images: bool = False
    strict_tools: bool = False
    extra: frozenset[str] = frozenset()

    def takes(self, name: str, value: object) -> bool:
        """Whether the body field may be sent to this model."""
        if name == "reasoning_effort":
            return value in self.reasoning_efforts
        return name in EVERY_MODEL or name in self.extra


UNKNOWN = Traits()
TRAITS: Mapping[str, Traits] = {
    # parallel_tool_calls is on no list: `false` is refused (agno-agi/agno#4508) and `true` is the default.
    "gpt-oss-120b": Traits(
        reasoning_efforts=frozenset({"low", "medium", "high"}),
        strict_tools=True,
        extra=frozenset({"reasoning_format", "clear_thinking", "logprobs", "top_logprobs", "service_tier"}),
    ),
    "qwen-3.8-27b": Traits(
        reasoning_efforts=frozenset({"none", "low", "medium", "high"}),
        extra=frozenset({"reasoning_format", "clear_thinking", "logprobs", "top_logprobs", "service_tier"}),
    ),
    "gemma-4-31b": Traits(images=True),
}


def traits_of(model: str) -> Traits:
    """The traits of a model; one we do not know gets the fields that every model takes, and text only."""
    return TRAITS.get(model, UNKNOWN)


# --- out: messages ---------------------------------------------------------------------------------------------------


def wire_messages(messages: Sequence[BaseMessage], traits: Traits) -> list[Json]:
    """The history in the service's format.

    No empty or null content beside tool calls (langchain-ai/langchainjs#8643), a name on every tool message, text parts joined.
    An image in the newest user message is refused when the model reads text only; older ones become a note, or the thread
    could never go on. Reasoning goes back for the turn in progress only, as the service documents it.

    Raises InvalidRequest for such an image, ModelBadRequest for a message type that has no place on the wire.
    """
    newest_user = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    names = {call["id"]: call["name"] for m in messages if isinstance(m, AIMessage) for call in (*m.tool_calls, *m.invalid_tool_calls)}
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    wire: list[Json] = []
    for index, message in enumerate(messages):
        match message:
            case SystemMessage():
                wire.append({"role": "system", "content": _text(message.content)})
            case HumanMessage():
                content = _user_content(message.content, traits, newest=index == newest_user)
                wire.append({"role": "user", "content": content, **_name(message.name)})
            case AIMessage():
                reasoning = bool(traits.reasoning_efforts) and index > newest_user
                wire.extend(_assistant(message, answered, reasoning=reasoning))
            case ToolMessage():
                name = message.name or names.get(message.tool_call_id)
                wire.append({"role": "tool", "tool_call_id": message.tool_call_id, "content": _text(message.content), **_name(name)})
            case ChatMessage(role="system" | "developer" | "user" | "assistant" as role):
                wire.append({"role": role, "content": _text(message.content)})
            case _:
                raise ModelBadRequest(f"A message of type {message.type!r} cannot be sent to the model.")
    return wire


def _assistant(message: AIMessage, answered: set[str], *, reasoning: bool) -> Iterator[Json]:
    calls = [_call(c["id"], c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in message.tool_calls]
    # A call whose arguments were not JSON stays in the history only where its refusal does; the arguments never do.
    calls += [_call(c["id"], c["name"], "{}") for c in message.invalid_tool_calls if c["id"] in answered]
    text = _text(message.content)
    if not text and not calls:
        return
    wire: Json = {"role": "assistant", **_name(message.name)}
    if text:
        wire["content"] = text
    if calls:
        wire["tool_calls"] = calls
    if reasoning and (thought := message.additional_kwargs.get("reasoning_content")):
        wire["reasoning"] = _clean(str(thought))
    yield wire


def _call(call_id: str | None, name: str | None, arguments: str) -> Json:
    return {"id": call_id or "", "type": "function", "function": {"name": name or "", "arguments": _clean(arguments)}}


def _name(name: str | None) -> Json:
    return {"name": name} if name and NAME.fullmatch(name) else {}


def _text(content: str | Sequence[str | Mapping[str, Any]]) -> str:
    """All text of a message's content. Media becomes a note; thoughts and calls have their own fields; other parts become JSON."""
    if isinstance(content, str):
        return _clean(content)
    return _clean("\n".join(filter(None, map(_part, content))))


def _part(part: str | Mapping[str, Any]) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type")
    if kind in TEXT or (kind is None and "text" in part):
        return str(part.get("text") or "")
    if kind in MEDIA:
        return f"[{_media(part)} left out: this model reads text only]"
    if kind in {"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "thinking", "redacted_thinking", "reasoning"}:
        return ""
    return json.dumps(part, ensure_ascii=False, default=str)


def _user_content(content: str | Sequence[str | Mapping[str, Any]], traits: Traits, *, newest: bool) -> str | list[Json]:
    if isinstance(content, str) or not any(isinstance(p, Mapping) and p.get("type") in MEDIA for p in content):
        return _text(content)
    parts: list[Json] = []
    for part in content:
        if isinstance(part, str) or part.get("type") not in MEDIA:
            parts.append({"type": "text", "text": _clean(_part(part))})
        elif traits.images and (url := _image_url(part)):
            parts.append({"type": "image_url", "image_url": {"url": url}})
        elif newest:
            raise InvalidRequest(f"This model reads text only; your message has an attachment ({_media(part)}). Send it again as text.")
        else:
            parts.append({"type": "text", "text": _part(part)})
    return parts if traits.images else "\n".join(p["text"] for p in parts)


def _image_url(part: Mapping[str, Any]) -> str | None:
    """The URL of an image part in any of LangChain's shapes (OpenAI's, v0 and v1 blocks, Anthropic's); None if it is no image."""
    source = part.get("source") if isinstance(part.get("source"), Mapping) else {}
    mime = part.get("mime_type") or (source or {}).get("media_type") or "image/png"
    match part:
        case {"image_url": {"url": str(url)}} | {"image_url": str(url)} | {"type": "image", "url": str(url)}:
            return url
        case {"type": "image", "base64": str(data)} | {"type": "image", "source_type": "base64", "data": str(data)}:
            return f"data:{mime};base64,{data}"
        case {"type": "image", "source": {"data": str(data)}}:
            return f"data:{mime};base64,{data}"
    return None


def _media(part: Mapping[str, Any]) -> str:
    return str(part["type"]).removeprefix("input_").removesuffix("_url")


def _clean(text: str) -> str:
    """Text that UTF-8 can carry: a lone surrogate would fail the request long after the person could mend it."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --- out: tools ------------------------------------------------------------------------------------------------------


def wire_tools(tools: Iterable[Mapping[str, Any]], traits: Traits) -> list[Json]:
    """Tools in the service's format. `strict` is kept where the model takes it and every tool asks for it: a mix is refused."""
    plain: list[Json] = [{"type": "function", "function": dict(tool["function"])} for tool in tools]
    if not (traits.strict_tools and all(tool["function"].get("strict") for tool in plain)):
        for tool in plain:
            tool["function"].pop("strict", None)
    return plain


def wire_tool_choice(choice: object, tool_names: Sequence[str]) -> str | Json | None:
    """LangChain's `tool_choice` values in the service's: "any" and True mean "required", a tool's name means that tool.

    Raises ValueError for a name that is no bound tool.
    """
    match choice:
        case None | False:
            return None
        case "any" | "required" | True:
            return "required"
        case "auto" | "none":
            return str(choice)
        case str(name) | {"function": {"name": str(name)}} | {"name": str(name)}:
            if name not in tool_names:
                raise ValueError(f"tool_choice names {name!r}, which is not among the bound tools: {', '.join(tool_names) or 'none'}.")
            return {"type": "function", "function": {"name": name}}
    raise ValueError(f"tool_choice {choice!r} is not understood. Use 'auto', 'none', 'any' or a tool's name.")


# --- in: frames ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class FrameReader:
    """Bytes of an SSE body to the `data` of each event. Lines end at CR, LF or CRLF only: U+2028 and U+0085 are text.

    Bounded: an event may not exceed `limit` bytes (ValueError).
    """

    limit: int = 8 * 1024 * 1024
    _rest: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that `piece` completes."""
        whole = piece.startswith(b"data: ") and piece.endswith(b"\n\n") and piece.count(b"\n") == 2 and b"\r" not in piece
        if whole and not (self._rest or self._data) and len(piece) <= self.limit:
            return [piece[6:-2]]  # one event, as a provider sends nearly all of them
        events = []
        buffer = self._rest + piece
        if self._size + len(buffer) > self.limit:
            raise ValueError("An event of the model's stream is too large.")
        lines = buffer.splitlines(keepends=True)
        # A piece may end inside a line, or between the CR and the LF of one line end.
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


def shows(frame: Mapping[str, Any] | None) -> bool:
    """Whether a person would see something of it. None is the end marker.

    Raises TypeError, AttributeError or LookupError where it is no chunk: what passes here, `Answer.chunks` takes.
    """
    delta = _delta(frame) if frame else {}
    text, thought, calls = delta.get("content"), delta.get("reasoning"), delta.get("tool_calls")
    if thought is None and calls is None and type(text) is str:  # nearly all of them
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
    """One streamed answer: frames in, message chunks out; then `last()`, which carries what belongs to the whole.

    Usage, finish reason and times are held back and sent once, whichever frames bring them: LangChain adds up what it sees twice.
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
        """What the frames show, the text of neighbours in one chunk: a chunk for every token costs more than all else that is done with it."""
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
        """The frame's delta; what belongs to the whole is kept."""
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
        """The closing chunk: usage and metadata, with the ids of calls whose arguments are not one JSON object.

        Raises StreamFault if no frame said why the answer ended: then it did not end, it was cut.

        LangChain completes cut-off arguments by guessing, so `malformed_tool_calls` is the only trace of them: do not run those.
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
    """What of it is counts: an answer that is there is not lost because its bill cannot be read."""
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
