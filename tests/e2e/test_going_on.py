"""Reloads, second tabs, broken connections, a server that dies: the answer goes on, or the page says why it ended."""

from __future__ import annotations

import random

import pytest
from playwright.async_api import Route, expect

from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.speech import SHORT, count, whole
from tests.e2e.tab import Tab, readable, starts
from tests.fakes.relay import Cut
from tests.fakes.until import until

SEES_WITHIN_S = 3.0
CUT_RUNS = [11, 23, 42]


async def test_a_reload_in_mid_answer_goes_on_to_its_exact_end(tab: Tab, site: Site) -> None:
    number = 200
    await tab.say(count(number, 40))
    await tab.until_answer(starts(whole(number), at_least=100))
    thread = tab.thread_id
    await tab.reload()
    assert tab.thread_id == thread
    await tab.until_answer(starts(whole(number), at_least=100))
    assert not site.model.requests[-1].over.is_set(), "it goes on while it is still being written"
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert await tab.questions() == [count(number, 40)]
    assert await tab.answers() == [whole(number)]
    assert await site.log_text(await tab.token(), thread) == whole(number)
    assert len(site.model.requests) == 1, "the model was asked once"


async def test_reloads_again_and_again(tab: Tab, site: Site) -> None:
    number = 240
    await tab.say(count(number, 30))
    for at_least in (20, 200, 400, 700):
        await tab.until_answer(starts(whole(number), at_least=at_least))
        await tab.reload()
    await tab.until_answer(whole(number))
    assert await tab.answers() == [whole(number)]
    assert len(site.model.requests) == 1


async def test_a_closed_tab_does_not_end_the_answer(tab: Tab, site: Site, new_tab: NewTab) -> None:
    number = 120
    await tab.say(count(number, 40))
    await tab.until_answer(starts(whole(number), at_least=20))
    thread, other = tab.thread_id, await new_tab(beside=tab)
    await tab.page.close()
    await other.open()
    await other.find("thread-item", thread_id=thread).get_by_role("link").click()
    await other.until_answer(whole(number))
    assert not site.model.requests[0].closed_early


async def test_a_second_tab_sees_what_is_written_in_the_first(tab: Tab, site: Site, new_tab: NewTab) -> None:
    """Both are open on the same conversation, idle; a question in one shows up in the other by itself."""
    number = 200
    await tab.ask("Hello!", SHORT)
    other = await new_tab(beside=tab)
    await other.open(tab.thread_id)
    await other.until_answer(SHORT)
    await tab.say(count(number, 20))
    await tab.until_answer(starts(whole(number), at_least=1))
    await other.until_answer(starts(whole(number), at_least=1, after=SHORT), within_s=SEES_WITHIN_S)
    for each in (tab, other):
        await each.until_answer(whole(number))
        await each.until_idle()
        assert await each.answers() == [SHORT, whole(number)]
        assert await each.questions() == ["Hello!", count(number, 20)]
    assert len(site.model.requests) == 2
    assert tab.complaints == other.complaints == []


async def test_a_second_tab_sees_an_answer_that_came_and_went(tab: Tab, new_tab: NewTab) -> None:
    await tab.ask("Hello!", SHORT)
    other = await new_tab(beside=tab)
    await other.open(tab.thread_id)
    await other.until_answer(SHORT)
    await tab.ask(count(3, 100), whole(3))
    await other.until_answer(whole(3))
    await other.ask(count(4, 100), whole(4))
    await tab.until_answer(whole(4))
    assert await tab.answers() == await other.answers() == [SHORT, whole(3), whole(4)]


@pytest.mark.parametrize("seed", CUT_RUNS)
async def test_the_proxys_socket_cut_at_random_bytes_costs_nothing(tab: Tab, site: Site, seed: int) -> None:
    """Closed or reset, also in the middle of a frame or a character: the screen shows exactly the text of the log."""
    chance = random.Random(seed)
    number = 150
    cuts = [Cut(after=chance.randrange(1, 9_000), hard=chance.random() < 0.5) for _ in range(8)]
    site.core.cuts.extend(cuts)
    await tab.watch_growth()
    await tab.say(count(number, 40))
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert len(site.core.done) >= 3, "it was cut more than once"
    site.core.cuts.clear()
    lengths = [step["length"] for step in await tab.growth()]
    assert lengths == sorted(lengths), "what was shown is never taken back"
    assert await tab.answers() == [whole(number)]
    assert await site.log_text(await tab.token(), tab.thread_id) == whole(number)
    assert len(site.model.requests) == 1
    await expect(tab.find("error-card")).to_have_count(0)
    assert tab.complaints == []


async def test_cuts_while_a_reloaded_page_catches_up(tab: Tab, site: Site) -> None:
    number = 120
    await tab.say(count(number, 30))
    await tab.until_answer(starts(whole(number), at_least=200))
    site.core.cuts.extend([Cut(after=300), Cut(after=1_500, hard=False), Cut(after=2_500)])
    await tab.reload()
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert len(site.core.done) == 3
    assert await tab.answers() == [whole(number)]


async def test_the_browsers_own_connection_breaks(tab: Tab, site: Site) -> None:
    """The network goes away and comes back in the middle of an answer."""
    number = 200
    await tab.say(count(number, 30))
    await tab.until_answer(starts(whole(number), at_least=100))
    await tab.page.context.set_offline(True)
    await expect(tab.find("offline-banner")).to_be_visible()
    await tab.page.context.set_offline(False)
    await expect(tab.find("offline-banner")).to_have_count(0)
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert await tab.answers() == [whole(number)]
    assert len(site.model.requests) == 1


async def test_a_page_that_was_frozen_catches_up(tab: Tab, site: Site) -> None:
    """A tab in the background of a laptop that slept (CopilotKit/CopilotKit#1759)."""
    number = 150
    await tab.say(count(number, 30))
    await tab.until_answer(starts(whole(number), at_least=50))
    browser = await tab.page.context.new_cdp_session(tab.page)
    await browser.send("Page.setWebLifecycleState", {"state": "frozen"})
    site.core.drop()
    await until(site.model.requests[0].over.is_set, within_s=30)
    await browser.send("Page.setWebLifecycleState", {"state": "active"})
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert await tab.answers() == [whole(number)]


async def test_a_tab_that_has_not_noticed_yet_is_told_that_the_thread_is_busy(tab: Tab, site: Site, new_tab: NewTab) -> None:
    """The message is neither lost nor sent twice; Retry sends it."""
    number = 100
    await tab.ask("Hello!", SHORT)
    other = await new_tab(beside=tab)
    await other.open(tab.thread_id)
    await other.until_answer(SHORT)
    status = f"**/api/threads/{tab.thread_id}"
    await other.page.route(status, nothing_new)
    await tab.say(count(number, 20))
    await tab.until_answer(starts(whole(number), at_least=1, after=SHORT))
    await other.say("Me too")
    card = other.find("error-card", code="thread_busy")
    await expect(card).to_contain_text("Still answering")
    readable(await other.words_on_screen())
    await tab.until_answer(whole(number))
    await tab.until_idle()
    await card.get_by_test_id("retry").click()
    await expect(card).to_have_count(0)
    await other.until_answer(SHORT)
    await other.until_idle()
    await other.page.unroute(status)
    questions, answers = ["Hello!", count(number, 20), "Me too"], [SHORT, whole(number), SHORT]
    await expect(tab.find("message-user")).to_have_count(3)
    await tab.until_answer(SHORT)
    for each in (tab, other):
        assert await each.questions() == questions
        assert await each.answers() == answers


async def nothing_new(route: Route) -> None:
    """Answer as a poll that comes a moment too early."""
    await route.fulfill(status=304)


async def test_kill_9_in_mid_answer_costs_a_pause(tab: Tab, site: Site) -> None:
    """The page says that the server is away, and when it is back the answer goes on by itself: no half of it is left over."""
    number = 300
    await tab.say(count(number, 40))
    await tab.until_answer(starts(whole(number), at_least=200))
    await site.server.kill()
    await expect(tab.find("offline-banner")).to_be_visible()
    await expect(tab.find("offline-banner")).to_contain_text("cannot be reached")
    readable(await tab.words_on_screen())
    assert site.next.alive
    await site.restart_server()
    await expect(tab.find("offline-banner")).to_have_count(0)
    await tab.until_answer(whole(number), 60)
    await tab.until_idle()
    await expect(tab.find("error-card")).to_have_count(0)
    assert await tab.answers() == [whole(number)]
    await tab.reload()
    await tab.until_answer(whole(number))
    await tab.ask("And now?", SHORT)
    assert await tab.answers() == [whole(number), SHORT]


async def test_a_server_that_stays_away_is_told_and_its_return_is_noticed(tab: Tab, site: Site) -> None:
    """The server is away for longer than the proxy tries. The person sees a card and a banner; both disappear when it is back."""
    number = 400
    await tab.say(count(number, 40))
    await tab.until_answer(starts(whole(number), at_least=50))
    seen = await tab.answer()
    await site.server.kill()
    await expect(tab.find("error-card")).to_be_visible()
    await expect(tab.find("offline-banner")).to_be_visible()
    readable(await tab.words_on_screen())
    assert (await tab.answer()).startswith(seen), "what was written is still there"
    await tab.page.reload()
    await expect(tab.find("offline-banner").or_(tab.page.get_by_text("The service is away")).first).to_be_visible()
    readable(await tab.words_on_screen())
    await site.restart_server()
    await expect(tab.find("offline-banner")).to_have_count(0)
    await tab.until_answer(lambda answer: answer == whole(number))
    await tab.until_idle()
    await tab.ask("And now?", SHORT)


async def test_a_message_while_the_server_is_away_is_kept_and_goes_out(tab: Tab, site: Site) -> None:
    await tab.ask("Hello!", SHORT)
    await site.server.kill()
    await tab.say("Are you there?")
    await expect(tab.find("error-card")).to_be_visible()
    await expect(tab.find("offline-banner")).to_be_visible()
    readable(await tab.words_on_screen())
    assert await tab.questions() == ["Hello!", "Are you there?"]
    await site.restart_server()
    await expect(tab.find("offline-banner")).to_have_count(0)
    await tab.until_answer(SHORT)
    await tab.until_idle()
    await expect(tab.find("error-card")).to_have_count(0)
    assert await tab.questions() == ["Hello!", "Are you there?"]
    assert await tab.answers() == [SHORT, SHORT]


async def test_an_idle_page_notices_that_the_server_is_away_and_back(tab: Tab, site: Site) -> None:
    await tab.ask("Hello!", SHORT)
    await expect(tab.find("offline-banner")).to_have_count(0)
    await site.server.kill()
    await expect(tab.find("offline-banner")).to_be_visible()
    await site.restart_server()
    await expect(tab.find("offline-banner")).to_have_count(0)
    await tab.ask("Hello again!", SHORT)


async def test_a_deploy_in_mid_answer(tab: Tab, site: Site) -> None:
    """SIGTERM with an answer that fits into the grace: the person notices nothing."""
    number = 150
    await tab.say(count(number, 40))
    await tab.until_answer(starts(whole(number), at_least=50))
    await site.server.end()
    await site.restart_server()
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert await tab.answers() == [whole(number)]
    await tab.ask("And now?", SHORT)
