"""What the model of the browser tests says. The question decides the answer, so a test knows each answer exactly.

    count 60 at 40                 sixty words, forty a second
    search, then count 60 at 40    the same, after a call of `search_knowledge`
    erase ID, plan                 an action that a person must approve: see `proposals`
    anything else                  a short answer

No word is Markdown, so what the browser shows is what the model said. Some words are not ASCII, so that a cut may fall within a character.
"""

from __future__ import annotations

import re
from itertools import cycle, islice
from typing import Any

from tests.e2e.proposals import propose
from tests.fakes.cerebras_server import Call, Reply

SHORT = "Understood, here I am."
STEMS = ("word", "naïve", "词语", "🌍", "straße", "слово")
ORDER = re.compile(r"^(search, then )?count (\d+) at (\d+)")
QUERY = {"query": "stop"}


def count(words: int, rate: int, *, search: bool = False) -> str:
    """The question that gets `words` words, `rate` a second."""
    return f"{'search, then ' if search else ''}count {words} at {rate}"


def words(number: int) -> list[str]:
    """The words of an answer, with the spaces between them."""
    said = [f"{stem}{place} " for place, stem in enumerate(islice(cycle(STEMS), number), 1)]
    return [*said[:-1], said[-1].rstrip()]


def whole(number: int) -> str:
    """The answer to `count <number> at ...`."""
    return "".join(words(number))


def speak(body: dict[str, Any]) -> Reply:
    """The answer to one request of the chat-completions API."""
    asked = next(str(message["content"]) for message in reversed(body["messages"]) if message["role"] == "user")
    if (proposal := propose(body["messages"], asked)) is not None:
        return proposal
    order = ORDER.match(asked)
    if order is None:
        return Reply(SHORT, rate=50)
    search, number, rate = order.groups()
    if search and body["messages"][-1]["role"] == "user":
        return Reply(calls=[Call("search_knowledge", QUERY, id=f"call_{len(body['messages'])}")], rate=50)
    return Reply(words(int(number)), rate=int(rate))
