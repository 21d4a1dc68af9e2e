"""What a case is, and the functions with which cases are written."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from middle_core.events import Event
from middle_core.runs.intake.turn import AgentRules
from tests.corpus import families
from tests.corpus.browser import NEW_ONLY, Browser
from tests.fakes.graphs import Graph
from tests.fakes.models import ScriptedModel

Body = dict[str, Any]
Stop = Callable[[Event], bool] | asyncio.Event
"""When a run is stopped: at the first event for which the condition holds, or when the graph sets the event."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request. body: what the browser adds to its request. stop: when the person stops the run."""

    body: Callable[[Browser], Body]
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A case, ready to be played once.

    models: the golden file records what they were given. did: side effects that the graph reports, in its own words.
    """

    graph: Graph
    turns: Sequence[Turn]
    models: Sequence[ScriptedModel] = ()
    did: list[str] = field(default_factory=list)
    rules: AgentRules = field(default_factory=AgentRules)


@dataclass(frozen=True, slots=True)
class Case:
    """A case. why: what the SDK does wrong; empty if the SDK is the oracle. beside: what is compared besides the essence."""

    family: str
    name: str
    about: str
    build: Callable[[], Script]
    upstream: tuple[str, ...]
    why: str
    beside: tuple[str, ...]
    http: bool

    @property
    def key(self) -> str:
        """Its name in the corpus."""
        return f"{self.family}/{self.name}"


_CASES: dict[str, Case] = {}


def case(
    *upstream: str, why: str = "", beside: Sequence[str] = (), http: bool = False
) -> Callable[[Callable[[], Script]], Callable[[], Script]]:
    """Declare a case. The function builds the case, and its docstring says what must hold.

    upstream: public issues about the fault. http: also played through the whole server. For the rest see `Case`.
    """

    def declare(build: Callable[[], Script]) -> Callable[[], Script]:
        family = build.__module__.rpartition(".")[2]
        about = " ".join((build.__doc__ or "").split())
        assert about, f"{build.__name__} has no docstring"
        one = Case(family, build.__name__, about, build, upstream, why, tuple(beside), http)
        assert one.key not in _CASES, f"{one.key} is declared twice"
        _CASES[one.key] = one
        return build

    return declare


def modules() -> list[ModuleType]:
    """The modules that hold cases."""
    return [importlib.import_module(f"{families.__name__}.{one.name}") for one in pkgutil.iter_modules(families.__path__)]


def all_cases() -> dict[str, Case]:
    """Every case by its key, sorted."""
    modules()
    return dict(sorted(_CASES.items()))


# Turns -------------------------------------------------------------------------------------------------


def say(content: Any, *, stop: Stop | None = None, **more: Any) -> Turn:
    """A person says something; CopilotKit sends the whole history with it."""
    return Turn(lambda browser: {"messages": [*browser.messages, browser.words(content)]} | more, stop)


def say_only(content: Any) -> Turn:
    """A person says something, and nothing but the new message is sent."""
    return Turn(lambda browser: {"messages": [browser.words(content)], NEW_ONLY: True})


def answer(*payloads: Any, first: int = 0, cancelled: bool = False, words: str = "") -> Turn:
    """A person answers the open questions in order, starting with number `first`. words: a message that goes along."""

    def body(browser: Browser) -> Body:
        ids = [one["id"] for one in browser.interrupts[first:]]
        resume = [
            {"interruptId": ids[at] if at < len(ids) else "not-asked", "status": "cancelled" if cancelled else "resolved"}
            | ({} if cancelled else {"payload": payload})
            for at, payload in enumerate(payloads)
        ]
        return {"messages": [*browser.messages, *([browser.words(words)] if words else [])], "resume": resume}

    return Turn(body)


def results(*contents: str) -> Turn:
    """The browser's own tools have finished: one result for each open call, in order."""

    def body(browser: Browser) -> Body:
        told = [
            {"id": f"r-{call_id}", "role": "tool", "toolCallId": call_id, "content": content}
            for call_id, content in zip(browser.open_calls(), contents, strict=False)
        ]
        return {"messages": [*browser.messages, *told]}

    return Turn(body)


def edit(at: int, content: str) -> Turn:
    """A person changes their message number `at` (from 0): the history up to it, with the new words."""

    def body(browser: Browser) -> Body:
        place = [at for at, one in enumerate(browser.messages) if one["role"] == "user"][at]
        return {"messages": [*browser.messages[:place], browser.messages[place] | {"content": content}]}

    return Turn(body)


def regenerate() -> Turn:
    """A person wants another answer: the history up to their last message."""

    def body(browser: Browser) -> Body:
        place = max(at for at, one in enumerate(browser.messages) if one["role"] == "user")
        return {"messages": browser.messages[: place + 1]}

    return Turn(body)


def send(**body: Any) -> Turn:
    """Whatever a client might send."""
    return Turn(lambda browser: body if "messages" in body else {"messages": [*browser.messages, browser.words("go")]} | body)


def text_of(part: str) -> Callable[[Event], bool]:
    """Stop at the delta that holds this text."""
    return lambda event: part in str(event.get("delta", ""))
