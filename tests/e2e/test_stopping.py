"""Stop, from the person's view and from the model's."""

from __future__ import annotations

import time

from playwright.async_api import expect

from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.speech import SHORT, count, whole
from tests.e2e.tab import Tab, readable, starts
from tests.fakes.until import until


async def test_stop_closes_the_model_and_the_partial_answer_stays(tab: Tab, site: Site) -> None:
    await tab.say(count(600, 20))
    await tab.until_answer(starts(whole(600), at_least=40))
    [request] = site.model.requests
    clicked = time.monotonic()
    await tab.stop()
    await until(lambda: request.closed_early)
    assert request.closed_at is not None
    assert request.closed_at - clicked < 5.0, "half a heartbeat: the model's stream waited for none"
    await tab.until_idle()
    await expect(tab.find("stopped-mark")).to_have_count(1)
    token, thread = await tab.token(), tab.thread_id
    kept = await site.log_text(token, thread)
    assert whole(600).startswith(kept)
    await tab.until_answer(kept.rstrip())
    await tab.reload()
    assert await tab.until_answer(kept.rstrip()) == kept.rstrip()
    await expect(tab.find("stopped-mark")).to_have_count(1)
    assert (await site.thread(token, thread))["running"] is False
    assert request.sent < 600
    assert tab.complaints == []


async def test_a_message_right_after_stop_is_answered(tab: Tab, site: Site) -> None:
    """As fast as the page allows: the text is in the box before the stop is clicked."""
    await tab.say(count(600, 20))
    await tab.until_answer(starts(whole(600), at_least=20))
    await tab.composer.fill("And now?")
    await tab.stop()
    await tab.composer.press("Enter")
    await tab.until_answer(SHORT)
    await tab.until_idle()
    assert await tab.questions() == [count(600, 20), "And now?"]
    partial, answer = await tab.answers()
    assert whole(600).startswith(partial)
    assert answer == SHORT
    await expect(tab.find("error-card")).to_have_count(0)
    await expect(tab.find("stopped-mark")).to_have_count(1)
    told = [(m["role"], m["content"]) for m in site.model.requests[-1].body["messages"] if m["role"] != "system"]
    assert told[0] == ("user", count(600, 20))
    assert told[-1] == ("user", "And now?")
    assert told[1][1].rstrip() == partial, "the model knows what was said before the stop"
    await tab.reload()
    await tab.until_answer(SHORT)
    assert await tab.answers() == [partial, SHORT]


async def test_stop_again_and_again(tab: Tab, site: Site) -> None:
    """Each stop counts once, and no text of a stopped answer appears in the next one."""
    for round_ in range(4):
        question = count(500 + round_, 30)
        await tab.say(question)
        await tab.until_answer(lambda answer, n=500 + round_: answer != "" and whole(n).startswith(answer))  # type: ignore[misc]
        await expect(tab.find("message-assistant")).to_have_count(round_ + 1)
        await tab.stop()
        await tab.until_idle()
    assert len(site.model.requests) == 4
    await until(lambda: all(request.closed_early for request in site.model.requests))
    await expect(tab.find("stopped-mark")).to_have_count(4)
    await tab.ask("Enough.", SHORT)
    on_screen = await tab.answers()
    await tab.reload()
    await tab.until_answer(SHORT)
    assert await tab.answers() == on_screen
    assert site.next.alive


async def test_stop_before_the_first_word(tab: Tab, site: Site) -> None:
    site.backend.answers.clear()
    await tab.say(count(50, 50, search=True))
    await expect(tab.find("tool-status", state="running")).to_be_visible()
    await tab.stop()
    await tab.until_idle()
    await expect(tab.find("tool-status", state="cancelled")).to_be_visible()
    # The page shows the stop at once; before the server has it, the tool could still come to its end.
    await site.until_at_rest(await tab.token(), tab.thread_id)
    site.backend.answers.set()
    await tab.ask("Hello again", SHORT)
    await expect(tab.find("error-card")).to_have_count(0)
    await tab.reload()
    await tab.until_answer(SHORT)
    await expect(tab.find("tool-status", state="cancelled")).to_be_visible()


async def test_stop_at_once_after_sending(tab: Tab, site: Site) -> None:
    """The stop may arrive before its run."""
    await tab.say(count(400, 40))
    await tab.stop()
    await tab.until_idle()
    await site.until_at_rest(await tab.token(), tab.thread_id)
    await until(lambda: all(request.over.is_set() or request.closed_early for request in site.model.requests))
    assert not any(request.over.is_set() and request.sent > 300 for request in site.model.requests)
    await tab.ask("Hello?", SHORT)


async def test_a_stop_that_nobody_hears_says_so(tab: Tab, site: Site) -> None:
    await tab.say(count(2_000, 20))
    await tab.until_answer(starts(whole(2_000), at_least=20))
    await site.server.kill()
    await tab.stop()
    await expect(tab.find("error-card")).to_be_visible()
    readable(await tab.words_on_screen())
    await site.restart_server()
    await tab.page.get_by_role("button", name="Dismiss").click()
    await tab.stop()  # the answer goes on where the server is back, as the card said it might
    await tab.until_idle()
    await tab.ask("Hello?", SHORT)


async def test_stop_from_another_tab_stops_for_all(tab: Tab, site: Site, new_tab: NewTab) -> None:
    await tab.say(count(600, 20))
    await tab.until_answer(starts(whole(600), at_least=20))
    other = await new_tab(beside=tab)
    await other.open(tab.thread_id)
    await other.until_answer(starts(whole(600), at_least=20))
    await other.stop()
    await until(lambda: site.model.requests[0].closed_early)
    for each in (tab, other):
        await each.until_idle()
        await expect(each.find("stopped-mark")).to_have_count(1)
    assert await tab.answer() == await other.answer()
