"""Pictures of the page in every state, for people to look at: `python -m tests.e2e.screenshots OUT`.

Each state at two sizes, light and dark, with the offline model. Also the README's picture: OUT/chat.png.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, ViewportSize, async_playwright, expect

from tests.e2e.agent import BREAK
from tests.e2e.approving import Cards, add_source, cancel, confirm
from tests.e2e.chromium import FLAGS, installed
from tests.e2e.parts import Site, running_site
from tests.e2e.tab import Tab
from tests.e2e.test_identity import PUT_TOKEN, allow_sign_in, refuse_sign_in
from tests.fakes.until import until

SIZES: dict[str, ViewportSize] = {"1280": {"width": 1280, "height": 800}, "390": {"width": 390, "height": 844}}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
RELOAD = "How does an answer go on after the page is reloaded?"
STOP = "What happens when I press stop?"
TOKEN = "How is the user's JWT forwarded to backend-core?"


class Camera:
    """Takes pictures of one tab, called OUT/<state>-<size>-<scheme>.png."""

    def __init__(self, tab: Tab, out: Path, suffix: str) -> None:
        self.tab = tab
        self._out = out
        self._suffix = suffix

    async def shoot(self, state: str) -> None:
        await self.tab.page.screenshot(path=self._out / f"{state}-{self._suffix}.png")

    async def walk(self) -> None:
        """Through all states, in the order in which a person may meet them."""
        tab, site = self.tab, self.tab.site
        await tab.open()
        await expect(tab.find("model-badge")).to_be_visible()
        await self.shoot("01-empty")
        await self._answer(site)
        await self._stop()
        await self._approvals(site)
        await tab.say(BREAK)
        await expect(tab.find("error-card")).to_be_visible()
        await self.shoot("06-error")
        await self._cards()
        await self._lists()
        await self._away(site)
        await self._expired(site)

    async def _answer(self, site: Site) -> None:
        tab = self.tab
        site.backend.answers.clear()
        await tab.say(RELOAD)
        await expect(tab.find("tool-status", state="running")).to_be_visible()
        await self.shoot("02-tool-running")
        site.backend.answers.set()
        await tab.until_answer(lambda answer: len(answer) > 200)
        await self.shoot("03-streaming")
        await tab.until_idle()
        await self.shoot("04-finished")
        line = tab.find("tool-status").first.get_by_role("button")
        await line.click()
        await line.scroll_into_view_if_needed()
        await self.shoot("04-tool-details")
        await line.click()

    async def _stop(self) -> None:
        tab = self.tab
        await tab.say(STOP)
        await tab.until_answer(lambda answer: len(answer) > 100)
        await tab.stop()
        await tab.until_idle()
        await expect(tab.find("stopped-mark")).to_be_visible()
        await self.shoot("05-stopped")

    async def _cards(self) -> None:
        tab = self.tab
        await tab.find("new-chat").click() if await tab.find("new-chat").is_visible() else await tab.open()
        await tab.find("graph-toggle").click()
        await tab.say(STOP)
        await expect(tab.find("graph-node", node="tools", outcome="ok")).to_be_visible()
        await self.shoot("06-graph")
        await tab.until_idle()
        await tab.find("graph-toggle").click()
        await tab.find("citation").first.get_by_role("button").click()
        await self._card("search_knowledge", "06-citations")
        await self._said("Which documents are there?")
        for row in range(2):
            await tab.find("source-row").nth(row).get_by_role("checkbox").check()
        await self._card("list_sources", "06-sources")
        await self._said("Filter the table to stream")
        await self._card("filter_sources", "06-filtered")
        await self._said("Show the cockpit")
        await self._card("cockpit_metrics", "06-cockpit")
        await tab.say("Add a note called “Otters” to the knowledge base: Otters hold hands while they sleep.")
        await expect(tab.find("ingest-step")).to_contain_text("Splitting")
        await self.shoot("06-ingesting")
        await tab.until_idle()
        await self.shoot("06-ingested")
        await self._said("ingest http://127.0.0.1/")
        await self.shoot("06-ingest-refused")

    async def _said(self, words: str) -> None:
        tab = self.tab
        await tab.say(words)
        await tab.until_answer(lambda answer: answer != "")
        await tab.until_idle()

    async def _card(self, tool: str, state: str) -> None:
        await self.tab.find("tool-card", tool=tool).last.evaluate("(card) => card.scrollIntoView({ block: 'start' })")
        await self.shoot(state)

    async def _approvals(self, site: Site) -> None:
        tab, title = self.tab, f"Old notes {self._suffix}"
        await add_source(site, title)
        await tab.say(f"Delete the source {title}")
        card = await Cards(tab).opened()
        await self.shoot("11-approval")
        await confirm(card).click()
        await expect(Cards(tab).all("executed")).to_have_count(1)
        await tab.until_idle()
        await self.shoot("11-approved")
        await tab.say("Make a plan to tidy up the knowledge base")
        card = await Cards(tab).opened()
        await card.get_by_role("button", name="Add a step").click()
        await confirm(card).click()
        await self.shoot("12-plan")
        await tab.say("Never mind.")
        await expect(Cards(tab).all("withdrawn")).to_have_count(1)
        await tab.until_idle()
        await Cards(tab).all("withdrawn").scroll_into_view_if_needed()
        await self.shoot("12-withdrawn")

    async def _lists(self) -> None:
        tab = self.tab
        await tab.find("user-menu").click()
        await self.shoot("07-user-menu")
        await tab.page.keyboard.press("Escape")
        small = await tab.find("open-sidebar").is_visible()
        if small:
            await tab.find("open-sidebar").click()
            await expect(tab.find("new-chat")).to_be_in_viewport()
            await tab.page.evaluate(
                "Promise.all(document.getAnimations().filter((a) => a.effect.getComputedTiming().iterations === 1).map((a) => a.finished))"
            )
        await expect(tab.find("thread-item").first).to_be_visible()
        await self.shoot("08-threads")
        if small:
            await tab.page.keyboard.press("Escape")

    async def _away(self, site: Site) -> None:
        tab = self.tab
        await site.server.kill()
        await tab.say(TOKEN)
        await expect(tab.find("offline-banner")).to_be_visible()
        await expect(tab.find("error-card")).to_be_visible()
        await self.shoot("09-offline")
        await site.restart_server()
        await expect(tab.find("offline-banner")).to_have_count(0)
        await tab.until_answer(lambda answer: len(answer) > 100)
        await tab.until_idle()

    async def _expired(self, site: Site) -> None:
        tab = self.tab
        await refuse_sign_in(tab)
        await tab.page.evaluate(PUT_TOKEN, site.token(ttl_s=-60))
        await tab.reload()
        await expect(tab.find("session-expired")).to_be_visible()
        await self.shoot("10-expired")
        await allow_sign_in(tab)


class Asked:
    """Pictures of what a person is asked by a graph of a team's own and by a tool with many arguments, with a scripted model."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._tab = camera.tab
        self._cards = Cards(camera.tab)

    async def letters(self) -> None:
        tab, site = self._tab, self._tab.site
        await tab.open()
        await tab.say("letter")
        card = await self._cards.opened()
        await card.get_by_label("Copies").fill("9")
        await card.get_by_label("Tone").select_option("warm")
        await confirm(card).click()
        await self._camera.shoot("13-fields")
        await card.get_by_label("Copies").fill("3")
        await confirm(card).click()
        await expect(self._cards.all("executed")).to_have_count(1)
        await tab.until_idle()
        await self._camera.shoot("13-fields-agreed")
        site.post.with_suffix(".hold").write_text("after")
        await tab.say("letter")
        await confirm(await self._cards.opened()).click()
        await until(site.post.with_suffix(".held").exists)
        await site.server.kill()
        site.post.with_suffix(".hold").unlink()
        site.post.with_suffix(".held").unlink()
        await site.restart_server()
        card = await self._cards.opened()
        await card.scroll_into_view_if_needed()
        await self._camera.shoot("13-unknown")
        await cancel(card).click()
        await tab.until_answer(lambda answer: "unknown" in answer)
        await tab.until_idle()
        await self._camera.shoot("13-left")

    async def questions(self) -> None:
        tab = self._tab
        await tab.open()
        for order in ("words", "choices", "data"):
            await tab.say(order)
            card = tab.find("question-card", look="pending")
            await expect(card.get_by_test_id("question-cancel")).to_be_enabled()
            await card.scroll_into_view_if_needed()
            await self._camera.shoot(f"14-{order}")
            if order == "words":
                await card.get_by_test_id("question-input").fill("blue, but not too dark")
                await card.get_by_test_id("question-send").click()
            elif order == "choices":
                await card.get_by_role("button", name="A pair").click()
            else:
                await tab.find("withdraw").click()
            await expect(card).to_have_count(0)
            await tab.until_idle()
            await self._camera.shoot(f"14-{order}-over")

    async def expired(self) -> None:
        tab = self._tab
        await tab.open()
        await tab.say("plan")
        await expect(self._cards.all("expired")).to_have_count(1)
        await self._camera.shoot("15-expired")


async def asked_pictures(browser: Browser, site: Site, out: Path) -> None:
    """The states of `Asked`, each at all sizes."""

    async def each(walk: Callable[[Asked], Awaitable[None]]) -> None:
        for size, viewport in SIZES.items():
            for scheme in SCHEMES:
                context = await browser.new_context(viewport=viewport, color_scheme=scheme)
                await walk(Asked(Camera(Tab(await context.new_page(), site), out, f"{size}-{scheme}")))
                await context.close()

    await each(Asked.letters)
    async with site.serving(MIDDLE_CORE_AGENTS="asker=tests.e2e.asker:build"):
        await each(Asked.questions)
    async with site.serving(MIDDLE_CORE_APPROVAL_TTL_S="2"):
        await each(Asked.expired)


async def readme_picture(browser: Browser, site: Site, path: Path) -> None:
    """A few conversations in the list, and an answer that rests on what was found."""
    context = await browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light")
    tab = Tab(await context.new_page(), site)
    await tab.page.goto(site.url + "/api/health")
    await tab.page.evaluate(PUT_TOKEN, site.token("carol"))
    await tab.open()
    for question in ("Which documents are in the knowledge base?", TOKEN, RELOAD, STOP):
        await tab.find("new-chat").click()
        await expect(tab.find("welcome")).to_be_visible()
        await tab.say(question)
        await tab.until_answer(lambda answer: len(answer) > 100)
        await tab.until_idle()
    await expect(tab.find("thread-item")).to_have_count(4)
    await tab.page.get_by_role("region", name="Conversation").evaluate("(region) => region.scrollTo(0, 0)")
    await tab.page.evaluate("document.activeElement.blur()")
    await tab.page.screenshot(path=path)
    await context.close()


async def main(out: Path) -> None:
    """Take them all."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with running_site(Path(folder), {"MIDDLE_CORE_MODEL": "offline"}) as site, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=installed(), args=FLAGS)
            async with site.serving(MIDDLE_CORE_MODEL="cerebras:"):
                await asked_pictures(browser, site, out)
            await readme_picture(browser, site, out / "chat.png")
            for size, viewport in SIZES.items():
                for scheme in SCHEMES:
                    context = await browser.new_context(viewport=viewport, color_scheme=scheme)
                    await Camera(Tab(await context.new_page(), site), out, f"{size}-{scheme}").walk()
                    await context.close()
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
