"""The graph page in a browser: middle-core behind a relay, and one tab with what a person does and sees there."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import ConsoleMessage, Error, Locator, Page, Request, expect

from middle_core.auth.verify import secret_verifier
from middle_core.demo.backend_core import create_app
from tests.e2e.graph_page.pipeline import Pipeline
from tests.fakes.http_server import serving
from tests.fakes.relay import Relay
from tests.fakes.stack import Stack, stack
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint
from tests.fakes.until import until_asked

COPILOT = "middle_core.agents.knowledge_copilot.graph:build"

STOP = "What happens when I press stop?"
ALL_OK = dict.fromkeys(("__start__", "plan", "left", "right", "choose", "write", "__end__"), "ok") | {"escalate": "skipped"}
"""The states of the pipeline's nodes after a turn."""
ROWS = [("plan", "done"), ("left", "done"), ("right", "done"), ("choose", "done"), ("write", "done"), ("escalate", "skipped")]

WATCH = """() => {
    window.lit = [];
    const told = (group) => window.lit.push([group.dataset.node, group.dataset.state]);
    new MutationObserver((changes) => {
        for (const { type, target, addedNodes } of changes) {
            if (type === "attributes") told(target);
            for (const one of addedNodes) if (one.querySelectorAll) for (const group of one.querySelectorAll(".node")) told(group);
        }
    }).observe(document.getElementById("canvas"), { subtree: true, childList: true, attributes: true, attributeFilter: ["data-state"] });
}"""
"""A script that records each node's states in the order in which the screen showed them."""

SEEN = """(id) => {
    window.seen ??= {};
    const words = (window.seen[id] = []);
    const note = document.getElementById(id);
    new MutationObserver(() => { if (!note.hidden) words.push(note.textContent); }).observe(note, { childList: true, subtree: true, attributes: true });
}"""
"""A script that records each text of a note, because it may disappear before a test looks."""


@dataclass
class GraphSite:
    """The servers that the page talks to."""

    server: Stack
    relay: Relay
    pipeline: Pipeline
    backend: Any

    @property
    def url(self) -> str:
        """The page's address."""
        return f"{self.relay.url}/graph"

    def sources(self) -> dict[str, str]:
        """Ids by name, as backend-core holds them."""
        return {source.name: source.id for source in self.backend.state.library.list_sources()}

    async def until_idle(self, token: str) -> None:
        """Wait until none of the owner's threads runs."""

        async def idle() -> bool:
            found = await self.server.get("/threads", token=token)
            assert found.status_code == 200, found.text
            return not any(thread["running"] for thread in found.json()["threads"])

        await until_asked(idle)

    def at_rest(self) -> None:
        """Repair what a test that failed half-way left behind."""
        self.pipeline.let_go()
        self.relay.cuts.clear()
        self.relay.done.clear()
        self.relay.answers.set()
        self.relay.target = int(self.server.url.rpartition(":")[2])


@asynccontextmanager
async def graph_site(folder: Path) -> AsyncIterator[GraphSite]:
    """The knowledge copilot on the offline model, a pipeline whose gates the test opens, and backend-core, all over HTTP."""
    folder.mkdir(parents=True, exist_ok=True)
    backend = create_app(database=folder / "backend.db", verify=secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE))
    pipeline = Pipeline()
    agents = {"knowledge_copilot": COPILOT, "pipeline": pipeline.graph()}
    async with serving(backend) as url, stack(folder, agents=agents, backend_url=url) as server, Relay() as relay:
        site = GraphSite(server, relay, pipeline, backend)
        site.at_rest()
        yield site


@dataclass(eq=False)
class GraphTab:
    """Wraps Playwright's page. `complaints` are console errors, `crashes` uncaught errors."""

    page: Page
    site: GraphSite
    token: str = ""
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._request)
        self.page.on("console", self._console)
        self.page.on("pageerror", self._crash)

    def _request(self, request: Request) -> None:
        self.requests.append(request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _crash(self, error: Error) -> None:
        self.crashes.append(f"{error.message}\n{error.stack}")

    # what is there ----------------------------------------------------------------------------------
    def id(self, name: str) -> Locator:
        return self.page.locator(f"#{name}")

    def node(self, name: str, state: str | None = None) -> Locator:
        """The element of a node of the drawing in this state."""
        return self.page.locator(f'.node[data-node="{name}"]' + (f'[data-state="{state}"]' if state else ""))

    @property
    def cards(self) -> Locator:
        return self.page.get_by_test_id("card")

    async def states(self) -> dict[str, str]:
        """Each node's state."""
        found: list[list[str]] = await self.page.locator(".node").evaluate_all(
            "(all) => all.map((one) => [one.dataset.node, one.dataset.state])"
        )
        return dict(found)

    async def lit(self) -> list[tuple[str, str]]:
        """The states that the screen has shown since `open`, in order."""
        seen: list[list[str]] = await self.page.evaluate("window.lit")
        return [(name, state) for name, state in seen]

    async def taken(self) -> set[str]:
        """The edges that are drawn as taken."""
        found: list[str] = await self.page.locator("#canvas .edge[data-taken]").evaluate_all(
            "(all) => all.map((one) => `${one.dataset.source}>${one.dataset.target}`)"
        )
        return set(found)

    async def rows(self) -> list[tuple[str, str]]:
        """Node and outcome of each step."""
        found: list[list[str]] = await self.page.locator("#rows tr").evaluate_all(
            "(all) => all.map((row) => [row.querySelector('.step').textContent, row.querySelector('.state').textContent])"
        )
        return [(node, outcome) for node, outcome in found]

    async def reply(self) -> str:
        """The newest answer."""
        text: str = await self.page.locator("#turns .reply").last.inner_text()
        return text

    async def outcome(self, words: str) -> None:
        """Wait until the page shows this outcome of the turn."""
        await expect(self.id("outcome").locator("span").first).to_have_text(words)

    # what a person does -----------------------------------------------------------------------------
    async def open(self, agent: str = "pipeline", *, lifetime_s: int | None = None) -> None:
        """Load the page, sign in and choose an agent. lifetime_s: of the token, from when the page is there."""
        await self.page.goto(self.site.url)
        await self.page.evaluate(WATCH)
        for name in ("link", "held"):
            await self.page.evaluate(SEEN, name)
        self.token = mint() if lifetime_s is None else mint(exp=int(time.time()) + lifetime_s)
        await self.sign_in(self.token)
        await self.id("agent").select_option(agent)

    async def sign_in(self, token: str) -> None:
        await self.id("token").fill(token)
        await self.id("token").press("Enter")
        await expect(self.id("sign-in")).to_be_hidden()

    async def say(self, text: str) -> None:
        await self.id("message").fill(text)
        await self.id("message").press("Enter")

    async def ask(self, text: str) -> None:
        """A whole turn."""
        await self.say(text)
        await self.outcome("Completed")

    async def notes(self, name: str) -> list[str]:
        """What a note has said so far."""
        said: list[str] = await self.page.evaluate("(id) => window.seen[id]", name)
        return said

    # what must hold whatever it does -------------------------------------------------------------------
    async def judge(self) -> None:
        """Check that no request left this machine, nothing crashed, the policy was kept, and the token is in no storage and no address."""
        assert self.crashes == []
        assert [one for one in self.complaints if "Content Security Policy" in one or "Trusted" in one] == []
        assert [one.url for one in self.requests if not one.url.startswith((self.site.relay.url, "data:"))] == []
        kept = await self.page.evaluate(
            "[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href, document.body.innerText]"
        )
        secrets = {one.headers["authorization"].removeprefix("Bearer ") for one in self.requests if "authorization" in one.headers}
        for token in secrets:
            assert token not in json.dumps(kept)
            assert not any(token in one.url for one in self.requests)


NewTab = Callable[..., Awaitable[GraphTab]]
