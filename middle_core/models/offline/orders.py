"""Commands to the offline model, such as "delete the source called Notes": a sentence in, a tool and its arguments out.

Pure. The first rule that matches counts. A sentence that asks for a tool which the agent does not have is not a command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

MAX_TERM_CHARS: Final = 200

Arguments = dict[str, Any]
Rule = tuple[str, re.Pattern[str], Callable[[re.Match[str]], Arguments]]


def _order(pattern: str) -> re.Pattern[str]:
    return re.compile(r"^\s*(?:please\s+|can you\s+|could you\s+)?" + pattern, re.IGNORECASE | re.DOTALL)


def _term(match: re.Match[str]) -> str:
    """The words of the group `it`, without quotation marks and the full stop."""
    return match["it"].strip(" \n\"'“”„‘’.!?")[:MAX_TERM_CHARS]


def _names(match: re.Match[str]) -> Arguments:
    return {"names": [name for part in re.split(r",|\band\b", _term(match)) if (name := part.strip(" \"'“”"))]}


def _text(match: re.Match[str]) -> Arguments:
    text = match["it"].strip()
    title = match["title"]
    return {"text": text, **({"title": title.strip(" \"'“”")[:MAX_TERM_CHARS]} if title else {})}


_BASE = r"(?:to|into|in) (?:the |my |our |your )?(?:knowledge base|sources|library)"

RULES: Final[tuple[Rule, ...]] = (
    (
        "ingest_source",
        _order(r"(?:add|ingest|index|import|fetch)\b[^:]{0,60}?(?P<it>https?://\S+?)[.,;!?]?(?:\s.*)?$"),
        lambda m: {"url": m["it"]},
    ),
    (
        "ingest_source",
        _order(
            rf"(?:add|ingest|save|store)\b(?: (?:this|the following|a))?(?: (?:text|note|source|document))?(?: (?:called|titled|named) (?P<title>[^:]{{1,120}}?))?(?: {_BASE})?\s*:\s*(?P<it>.+)$"
        ),
        _text,
    ),
    (
        "confirm_plan",
        _order(r"(?:make|write|propose|draw up) a plan\b(?: (?:to|for|of))?\s*(?P<it>.*)$"),
        lambda m: {
            "goal": _term(m) or "Work on the knowledge base",
            "steps": ["List what is there", "Look for what is missing", "Say what to do next"],
        },
    ),
    ("cockpit_metrics", _order(r"(?:(?:show|open|draw|give)\b.{0,30}\b)?(?:cockpit|dashboard|metrics)\b.{0,40}$"), lambda _: {}),
    (
        "filter_sources",
        _order(r"filter\b(?: (?:the |this )?(?:table|sources|list)(?: of sources)?)? ?(?:to|by|for|on|with)? (?P<it>.+)$"),
        lambda m: {"text": _term(m)},
    ),
    ("filter_sources", _order(r"(?:clear|reset|remove) the filter\b.*$"), lambda _: {"text": ""}),
    (
        "select_sources",
        _order(
            r"(?:search (?:everywhere|in (?:all|every)\b.*)|(?:clear|reset|drop) (?:the |my )?selection.*|select (?:no|all) sources.*)$"
        ),
        lambda _: {"names": []},
    ),
    (
        "select_sources",
        _order(
            r"(?:(?:search|look|ask) only in|limit (?:the |my )?(?:search|searches) to|select(?: only)?(?: the)?(?: sources?)?) (?P<it>.+)$"
        ),
        _names,
    ),
)


_DELETION = _order(
    r"(?:(?:delete|erase)\b(?: the)?(?: (?:source|document|file))?|remove(?: the)? (?:source|document|file))(?: (?:called|named))? (?P<it>\S.*)$"
)


def deletion_of(sentence: str) -> str | None:
    """The name or id of the source that the sentence asks to delete, or None."""
    match = _DELETION.match(sentence)
    return (_term(match) or None) if match else None


def order_of(sentence: str, tools: frozenset[str]) -> tuple[str, Arguments] | None:
    """The tool and its arguments, if the sentence is a command that one of the tools can carry out."""
    for tool, pattern, arguments in RULES:
        if tool in tools and (match := pattern.match(sentence)):
            return tool, arguments(match)
    return None
