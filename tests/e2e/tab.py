"""One browser tab with the chat page in it, and what a person does and sees there.

It waits for conditions, each with the bound `PATIENCE_S`; it records every request, console error and uncaught error.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import ConsoleMessage, Error, Locator, Page, Request, expect

from tests.e2e.parts import Site

PATIENCE_S = 30.0
STEP_S = 0.02
expect.set_options(timeout=PATIENCE_S * 1000)

TEXT_OF = """(row) => {
    const copy = row.cloneNode(true);
    for (const other of copy.querySelectorAll('.sr-only, button, [data-testid="tool-card"], [data-testid="stopped-mark"]')) other.remove();
    return copy.textContent;
}"""
"""The texts of the assistant, without what the page adds."""

ANSWER = f"""() => {{
    const rows = [...document.querySelectorAll('[data-testid="message-user"], [data-testid="message-assistant"]')];
    const row = rows.at(-1);
    return row?.dataset.testid === "message-assistant" ? ({TEXT_OF})(row) : "";
}}"""
"""The newest answer; empty while the newest question has none."""

WATCH_GROWTH = f"""() => {{
    const answer = {ANSWER};
    const growth = (window.growth = []);
    new MutationObserver(() => {{
        const length = [...answer()].length;
        if (length !== (growth.at(-1)?.length ?? 0)) growth.push({{ at: performance.now(), length }});
    }}).observe(document.body, {{ subtree: true, childList: true, characterData: true }});
}}"""


@dataclass(eq=False)
class Tab:
    """Wraps Playwright's page. `complaints` are console errors, `crashes` uncaught errors and unhandled rejections."""

    page: Page
    site: Site
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._request)
        self.page.on("console", self._console)
        self.page.on("pageerror", self._crash)

    def _request(self, request: Request) -> None:
        self.requests.append(request)

    def _crash(self, error: Error) -> None:
        self.crashes.append(f"{error.message}\n{error.stack}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    # what is there ----------------------------------------------------------------------------------
    def find(self, test_id: str, **attributes: str) -> Locator:
        """Elements by test id and by values of their data attributes."""
        more = "".join(f'[data-{name.replace("_", "-")}="{value}"]' for name, value in attributes.items())
        return self.page.locator(f'[data-testid="{test_id}"]{more}')

    @property
    def composer(self) -> Locator:
        return self.find("composer-input")

    @property
    def thread_id(self) -> str:
        """The conversation that the address names."""
        [thread] = parse_qs(urlsplit(self.page.url).query)["thread"]
        return thread

    async def token(self) -> str:
        """The token that the browser holds."""
        token = await self.page.evaluate("sessionStorage.getItem('middle-core.token')")
        assert isinstance(token, str)
        return token

    async def answers(self) -> list[str]:
        """What the assistant said, message by message; one that only called tools is an empty text."""
        texts: list[str] = await self.find("message-assistant").evaluate_all(f"(rows) => rows.map({TEXT_OF})")
        return texts

    async def answer(self) -> str:
        """The answer to the newest question; empty while there is none."""
        text: str = await self.page.evaluate(ANSWER)
        return text

    async def questions(self) -> list[str]:
        return [text.removeprefix("You: ") for text in await self.find("message-user").all_text_contents()]

    async def growth(self) -> list[dict[str, float]]:
        """When (ms) the newest answer had which length, since `watch_growth`."""
        steps: list[dict[str, float]] = await self.page.evaluate("window.growth")
        return steps

    async def words_on_screen(self) -> str:
        return await self.page.locator("body").inner_text()

    # what a person does -----------------------------------------------------------------------------
    async def open(self, thread: str | None = None) -> None:
        """Load the page, signed in, with a conversation or with a new one, and wait until it can be used."""
        await self.page.goto(self.site.url + (f"/?thread={thread}" if thread else "/"))
        await self.ready()

    async def ready(self) -> None:
        await expect(self.composer).to_have_attribute("placeholder", re.compile("Ask"))

    async def reload(self) -> None:
        await self.page.reload()

    async def say(self, text: str) -> None:
        await self.composer.fill(text)
        await self.composer.press("Enter")

    async def stop(self) -> None:
        await self.find("stop").click()

    async def watch_growth(self) -> None:
        await self.page.evaluate(WATCH_GROWTH)

    # waiting ----------------------------------------------------------------------------------------
    async def until_answer(self, condition: Callable[[str], bool] | str, within_s: float = PATIENCE_S) -> str:
        """Wait until the newest answer is this text, or fulfils this condition. Returns it."""
        fits = condition if callable(condition) else lambda answer: answer == condition
        answer = ""
        began = time.monotonic()
        while time.monotonic() - began < within_s:
            answer = await self.answer()
            if fits(answer):
                return answer
            await asyncio.sleep(STEP_S)
        raise AssertionError(f"after {within_s} s the answer was {answer!r}\n{await self.story()}")

    async def story(self) -> str:
        """What is on the screen and what the browser complains about: for failures."""
        told = [f"console: {text}" for text in self.complaints] + [f"crash: {text}" for text in self.crashes]
        return "\n".join([await self.words_on_screen(), *told])

    async def until_idle(self) -> None:
        """Wait until no answer is being written."""
        await expect(self.find("send")).to_be_visible()
        await expect(self.find("activity")).to_have_count(0)

    async def ask(self, text: str, answer: str) -> None:
        """Say something and wait for the whole answer."""
        await self.say(text)
        await self.until_answer(answer)
        await self.until_idle()


def starts(prefix_of: str, at_least: int, after: str = "") -> Callable[[str], bool]:
    """A condition: at least so many characters, all of them of this text's beginning. `after`: the answer that is there before."""

    def fits(answer: str) -> bool:
        if after and answer == after:
            return False
        assert prefix_of.startswith(answer), f"the screen shows {answer!r}, which is not how {prefix_of[:80]!r}... begins"
        return len(answer) >= at_least

    return fits


def outside(requests: list[Request]) -> list[Any]:
    """Requests that left this machine."""
    local = {"127.0.0.1", None, ""}
    return [request.url for request in requests if urlsplit(request.url).hostname not in local]


def readable(words: str) -> None:
    """Fails if the page shows text that is meant for programs."""
    for mark in ('{"', '":', "[object", "undefined", "NaN", "Traceback", "Error:", "HTTP 5", "HTTP 4", "fetch failed", "ECONN", "null"):
        assert mark not in words, f"{mark!r} is on the screen:\n{words}"
