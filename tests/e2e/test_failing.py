"""Faults of the agent or the model: the page shows a card in words and a way to go on, and no internal text."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.e2e.agent import BREAK, SECRET
from tests.e2e.parts import Site
from tests.e2e.speech import SHORT
from tests.e2e.tab import Tab, readable
from tests.fakes.cerebras_server import Reply

REFERENCE = re.compile(r"^[\w-]{6,64}$")


async def test_a_node_that_raises_shows_a_card_and_the_composer_works(tab: Tab) -> None:
    await tab.say(BREAK)
    card = tab.find("error-card", code="internal")
    await expect(card).to_contain_text("Something went wrong")
    await expect(card.locator("code")).to_have_text(REFERENCE)
    words = await tab.words_on_screen()
    readable(words)
    assert SECRET not in words
    assert "hunter2" not in await tab.page.content()
    await expect(tab.composer).to_be_enabled()
    await card.get_by_test_id("retry").click()
    await expect(card).to_be_visible()
    assert await tab.questions() == [BREAK], "a retry sends the same message, not a second one"
    await tab.ask("Hello!", SHORT)
    await expect(card).to_have_count(0)


async def test_a_retry_answers_the_same_question(tab: Tab, site: Site) -> None:
    site.model.script(Reply(status=400, error={"message": "no", "type": "invalid_request_error", "param": "x", "code": "y"}))
    await tab.say("Hello!")
    card = tab.find("error-card")
    await expect(card).to_be_visible()
    await card.get_by_test_id("retry").click()
    await tab.until_answer(SHORT)
    await tab.until_idle()
    assert await tab.questions() == ["Hello!"]
    assert await tab.answers() == [SHORT]
    await tab.reload()
    await tab.until_answer(SHORT)
    assert await tab.questions() == ["Hello!"]


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (Reply(status=429, headers={"retry-after": "120"}), "model_rate_limited", "Try again in 120 seconds"),
        (Reply(status=400, error={"message": "x", "type": "x", "param": "x", "code": "context_length_exceeded"}), "model_context_too_long", "too long"),
        (Reply("Half of the answer", cut_after=3), "model_stream_cut", "broke off"),
    ],
    ids=["rate limit", "too long", "cut"],
)  # fmt: skip
async def test_each_failure_of_the_model_has_its_own_words(tab: Tab, site: Site, reply: Reply, code: str, words: str) -> None:
    site.model.script(reply)
    await tab.say("Hello!")
    card = tab.find("error-card", code=code)
    await expect(card).to_contain_text(words)
    readable(await tab.words_on_screen())
    await tab.until_idle()
    await tab.ask("Hello again!", SHORT)
    await expect(card).to_have_count(0)


async def test_a_backend_that_is_away_does_not_end_the_conversation(tab: Tab, site: Site) -> None:
    target, site.backend.target = site.backend.target, None
    site.backend.drop()
    try:
        await tab.say("search, then count 4 at 50")
        await expect(tab.find("tool-status", state="failed")).to_be_visible()
        await tab.until_idle()
        readable(await tab.words_on_screen())
    finally:
        site.backend.target = target
    await tab.ask("Hello!", SHORT)


async def test_a_page_that_does_not_exist_says_so(tab: Tab, site: Site) -> None:
    response = await tab.page.goto(site.url + "/no-such-page")
    assert response is not None
    assert response.status == 404
    readable(await tab.words_on_screen())
