"""A graph's own `interrupt()` in the browser: a card for any question, and the exact answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Locator, ViewportSize, expect

from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.tab import Tab, readable
from tests.e2e.test_going_on import SEES_WITHIN_S

WORDS = "What <b>colour</b> shall it be?"
SAID = "I ask, you answer."


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def asking(whole_site: Site) -> AsyncIterator[None]:
    """The site with an agent that asks."""
    async with whole_site.serving(MIDDLE_CORE_AGENTS="asker=tests.e2e.asker:build"):
        yield


def card(tab: Tab, look: str = "pending") -> Locator:
    return tab.find("question-card", look=look)


async def asked(tab: Tab, order: str) -> Locator:
    """The open card, once it can be answered."""
    await tab.say(order)
    await expect(card(tab)).to_have_count(1)
    await expect(card(tab).get_by_test_id("question-cancel")).to_be_enabled()
    return card(tab)


async def test_words_are_answered_with_words_and_both_stay(tab: Tab) -> None:
    question = await asked(tab, "words")
    await expect(tab.page.get_by_role("group", name=WORDS)).to_be_visible()
    await expect(question.locator("b")).to_have_count(0)
    await expect(tab.find("approval-announcement")).to_have_text(f"You are asked: {WORDS}")
    await question.get_by_test_id("question-input").fill("deep\nblue")
    await question.get_by_test_id("question-send").click()
    await tab.until_answer('Got "deep\\nblue".')
    for _ in range(2):
        over = card(tab, "executed")
        await expect(over).to_have_count(1)
        await expect(card(tab)).to_have_count(0)
        await expect(over.get_by_test_id("question-outcome")).to_have_text("You answered: deep\nblue", use_inner_text=True)
        await expect(over.get_by_role("button")).to_have_count(0)
        order = await tab.page.locator('[data-testid="question-card"], [data-testid="message-assistant"]').evaluate_all(
            "(all) => all.map((one) => one.dataset.testid)"
        )
        assert order == ["question-card", "message-assistant"], "the question stands before what came of it"
        await tab.reload()
        await tab.ready()
    assert tab.complaints == []


@pytest.mark.parametrize(
    ("label", "arrives"), [("0", "0"), ("(empty)", '""'), ("No", "false"), ("(nothing)", "null"), ("A pair", '{"of": "shoes"}')]
)
async def test_a_choice_arrives_exactly(label: str, arrives: str, tab: Tab) -> None:
    question = await asked(tab, "choices")
    await expect(question.get_by_test_id("question-input")).to_have_count(0)
    await question.get_by_role("button", name=label, exact=True).click()
    await tab.until_answer(f"Got {arrives}.")
    await expect(card(tab, "executed").get_by_test_id("question-outcome")).to_have_text(f"You answered: {label}")


async def test_what_nobody_knows_is_shown_as_data(tab: Tab) -> None:
    question = await asked(tab, "data")
    data = question.get_by_test_id("question-data")
    await expect(data).to_contain_text('"to": "<img src=x onerror=alert(1)>"')
    await expect(question.locator("img")).to_have_count(0)
    await question.get_by_test_id("question-input").fill("fine")
    await question.get_by_test_id("question-input").press("Enter")
    await tab.until_answer('Got "fine".')


async def test_a_number_is_a_number(tab: Tab) -> None:
    question = await asked(tab, "number")
    field = question.get_by_test_id("question-input")
    await field.fill("eight")
    await field.press("Enter")
    await expect(question.get_by_test_id("question-problem")).to_have_text("A number is needed.")
    await field.fill("0")
    await field.press("Enter")
    await tab.until_answer("Got 0.")


async def test_cancelled_the_graph_is_told_and_goes_on(tab: Tab) -> None:
    question = await asked(tab, "words")
    await question.get_by_test_id("question-cancel").click()
    await tab.until_answer("Cancelled, then.")
    for _ in range(2):
        await expect(card(tab, "rejected").get_by_test_id("question-outcome")).to_have_text("Cancelled without an answer.")
        await tab.reload()
        await tab.ready()


async def test_a_reload_brings_it_back_and_another_tab_sees_it_answered(tab: Tab, new_tab: NewTab) -> None:
    await asked(tab, "words")
    await tab.reload()
    other = await new_tab(beside=tab)
    await other.open(tab.thread_id)
    for each in (tab, other):
        await expect(card(each).get_by_test_id("question-send")).to_be_enabled()
    await card(other).get_by_test_id("question-input").fill("red")
    await card(other).get_by_test_id("question-send").click()
    await other.until_answer('Got "red".')
    await tab.until_answer('Got "red".', within_s=SEES_WITHIN_S)
    for each in (tab, other):
        await expect(card(each)).to_have_count(0)
        await expect(card(each, "executed")).to_have_count(1)
        await expect(each.find("error-card")).to_have_count(0)


async def test_it_waits_through_a_restart(tab: Tab, site: Site) -> None:
    await asked(tab, "words")
    await site.server.kill()
    await site.restart_server()
    await tab.reload()
    await card(tab).get_by_test_id("question-input").fill("green")
    await card(tab).get_by_test_id("question-send").click()
    await tab.until_answer('Got "green".')


async def test_a_new_message_withdraws_it_and_is_answered(tab: Tab) -> None:
    await asked(tab, "words")
    await tab.ask("hello", SAID)
    for _ in range(2):
        await expect(card(tab)).to_have_count(0)
        await expect(card(tab, "rejected").get_by_test_id("question-outcome")).to_have_text("Withdrawn without an answer.")
        await tab.reload()
        await tab.ready()


async def test_it_can_be_withdrawn(tab: Tab) -> None:
    await asked(tab, "words")
    await tab.find("withdraw").click()
    await expect(card(tab)).to_have_count(0)
    await expect(card(tab, "rejected")).to_have_count(1)
    await expect(tab.find("withdraw")).to_have_count(0)
    await expect(tab.composer).to_be_focused()
    await tab.ask("hello", SAID)


async def test_the_keyboard_alone_answers_it(tab: Tab) -> None:
    question = await asked(tab, "words")
    await expect(question).to_be_focused()
    await tab.page.keyboard.press("Tab")
    await expect(question.get_by_label("Your answer")).to_be_focused()
    await tab.page.keyboard.type("blue")
    await tab.page.keyboard.press("Enter")
    await tab.until_answer('Got "blue".')
    await tab.until_idle()
    held = await tab.page.evaluate("document.activeElement.id || document.activeElement.dataset.testid")
    assert held in {"composer", "question-card"}, "not lost"


@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}], ids=["small", "large"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_fits_and_can_be_read(size: ViewportSize, scheme: str, new_tab: NewTab) -> None:
    tab = await new_tab(viewport=size, color_scheme=scheme)
    await tab.open()
    question = await asked(tab, "data")
    assert await tab.page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
    box = await question.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    ratio = await question.get_by_test_id("question-data").evaluate(CONTRAST)
    assert ratio >= 4.5, ratio
    await tab.find("withdraw").click()
    await expect(card(tab, "rejected")).to_have_count(1)
    readable(re.sub(r"\{.*\}", "", await tab.words_on_screen(), flags=re.DOTALL))


CONTRAST = """(element) => {
    const light = (colour) => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const style = getComputedStyle(element);
    const [low, high] = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}"""
