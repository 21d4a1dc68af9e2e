"""The graph page where something is in the way: broken connections, no streaming, a buffering proxy, a token that expires."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import Browser, Route, expect

from tests.e2e.graph_page.graph_tab import ALL_OK, ROWS, GraphSite, GraphTab, NewTab
from tests.e2e.graph_page.pipeline import TEXT
from tests.e2e.parts import Part
from tests.fakes.ports import free_port
from tests.fakes.relay import Cut
from tests.fakes.tokens import mint
from tests.fakes.until import until

LASTS_S = 0.8
"""A pace, not a wait: how long the source is silent, so that events which come in one block come late."""


async def test_a_broken_connection_is_gone_on_with(tab: GraphTab, site: GraphSite) -> None:
    site.pipeline.hold("right", "write")
    site.relay.cuts.extend([Cut(after=1_900), Cut(after=700, hard=False)])
    await tab.say("go")
    await until(lambda: len(site.relay.done) >= 1)
    await expect(tab.node("right", "running")).to_be_visible()
    site.pipeline.let_go("right")
    await expect(tab.page.locator("#turns .reply")).to_contain_text("word1")
    site.relay.target = None
    site.relay.drop()
    await expect(tab.id("link")).to_contain_text("Attaching again")
    await expect(tab.id("outcome")).to_contain_text("Running")
    site.at_rest()
    await tab.outcome("Completed")
    assert await tab.reply() == TEXT
    assert await tab.states() == ALL_OK
    assert sorted(await tab.rows()) == sorted(ROWS), "no step twice, none lost"
    await expect(tab.id("link")).to_be_hidden()
    again = [one for one in tab.requests if "/events" in one.url]
    assert len(again) >= 2
    assert len([one for one in tab.requests if one.method == "POST" and "/chat" in one.url]) == 1
    assert all("last-event-id" in one.headers for one in again[-1:])


async def test_a_request_whose_answer_was_lost_begins_one_turn(tab: GraphTab, site: GraphSite) -> None:
    site.relay.forget()
    site.relay.answers.clear()
    site.pipeline.hold("plan")
    await tab.say("go")
    await until(lambda: bool(site.relay.header("idempotency-key")))
    site.relay.drop()
    site.at_rest()
    await tab.outcome("Completed")
    assert await tab.reply() == TEXT
    keys = site.relay.header("idempotency-key")
    assert len(keys) == 2
    assert len(set(keys)) == 1


async def test_without_streaming_the_graph_is_drawn_once_from_the_answer(new_tab: NewTab) -> None:
    tab = await new_tab()
    await tab.page.add_init_script("delete Response.prototype.body;")
    await tab.open()
    await tab.ask("go")
    await expect(tab.id("held")).to_contain_text("in one piece")
    assert await tab.states() == ALL_OK
    assert await tab.reply() == TEXT
    assert "plan>left" in await tab.taken()
    asked = next(one for one in tab.requests if one.url.endswith("/chat"))
    assert asked.headers["accept"] == "application/json"


async def test_a_json_answer_to_a_stream_request_will_do(new_tab: NewTab, site: GraphSite) -> None:
    """Something in between took the Accept header away. Also a pause and its answer come as JSON then."""
    tab = await new_tab()

    async def as_json(route: Route) -> None:
        await route.continue_(headers={**route.request.headers, "accept": "*/*"})

    await tab.page.route("**/chat*", as_json)
    await tab.page.route("**/chat/resume*", as_json)
    await tab.open(agent="knowledge_copilot")
    name = max(site.sources())
    await tab.say(f"delete the source {name}")
    await expect(tab.id("held")).to_contain_text("in one piece")
    await tab.outcome("Waiting for your answer")
    await tab.cards.get_by_role("button", name="Cancel").click()
    await tab.outcome("Completed")
    assert await tab.reply() == "The user said no. Nothing was done."


async def test_events_that_come_in_one_block_are_told_as_such(tab: GraphTab, site: GraphSite) -> None:
    site.pipeline.hold("write")
    site.relay.answers.clear()
    await tab.say("go")
    await expect(tab.id("outcome")).to_contain_text("Sending")
    await asyncio.sleep(LASTS_S)
    site.pipeline.let_go()
    await site.until_idle(tab.token)
    site.relay.answers.set()
    await tab.outcome("Completed")
    await expect(tab.id("held")).to_contain_text("in one block")
    await expect(tab.id("held")).to_contain_text("buffering proxy")
    assert await tab.states() == ALL_OK
    await tab.ask("again")
    await expect(tab.id("held")).to_be_hidden()


async def test_a_session_that_ends_is_gone_on_with_after_signing_in(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab()
    await tab.open(lifetime_s=4)
    site.pipeline.hold("write")
    await tab.say("go")
    await expect(tab.node("write", "running")).to_be_visible()
    await expect(tab.id("sign-in")).to_be_visible()
    await expect(tab.id("why")).to_contain_text("session has ended")
    await tab.id("token").fill("not-a-token")
    await tab.id("token").press("Enter")
    await expect(tab.id("wrong")).to_contain_text("not accepted")
    await tab.sign_in(mint())
    site.pipeline.let_go()
    await tab.outcome("Completed")
    assert await tab.reply() == TEXT


async def test_in_dev_it_signs_in_by_itself(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    env = {"MIDDLE_CORE_ENV": "dev", "MIDDLE_CORE_DATA_DIR": str(tmp_path), "MIDDLE_CORE_MODEL": "offline"}
    served = Part(
        [sys.executable, "-m", "middle_core", "serve", "--port", str(port)], env, f"http://127.0.0.1:{port}/readyz", tmp_path / "log"
    )
    await served.start()
    try:
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{port}/graph")
        await expect(page.locator("#name")).to_have_text("Alice")
        await page.locator("#leave").click()
        await page.get_by_role("button", name="Bob").click()
        await expect(page.locator("#name")).to_have_text("Bob")
        await page.locator("#message").fill("Hello")
        await page.locator("#message").press("Enter")
        await expect(page.locator("#outcome")).to_contain_text("Completed")
        await page.context.close()
    finally:
        await served.end()
