"""Reasoning that a model writes into its answer: `<think>...</think>`, cut into chunks anywhere, and perhaps never closed.

Open models write it so (DeepSeek-R1, Qwen, and what is made of them) where the server in front of them does not take it apart. A tag counts
at the beginning of a line and outside of a code block: an answer may speak of the tag. Pure: knows text and no message.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

TAGS: Final = ("think", "thinking", "thought", "reasoning")
"""Names of the tag in the models that are known."""

_OPENING: Final = {f"<{name}>": f"</{name}>" for name in TAGS}
_FENCES: Final = ("```", "~~~")


class Parts(NamedTuple):
    """A piece of an answer, taken apart."""

    text: str
    reasoning: str


class ThinkTags:
    """Takes one answer apart, piece by piece. What may be the beginning of a tag is kept until the next piece."""

    def __init__(self) -> None:
        self._closing = ""
        """The tag that ends the reasoning; empty outside of it."""
        self._kept = ""
        self._line = ""
        """How the current line begins, without blanks before it."""
        self._in_fence = False
        self._trimming = False
        """Behind a closing tag: the blank lines before the answer belong to neither."""

    def feed(self, piece: str, *, last: bool = False) -> Parts:
        """The next piece. last: nothing follows, so nothing is kept."""
        left = self._kept + piece
        self._kept = ""
        text, reasoning = "", ""
        while left:
            if self._closing:
                inside, left = self._until_closed(left)
                reasoning += inside
            else:
                outside, left = self._until_opened(left)
                text += outside
        if last:
            kept, self._kept = self._kept, ""
            text, reasoning = (text, reasoning + kept) if self._closing else (text + kept, reasoning)
        return Parts(text, reasoning)

    def _until_closed(self, left: str) -> tuple[str, str]:
        inside, closed, rest = left.partition(self._closing)
        if closed:
            self._closing, self._line, self._trimming = "", "", True
            return inside, rest
        split = len(left) - _overlap(left, self._closing)
        self._kept = left[split:]
        return left[:split], ""

    def _until_opened(self, left: str) -> tuple[str, str]:
        if self._trimming:
            left = left.lstrip()
            self._trimming = not left
        at = 0
        while at < len(left):
            end = left.find("\n", at) + 1 or len(left)
            line = left[at:end]
            if not self._line and not self._in_fence:
                start = at + len(line) - len(line.lstrip())
                candidate = left[start:end]
                for opening, closing in _OPENING.items():
                    if candidate.startswith(opening):
                        self._closing = closing
                        return left[:start], left[start + len(opening) :]
                if candidate and end == len(left) and any(opening.startswith(candidate) for opening in _OPENING):
                    self._kept = candidate
                    return left[:start], ""
            self._line = (self._line + line).lstrip()[: len(_FENCES[0])]
            if line.endswith("\n"):
                self._in_fence ^= self._line.startswith(_FENCES)
                self._line = ""
            at = end
        return left, ""


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may begin the tag."""
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if tag.startswith(text[-size:])), 0)


def move_reasoning(message: Any, tags: ThinkTags, *, last: bool) -> None:
    """Put reasoning that stands in tags in a message's text where LangChain has it: under `reasoning_content`.

    So the stream, the node, the thread and the history agree on what is the answer. The message is changed; what a model may use
    again (its blocks, its additional_kwargs) is replaced.
    """
    content, reasoning = message.content, ""
    if isinstance(content, str):
        if content or last:
            message.content, reasoning = tags.feed(content, last=last)
    elif isinstance(content, list):
        at_last = max((at for at, one in enumerate(content) if _has_text(one)), default=-1)
        blocks = []
        for at, block in enumerate(content):
            if not _has_text(block):
                blocks.append(block)
                continue
            text, thought = tags.feed(block["text"], last=last and at == at_last)
            blocks.append({**block, "text": text})
            reasoning += thought
        message.content = blocks
    if reasoning:
        before = message.additional_kwargs.get("reasoning_content")
        whole = (before if isinstance(before, str) else "") + reasoning
        message.additional_kwargs = {**message.additional_kwargs, "reasoning_content": whole}


def _has_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
