"""A request to Cerebras: LangChain messages and tools in the service's format, and what each model accepts.

Pure. The format is https://inference-docs.cerebras.ai/api-reference/chat-completions. `answer` reads what comes back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.messages.tool import tool_call

from middle_core.errors import InvalidRequest, ModelBadRequest

Json = dict[str, Any]

EVERY_MODEL = frozenset(
    {"max_completion_tokens", "response_format", "seed", "stop", "temperature", "tool_choice", "tools", "top_p", "user"}
)
"""Body fields that every model of the service takes."""

MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file"})
TEXT = frozenset({"text", "text-plain", "input_text", "output_text"})
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Traits:
    """What one model takes beyond `EVERY_MODEL`. The service answers 400 to a field that the model does not know."""

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
    # No list names parallel_tool_calls: the service refuses `false` (agno-agi/agno#4508), and `true` is its default.
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
    """The traits of a model. An unknown model gets text only, and the fields that every model takes."""
    return TRAITS.get(model, UNKNOWN)


# --- messages --------------------------------------------------------------------------------------------------------


def wire_messages(messages: Sequence[BaseMessage], traits: Traits) -> list[Json]:
    """The history in the service's format.

    LangChain's own `convert_to_openai_messages` writes roles, calls and images. What it does not know is done here, because the
    service answers 400 to it: an empty content beside tool calls (langchain-ai/langchainjs#8643), a tool message without the
    tool's name, content parts that it does not know, a call whose arguments were no JSON.

    An image in the newest user message is refused when the model reads text only. Older images become a note, or the thread could
    never go on. Reasoning goes back only for the turn in progress, as the service documents it.

    Raises:
        InvalidRequest: the newest user message holds an attachment that the model cannot read.
        ModelBadRequest: the history holds a message type that the service does not know.
    """
    newest_user = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    names = {call["id"]: call["name"] for m in messages if isinstance(m, AIMessage) for call in (*m.tool_calls, *m.invalid_tool_calls)}
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    wire: list[Json] = []
    for index, message in enumerate(messages):
        match message:
            case HumanMessage():
                wire.append(_wire(message, content=_user_content(message.content, traits, newest=index == newest_user)))
            case AIMessage():
                reasoning = bool(traits.reasoning_efforts) and index > newest_user
                wire.extend(_assistant(message, answered, reasoning=reasoning))
            case ToolMessage():
                wire.append(_wire(message, content=_text(message.content), name=message.name or names.get(message.tool_call_id)))
            case SystemMessage() | ChatMessage(role="system" | "developer" | "user" | "assistant"):
                wire.append(_wire(message, content=_text(message.content), name=None))
            case _:
                raise ModelBadRequest(f"A message of type {message.type!r} cannot be sent to the model.")
    return wire


def _wire(message: BaseMessage, **changed: Any) -> Json:
    """One message as the service takes it. `changed` replaces fields of the message first."""
    plain = message.model_copy(update={"additional_kwargs": {}, **changed})
    if not (plain.name and NAME.fullmatch(plain.name)):
        plain.name = None
    return convert_to_openai_messages(plain)


def _assistant(message: AIMessage, answered: set[str], *, reasoning: bool) -> Iterator[Json]:
    calls = [tool_call(name=c["name"], args=c["args"], id=c["id"] or "") for c in message.tool_calls]
    # A call whose arguments were no JSON stays only where a tool message answers it, and without those arguments.
    calls += [tool_call(name=c["name"] or "", args={}, id=c["id"]) for c in message.invalid_tool_calls if c["id"] in answered]
    text = _text(message.content)
    if not text and not calls:
        return
    wire = _wire(message, content=text, tool_calls=calls)
    if not text:
        del wire["content"]
    for call in wire.get("tool_calls", ()):
        call["function"]["arguments"] = _encodable(call["function"]["arguments"])
    if reasoning and (thought := message.additional_kwargs.get("reasoning_content")):
        wire["reasoning"] = _encodable(str(thought))
    yield wire


def _text(content: str | Sequence[str | Mapping[str, Any]]) -> str:
    """All text of a message's content. Media become a note; reasoning and calls have fields of their own; other parts become JSON."""
    if isinstance(content, str):
        return _encodable(content)
    return _encodable("\n".join(filter(None, map(_part, content))))


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
            parts.append({"type": "text", "text": _encodable(_part(part))})
        elif traits.images and (image := _image(part)):
            parts.append(image)
        elif newest:
            raise InvalidRequest(f"This model reads text only; your message has an attachment ({_media(part)}). Send it again as text.")
        else:
            parts.append({"type": "text", "text": _part(part)})
    return parts if traits.images else "\n".join(p["text"] for p in parts)


def _image(part: Mapping[str, Any]) -> Json | None:
    """An image part of any of LangChain's shapes in the service's shape; None for a part that is no image."""
    if isinstance(url := part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": url}}
    if part.get("type") not in {"image", "image_url"}:
        return None
    try:
        content = convert_to_openai_messages(HumanMessage([{"mime_type": "image/png", **part}]))["content"]
    except ValueError:
        return None
    return content[0] if content and content[0].get("type") == "image_url" else None


def _media(part: Mapping[str, Any]) -> str:
    return str(part["type"]).removeprefix("input_").removesuffix("_url")


def _encodable(text: str) -> str:
    """The text with `?` for each lone surrogate. UTF-8 has no form for one, so the whole request would fail, at each later turn again."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --- tools -----------------------------------------------------------------------------------------------------------


def wire_tools(tools: Iterable[Mapping[str, Any]], traits: Traits) -> list[Json]:
    """Tools in the service's format. `strict` stays if the model takes it and every tool has it: the service refuses a mix."""
    plain: list[Json] = [{"type": "function", "function": dict(tool["function"])} for tool in tools]
    if not (traits.strict_tools and all(tool["function"].get("strict") for tool in plain)):
        for tool in plain:
            tool["function"].pop("strict", None)
    return plain


def wire_tool_choice(choice: object, tool_names: Sequence[str]) -> str | Json | None:
    """LangChain's `tool_choice` in the service's words. "any" and True mean "required"; a tool's name means that tool.

    Raises:
        ValueError: the value is unknown, or names a tool that is not bound.
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
