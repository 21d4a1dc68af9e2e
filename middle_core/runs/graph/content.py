"""What a model said, in pieces: text, reasoning, encrypted reasoning.

Providers put the same things in many places: a string, content blocks of a dozen shapes, additional_kwargs.
The live stream and the thread's history both read them here, so that they cannot disagree.
Knows messages by duck typing only, and no event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from middle_core.agui.jsonable import TooBig, jsonable
from middle_core.models.finish_reasons import Ending, ending_of

MAX_TOOL_TEXT: Final = 1_000_000
"""Characters of a tool's result beyond which a browser gets a note instead."""


class Piece(NamedTuple):
    """part: pieces of one kind with another `part` are separate paragraphs of the same thing."""

    kind: Literal["text", "reasoning", "encrypted"]
    text: str
    part: Any = None


def pieces(content: Any, extra: Mapping[str, Any] | None) -> Iterator[Piece]:
    """The pieces of a message or chunk, in order. `extra` is its additional_kwargs."""
    if extra:
        yield from _from_extra(extra)
    if isinstance(content, str):
        if content:
            yield Piece("text", content)
    elif isinstance(content, list):
        for at, block in enumerate(content):
            if isinstance(block, str):
                if block:
                    yield Piece("text", block)
            elif isinstance(block, Mapping):
                yield from _from_block(block, at)
    if extra and (refusal := _string(extra.get("refusal"))):
        yield Piece("text", refusal)


def declined(message: Any) -> bool:
    """Whether the model, or a filter of its provider, would not answer."""
    blocks = message.content if isinstance(message.content, list) else ()
    return (
        ending_of(message.response_metadata) in {Ending.FILTERED, Ending.DECLINED}
        or bool(_string(message.additional_kwargs.get("refusal")))
        or any(isinstance(block, Mapping) and block.get("type") == "refusal" for block in blocks)
    )


def _from_extra(extra: Mapping[str, Any]) -> Iterator[Piece]:
    # A plain text from DeepSeek, Qwen, xAI, Cerebras and Ollama. OpenAI's older shape is {"summary": [{"text": ...}]}.
    reasoning, details = extra.get("reasoning"), extra.get("reasoning_details")
    if text := _string(extra.get("reasoning_content")) or _string(reasoning) or _string(extra.get("thinking")):
        yield Piece("reasoning", text)
    elif isinstance(reasoning, Mapping):
        yield from _summary(reasoning, None)
    elif isinstance(details, list):  # OpenRouter
        for one in details:
            if isinstance(one, Mapping) and (text := _string(one.get("text")) or _string(one.get("summary"))):
                yield Piece("reasoning", text)


def _from_block(block: Mapping[str, Any], at: int) -> Iterator[Piece]:
    # Tool use and its argument deltas arrive as tool_call_chunks; a shape that is not listed is nothing to read.
    kind = str(block.get("type"))
    if (reader := _READERS.get(kind)) is not None:
        yield from reader(block, block.get("index", at))


def _text(block: Mapping[str, Any], part: Any) -> Iterator[Piece]:
    if text := _string(block.get("text")) or _string(block.get("refusal")):
        yield Piece("text", text)


def _thinking(block: Mapping[str, Any], part: Any) -> Iterator[Piece]:
    """Anthropic and Google write a text, Mistral a list of text blocks."""
    thinking = block.get("thinking")
    for one in thinking if isinstance(thinking, list) else (thinking,):
        if text := _string(one.get("text") if isinstance(one, Mapping) else one):
            yield Piece("reasoning", text, part)
    if secret := _string(block.get("signature")) or _string(block.get("data")):
        yield Piece("encrypted", secret, part)


def _reasoning(block: Mapping[str, Any], part: Any) -> Iterator[Piece]:
    """LangChain's standard shape, and OpenAI's Responses API."""
    yield from _summary(block, part)
    if text := _string(block.get("reasoning")):
        yield Piece("reasoning", text, part)
    extras = block.get("extras")
    for source in (block, extras if isinstance(extras, Mapping) else {}):
        if secret := _string(source.get("encrypted_content")) or _string(source.get("signature")):
            yield Piece("encrypted", secret, part)


def _bedrock(block: Mapping[str, Any], part: Any) -> Iterator[Piece]:
    """Bedrock Converse."""
    inner = block.get("reasoning_content")
    if isinstance(inner, Mapping):
        if text := _string(inner.get("text")):
            yield Piece("reasoning", text, part)
        if secret := _string(inner.get("signature")):
            yield Piece("encrypted", secret, part)


def _summary(block: Mapping[str, Any], part: Any) -> Iterator[Piece]:
    summary = block.get("summary")
    if isinstance(summary, list):
        for at, one in enumerate(summary):
            if isinstance(one, Mapping) and (text := _string(one.get("text"))):
                yield Piece("reasoning", text, (part, one.get("index", at)))


def _media(block: Mapping[str, Any], part: Any) -> Iterator[Piece]:
    """AG-UI's assistant content is text: a picture with an address becomes a Markdown image, inline data a note."""
    kind = str(block["type"])
    inner = block.get(kind)
    url = block.get("url") or (inner.get("url") if isinstance(inner, Mapping) else inner)
    name = kind.removesuffix("_url")
    if isinstance(url, str) and url.startswith("https://"):
        yield Piece("text", f"\n{'!' if name == 'image' else ''}[{name}]({url})\n")
    else:
        yield Piece("text", f"\n[{name}]\n")


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any], Any], Iterator[Piece]]]] = {
    "text": _text,
    "output_text": _text,
    "refusal": _text,
    "thinking": _thinking,
    "redacted_thinking": _thinking,
    "reasoning": _reasoning,
    "reasoning_content": _bedrock,
    "image_url": _media,
    "image": _media,
    "audio": _media,
    "video": _media,
    "file": _media,
}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def tool_text(content: Any) -> str:
    """A tool message's content as the text that the browser gets. Never raises, whatever a tool returned."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and content and all(isinstance(one, str) or _is_text(one) for one in content):
        return "".join(one if isinstance(one, str) else one["text"] for one in content)
    try:
        return json.dumps(jsonable(content, budget=MAX_TOOL_TEXT), ensure_ascii=False)
    except TooBig:
        return "[result too large to show]"


def _is_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)
