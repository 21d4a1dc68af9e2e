"""What the offline model does next: the tool that a question needs, or an answer made of what a tool returned.

Pure: a conversation in, one step out. English only. It knows the knowledge copilot's tools by name and the JSON that they
return. The result of any other tool is shown as it is. `orders` reads commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from middle_core.models.offline.orders import deletion_of, order_of

SEARCH, SOURCES, STATS, COCKPIT = "search_knowledge", "list_sources", "get_stats", "cockpit_metrics"
INGEST, SELECT, FILTER, DELETE, PLAN = "ingest_source", "select_sources", "filter_sources", "delete_source", "confirm_plan"

SHORT_SEARCH, SHORT_QUOTES, LONG_QUOTES = 5, 3, 12
SHORT_QUOTE_CHARS, LONG_QUOTE_CHARS = 500, 4_000
MAX_QUERY_CHARS: Final = 300
MAX_LISTED: Final = 12

WHO_I_AM = (
    "I am the **offline model** of this demo. I run without a key and without a network: I look your question up in the knowledge base "
    "and quote the passages that fit best, with their sources. I do not reason and I do not write texts of my own. "
    "With `CEREBRAS_API_KEY` set, the same agent answers with a real model."
)
GREETING = (
    "Hello! I am the **offline model**: I search the knowledge base and quote what I find. "
    "Ask me something about it, for example *How is a run stopped?*, or *Which documents are there?*"
)
THANKS = "You are welcome. Ask on if there is more."
NO_TOOLS = "I am the **offline model**, and I can only quote from a knowledge base. This conversation gives me no tool to search one."
NO_PICTURES = "*I cannot look at pictures, only at the text of your message.*\n\n"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_WHO = _words(r"\b(who|what|which model) are you\b|\byour name\b|\bwhat can you do\b|\bare you (an? )?(ai|llm|model|bot|human|real)\b")
_HELLO = _words(r"^\s*(hi|hello|hey|good (morning|afternoon|evening)|greetings)\b[\s!.,]*(there|all|everyone)?[\s!.,]*$|^$")
_THANKS = _words(r"^\s*(thanks|thank you|thx|cheers)\b[^?]{0,40}$")
_SMALL_TALK = ((_WHO, WHO_I_AM), (_HELLO, GREETING), (_THANKS, THANKS))

_COUNT = _words(r"\b(stats|statistics|numbers|how (many|big|large))\b")
_OF_THE_BASE = _words(r"\b(sources?|documents?|docs|files|passages?|objects?|quer(y|ies)|searches|knowledge base|stats|statistics)\b")
_WHICH = _words(r"\b(which|what|list|show|name)\b.{0,40}\b(sources|documents|docs|files)\b|\bwhat('s| is) in (the|your) knowledge base\b")
_MENTION = _words(
    r"^\s*(which|what) (sources|documents|docs|files) (mention|talk about|speak of|are about|deal with|know of|say something about)\b"
)
_LOOKING_AT = _words(
    r"\bwhat am i looking at\b|\bwhat (do|can) you see\b|\bwhat('s| is) (on|open on) (the|my|this) (page|screen)\b|\bwhat (have i|did i) select"
)
_PAGE_DATA = re.compile(r"<page_data>\n(.*?)\n</page_data>", re.DOTALL)
_AT_LENGTH = _words(
    r"\blong(er)? (answer|text|explanation|essay|summary|version|read|story)\b|\b(in (more )?detail|at length|essay|thorough(ly)?|comprehensive)\b"
    r"|\bdetailed (answer|explanation|summary)\b|\beverything\b|\ball you know\b"
)
_FILLER = frozenset(
    re.findall(
        r"\w+",
        """a about again all also an and answer answers any anything are as at be can comprehensive could detail detailed do does done else
        essay everything explain find for from further give go have how i in is it its know length like list long longer look me mean more
        my of on or over please search show so some summarise summarize summary tell text than that the their them then there these they
        thing this those thorough thoroughly to up us use used was we were what when where which who why will with work works would write
        you your""",
    )
)


@dataclass(frozen=True, slots=True)
class Ask:
    """Call this tool."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this Markdown."""

    text: str


def next_step(messages: Sequence[BaseMessage], tools: frozenset[str]) -> Ask | Say:
    """What to do now.

    Args:
        messages: the conversation so far.
        tools: names of the tools that may be called.
    """
    at = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=None)
    if at is None:
        return Say(GREETING)
    question = messages[at].text.strip()
    called = {c["id"]: c["name"] for m in messages[at + 1 :] if isinstance(m, AIMessage) for c in m.tool_calls}
    results = [(m.name or called.get(m.tool_call_id, ""), m) for m in messages[at + 1 :] if isinstance(m, ToolMessage)]
    earlier = [m.text for m in messages[:at] if isinstance(m, HumanMessage)]
    if DELETE in tools and (wanted := deletion_of(question)):
        return _delete(wanted, dict(results), tools)
    if results:
        said = "\n".join(m.text for m in messages[:at] if isinstance(m, AIMessage)) if _goes_on(question, earlier) else ""
        return Say(_answer(question, results, said))
    if _LOOKING_AT.search(question):
        return Say(_page(messages))
    step = Ask(*order) if (order := order_of(question, tools)) else _first_step(question, earlier, tools)
    if isinstance(step, Say) and _has_picture(messages[at]):
        return Say(NO_PICTURES + step.text)
    return step


def _first_step(question: str, earlier: Sequence[str], tools: frozenset[str]) -> Ask | Say:
    for pattern, words in _SMALL_TALK:
        if pattern.search(question):
            return Say(words)
    if STATS in tools and _COUNT.search(question) and _OF_THE_BASE.search(question):
        return Ask(STATS, {})
    if SEARCH in tools and (mention := _MENTION.match(question)) and (words_left := _carrying(question[mention.end() :])):
        return Ask(SEARCH, {"query": " ".join(words_left)[:MAX_QUERY_CHARS], "k": LONG_QUOTES})
    if SOURCES in tools and _WHICH.search(question):
        return Ask(SOURCES, {})
    if SEARCH in tools:
        at_length = _AT_LENGTH.search(question) or _goes_on(question, earlier)
        return Ask(SEARCH, {"query": _query(question, earlier), "k": LONG_QUOTES if at_length else SHORT_SEARCH})
    return Say(NO_TOOLS)


def _query(question: str, earlier: Sequence[str]) -> str:
    """The words to search for. A question without any ("tell me more") searches for those of the question before it."""
    for text in (question, *reversed(earlier)):
        if words := _carrying(text):
            return " ".join(words)[:MAX_QUERY_CHARS]
    return question[:MAX_QUERY_CHARS]


def _goes_on(question: str, earlier: Sequence[str]) -> bool:
    """Whether the question asks for more of what was asked before."""
    return not _carrying(question) and any(_carrying(text) for text in earlier)


def _carrying(text: str) -> list[str]:
    words = (word.rstrip(".'-") for word in re.findall(r"\w[\w.'-]*", text))
    return [word for word in words if word.lower() not in _FILLER]


def _answer(question: str, results: Sequence[tuple[str, ToolMessage]], said: str) -> str:
    """The answer, from the newest result of each tool.

    Args:
        question: the newest message of the person.
        results: name and result of each tool call since then.
        said: earlier answers, whose quotations are not repeated.
    """
    newest = dict(results)
    return "\n\n".join(_report(question, name, message, said) for name, message in newest.items())


def _report(question: str, name: str, message: ToolMessage, said: str) -> str:
    if message.status == "error":
        return f"That did not work. {message.text}"
    found = _object(message.text)
    if found is None:
        return _quoted(message.text[:LONG_QUOTE_CHARS]) if message.text.strip() else "The tool returned nothing."
    if name == SEARCH:
        return _passages(question, found, said)
    if name in _REPORTS:
        return _REPORTS[name](found)
    return f"`{name}` returned:\n\n```json\n{json.dumps(found, ensure_ascii=False, indent=2)[:LONG_QUOTE_CHARS]}\n```"


def _passages(question: str, found: dict[str, Any], said: str) -> str:
    topic = _plain(str(found.get("query") or question))
    passages = [p for p in _list(found, "passages") if str(p.get("text") or "").strip()]
    limited = len(found["limited_to"]) if isinstance(found.get("limited_to"), list) else 0
    if not passages and limited:
        within = "the selected source" if limited == 1 else f"the {limited} selected sources"
        return f"I found nothing about **{topic}** in {within}. Say *search everywhere* to look in all of them."
    if not passages:
        return f"I found nothing about **{topic}** in the knowledge base. Try other words, or ask me *which documents are there?*"
    if _MENTION.match(question):
        named = dict.fromkeys(_title(p).partition(" › ")[0] for p in passages)
        return f"These sources mention **{topic}**:\n\n" + "\n".join(f"- [{name}]" for name in named)
    at_length = bool(_AT_LENGTH.search(question))
    limit = LONG_QUOTE_CHARS if at_length else SHORT_QUOTE_CHARS
    quotes = [(_title(p), _quoted(_shortened(str(p["text"]), limit))) for p in passages]
    fresh = [(title, quote) for title, quote in quotes if quote not in said][: LONG_QUOTES if at_length else SHORT_QUOTES]
    if not fresh:
        return f"I have quoted all that I find about **{topic}**. Ask me something else about it, or in other words."
    who = "the knowledge base says" if not limited else "the selected source says" if limited == 1 else "the selected sources say"
    intro = f"{'There is more about' if said else f'This is what {who} about'} **{topic}**{', at length' if at_length else ''}:"
    titles = "\n".join(f"- [{title}]" for title in dict.fromkeys(title for title, _ in fresh))
    return "\n\n".join([intro, *(f"{quote}\n\n— [{title}]" for title, quote in fresh), f"**Sources**\n\n{titles}"])


def _sources(found: dict[str, Any]) -> str:
    names = [_plain(str(s.get("name") or "")) for s in _list(found, "sources")]
    total = found.get("total", len(names))
    if not names:
        return "The knowledge base holds no documents that you may see."
    rest = f"\n\n…and {total - MAX_LISTED} more." if isinstance(total, int) and total > MAX_LISTED else ""
    # Markdown would read a name such as "1. Overview" as a list within the list.
    shown = (re.sub(r"^(\d+)([.)])", r"\1\\\2", name) for name in names[:MAX_LISTED])
    return f"The knowledge base holds {total} documents:\n\n" + "\n".join(f"- {name}" for name in shown) + rest


def _stats(found: dict[str, Any]) -> str:
    rows = [(key.replace("_", " "), value) for key, value in found.items() if isinstance(value, int | float)]
    if not rows:
        return "The knowledge base gave no numbers."
    return "The knowledge base in numbers:\n\n| what | count |\n|---|---|\n" + "\n".join(f"| {key} | {value} |" for key, value in rows)


def _cockpit(found: dict[str, Any]) -> str:
    """One sentence, because the page draws the numbers itself."""
    sources, passages, served = found.get("sources"), found.get("passages"), found.get("queries_served")
    running = found.get("jobs_running")
    busy = f" {running} {'source is' if running == 1 else 'sources are'} being added right now." if running else ""
    return f"The knowledge base holds **{sources}** sources with **{passages}** passages, and has served **{served}** questions.{busy}"


def _ingested(found: dict[str, Any]) -> str:
    if found.get("status") == "running":
        return "It is still being added. It will turn up in the list of sources."
    count = found.get("passages")
    held = f", with {count} passage{'' if count == 1 else 's'}" if isinstance(count, int) else ""
    return f"**{_plain(str(found.get('name') or 'The source'))}** is in the knowledge base now{held}. Ask me about it."


def _delete(wanted: str, results: Mapping[str, ToolMessage], tools: frozenset[str]) -> Ask | Say:
    """First find the source by its name, then call for its deletion, then say what happened."""
    if (told := results.get(DELETE)) is not None:
        found = _object(told.text)
        return Say(f"**{_plain(str(found.get('name') or wanted))}** is deleted." if found else told.text)
    if (listed := results.get(SOURCES)) is None:
        return Ask(SOURCES, {}) if SOURCES in tools else Ask(DELETE, {"source_id": wanted})
    sources = _list(_object(listed.text) or {}, "sources")
    named = [s for s in sources if wanted.lower() in {str(s.get("id")).lower(), str(s.get("name")).lower()}]
    named = named or [s for s in sources if wanted.lower() in str(s.get("name")).lower()]
    if len(named) != 1:
        return Say(f"I find {'no source' if not named else 'several sources'} called **{_plain(wanted)}**. Say its whole name.")
    return Ask(DELETE, {"source_id": str(named[0].get("id")), "reason": "You asked for it."})


def _planned(found: dict[str, Any]) -> str:
    steps = found.get("steps")
    listed = "\n".join(f"{n}. {_plain(str(step))}" for n, step in enumerate(steps if isinstance(steps, list) else [], 1))
    return f"This is the plan that we agreed on:\n\n{listed}"


def _selected(found: dict[str, Any]) -> str:
    names = [_plain(str(s.get("name") or "")) for s in _list(found, "selected")]
    if not names:
        return "I search in all sources again."
    return "From now on I search only in these sources:\n\n" + "\n".join(f"- {name}" for name in names)


def _filtered(found: dict[str, Any]) -> str:
    shown, total, text = found.get("shown"), found.get("total"), _plain(str(found.get("filter") or ""))
    if not isinstance(shown, int) or not isinstance(total, int):
        return "There is no table of sources on the page. Ask me to *list the sources* first."
    return (
        f"The table shows all {total} sources again."
        if not text
        else f"The table now shows {shown} of {total} sources: those with **{text}**."
    )


_REPORTS: Final = {
    SOURCES: _sources,
    STATS: _stats,
    COCKPIT: _cockpit,
    INGEST: _ingested,
    PLAN: _planned,
    SELECT: _selected,
    FILTER: _filtered,
}


def _page(messages: Sequence[BaseMessage]) -> str:
    """What the page shares with the agent, which the system prompt contains as `<page_data>`."""
    shared = [line for m in messages if isinstance(m, SystemMessage) for part in _PAGE_DATA.findall(m.text) for line in part.split("\n")]
    items = [item for line in shared if (item := _object(line)) and item.get("description")]
    if not items:
        return "The page shares nothing with me right now."
    return "This is what the page tells me:\n\n" + "\n".join(
        f"- **{_plain(str(item['description']))}**: {_plain(str(item.get('value') or 'nothing'))[:LONG_QUOTE_CHARS]}" for item in items
    )


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _list(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    items = found.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _shortened(text: str, limit: int) -> str:
    """At most about `limit` characters, cut at the end of a sentence, a line or a word."""
    text = text.strip()
    if len(text) <= limit:
        return text
    ends = [m.end() for m in re.finditer(r"[.!?](?=\s)|\n", text[:limit])]
    at = ends[-1] if ends and ends[-1] > limit // 3 else text.rfind(" ", 0, limit) if " " in text[:limit] else limit
    return text[:at].rstrip() + " …"


def _quoted(text: str) -> str:
    """A Markdown quotation; headings become bold, and a code block that was cut is closed."""
    lines = [re.sub(r"^#{1,6}\s+(.*?)\s*#*$", r"**\1**", line) for line in text.strip().splitlines()]
    if sum(line.lstrip().startswith("```") for line in lines) % 2:
        lines.append("```")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _title(passage: dict[str, Any]) -> str:
    return _plain(str(passage.get("title") or passage.get("location") or "untitled"))


def _plain(text: str) -> str:
    """One line without characters that would be Markdown."""
    return re.sub(r"\s+", " ", re.sub(r"[\[\]*`|<>]", " ", text)).strip()


def _has_picture(message: BaseMessage) -> bool:
    return isinstance(message.content, list) and any(isinstance(p, dict) and p.get("type") != "text" for p in message.content)
