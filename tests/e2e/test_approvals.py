"""Approvals in the browser, in both forms: what the card shows, each answer to it, and what may happen while it is open."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.async_api import Locator, Route, expect

from tests.e2e.approving import Cards, add_source, cancel, confirm, exists
from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.proposals import LETTER, QUESTION, REASON, STEPS
from tests.e2e.speech import SHORT
from tests.e2e.tab import Tab, readable
from tests.e2e.test_going_on import SEES_WITHIN_S
from tests.e2e.test_identity import with_token
from tests.fakes.until import until

CHANNELS = ["card", "interrupt"]
both = pytest.mark.parametrize("channel", CHANNELS)


async def opened(new_tab: NewTab, channel: str, *, beside: Tab | None = None, thread: str | None = None) -> Tab:
    """A tab that gets its approvals in this form, signed in as alice."""
    tab = await new_tab(beside=beside)
    await tab.page.goto(f"{tab.site.url}/?approvals={channel}" + (f"&thread={thread}" if thread else ""))
    await tab.ready()
    return tab


def asked_with(tab: Tab) -> list[dict[str, Any]]:
    """The bodies of the runs that the tab asked for."""
    runs = [request for request in tab.requests if request.method == "POST" and request.url.endswith("/run")]
    return [json.loads(request.post_data or "{}") for request in runs]


@both
async def test_approved_it_is_deleted_once_and_the_card_says_so_for_good(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Alpha notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    await expect(card.get_by_test_id("approval-facts")).to_contain_text(re.compile(rf"Name.*Alpha notes.*Id.*{re.escape(source)}.*Objects"))
    await expect(card.get_by_test_id("approval-model")).to_contain_text(REASON)
    await expect(card.get_by_test_id("approval-facts")).not_to_contain_text(REASON)
    await expect(card.get_by_test_id("approval-time")).to_have_text(re.compile("left$"))
    assert await exists(site, source)
    await confirm(card).click()
    await tab.until_answer("Gone is Alpha notes.")
    await expect(Cards(tab).all("executed")).to_have_count(1)
    assert not await exists(site, source)
    offered = [tool["name"] for body in asked_with(tab) for tool in body.get("tools", [])]
    assert ("approve_action" in offered) is (channel == "card")
    assert any(body.get("resume") for body in asked_with(tab)) is (channel == "interrupt")
    await tab.reload()
    await expect(Cards(tab).all()).to_have_count(1)
    done = Cards(tab).all("executed")
    await expect(done).to_contain_text("Alpha notes")
    await expect(done.get_by_role("button")).to_have_count(0)
    readable(await tab.words_on_screen())


@both
async def test_cancelled_nothing_is_done(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Beta notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    await cancel(await Cards(tab).opened()).click()
    await tab.until_answer("The tool says: The user said no. Nothing was done.")
    await expect(Cards(tab).all("rejected")).to_have_count(1)
    await tab.reload()
    await expect(Cards(tab).all("rejected")).to_have_count(1)
    assert await exists(site, source)


@both
async def test_a_plan_is_followed_as_it_was_changed(channel: str, new_tab: NewTab) -> None:
    tab = await opened(new_tab, channel)
    await tab.say("plan")
    card = await Cards(tab).opened()
    first = card.get_by_label("Step 1", exact=True)
    await expect(first).to_have_value(STEPS[0])
    await card.get_by_label("Move step 1 down").click()
    await card.get_by_label("Remove step 3").click()
    await first.fill("")
    await confirm(card).click()
    await expect(card.get_by_test_id("plan-problem")).to_have_text("Step 1 is empty.")
    await first.fill("Ask around")
    await card.get_by_role("button", name="Add a step").click()
    await expect(card.get_by_label("Step 3", exact=True)).to_be_focused()
    await tab.page.keyboard.type("Write it down")
    await confirm(card).click()
    await tab.until_answer(f"Agreed: Ask around, then {STEPS[0]}, then Write it down")
    for _ in range(2):
        done = Cards(tab).all("executed")
        assert await done.get_by_test_id("plan-steps").get_by_role("listitem").all_text_contents() == [
            "Ask around",
            STEPS[0],
            "Write it down",
        ]
        await tab.reload()
        await expect(Cards(tab).all("executed")).to_have_count(1)


@both
async def test_an_open_card_comes_back_after_a_reload_and_in_its_own_thread_only(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Gamma notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    await Cards(tab).opened()
    thread = tab.thread_id
    await tab.find("new-chat").click()
    await expect(tab.find("welcome")).to_be_visible()
    await expect(Cards(tab).all()).to_have_count(0)
    await tab.open(thread)
    card = await Cards(tab).opened()
    await expect(card).to_contain_text("Gamma notes")
    await confirm(card).click()
    await tab.until_answer("Gone is Gamma notes.")
    assert not await exists(site, source)


@both
async def test_of_two_tabs_the_second_sees_what_the_first_decided(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Delta notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    mine = await Cards(tab).opened()
    other = await opened(new_tab, channel, beside=tab, thread=tab.thread_id)
    theirs = await Cards(other).opened()
    both_buttons = (confirm(mine), cancel(theirs))
    for button in both_buttons:
        await button.dispatch_event("click")
    for each in (tab, other):
        await expect(Cards(each).all("pending")).to_have_count(0)
        await each.until_idle()
        await expect(each.find("error-card")).to_have_count(0)
    looks = {await Cards(each).all().first.get_attribute("data-look") for each in (tab, other)}
    assert looks == ({"rejected"} if await exists(site, source) else {"executed"})


@both
async def test_a_new_message_withdraws_the_card_and_is_answered(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Epsilon notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    await Cards(tab).opened()
    await tab.ask("What time is it?", SHORT)
    await expect(Cards(tab).all("withdrawn")).to_have_count(1)
    await expect(Cards(tab).all().get_by_role("button")).to_have_count(0)
    await tab.reload()
    await expect(Cards(tab).all("withdrawn")).to_have_count(1)
    await tab.ask("And now?", SHORT)
    assert await exists(site, source)


@both
async def test_a_stop_withdraws_the_card_and_the_tab_is_usable(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Zeta notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    await card.press("Escape")
    await expect(Cards(tab).all("withdrawn")).to_have_count(1)
    await tab.ask("Hello?", SHORT)
    await expect(tab.find("error-card")).to_have_count(0)
    assert await exists(site, source)


@both
async def test_what_is_asked_can_be_withdrawn_in_plain_sight(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Zero notes")
    tab = await opened(new_tab, channel)
    await expect(tab.find("withdraw")).to_have_count(0)
    await tab.say(f"erase {source}")
    await Cards(tab).opened()
    await expect(tab.find("send")).to_be_visible()
    await tab.page.get_by_role("button", name="Withdraw the request").click()
    await expect(Cards(tab).all("withdrawn")).to_have_count(1)
    await expect(tab.find("withdraw")).to_have_count(0)
    await expect(tab.composer).to_be_focused()
    await expect(tab.find("approval-announcement")).to_have_text("Delete “Zero notes” permanently? Withdrawn. Nothing was done.")
    await tab.ask("Hello?", SHORT)
    assert await exists(site, source)


@both
async def test_escape_in_the_message_box_withdraws_too(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Nought notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    await Cards(tab).opened()
    await tab.composer.focus()
    await tab.page.keyboard.press("Tab")
    await expect(tab.find("withdraw")).to_be_focused()
    await tab.page.keyboard.press("Shift+Tab")
    await tab.page.keyboard.press("Escape")
    await expect(Cards(tab).all("withdrawn")).to_have_count(1)
    await expect(tab.composer).to_be_focused()
    assert await exists(site, source)


@both
@pytest.mark.parametrize("decision", ["withdraw", "yes", "no"])
async def test_another_tab_follows_what_is_decided_here(channel: str, decision: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Sigma notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    other = await opened(new_tab, channel, beside=tab, thread=tab.thread_id)
    await Cards(other).opened()
    if decision == "withdraw":
        await tab.find("withdraw").click()
    else:
        await (confirm if decision == "yes" else cancel)(card).click()
    look = {"withdraw": "withdrawn", "yes": "executed", "no": "rejected"}[decision]
    await expect(Cards(tab).all(look)).to_have_count(1)
    await expect(Cards(other).all(look)).to_have_count(1, timeout=SEES_WITHIN_S * 1000)
    for each in (tab, other):
        await each.until_idle()
        await expect(Cards(each).all()).to_have_count(1)
        await expect(each.find("withdraw")).to_have_count(0)
        await expect(each.find("error-card")).to_have_count(0)
        assert each.complaints == []
    assert await exists(site, source) is (decision != "yes")


@both
async def test_the_focus_stays_with_what_came_of_an_answer(channel: str, new_tab: NewTab, site: Site) -> None:
    gone, kept = await add_source(site, "Tau notes"), await add_source(site, "Upsilon notes")
    tab = await opened(new_tab, channel)
    for source, answer, look in ((gone, confirm, "executed"), (kept, cancel, "rejected")):
        await tab.say(f"erase {source}")
        card = await Cards(tab).opened()
        await answer(card).focus()
        await tab.page.keyboard.press("Enter")
        over = Cards(tab).all(look)
        await expect(over).to_have_count(1)
        await tab.until_answer(lambda said: said != "")
        await tab.until_idle()
        await expect(over).to_be_focused()
        await expect(tab.find("approval-announcement")).to_have_text(re.compile("done|Cancelled"))


@both
async def test_every_kind_of_argument_can_be_changed(channel: str, new_tab: NewTab, site: Site) -> None:
    site.post.unlink(missing_ok=True)
    tab = await opened(new_tab, channel)
    await tab.say("letter")
    card = await Cards(tab).opened()
    await card.get_by_label("To", exact=True).fill("Bob")
    await card.get_by_label("Copies").fill("9")
    await card.get_by_label("Weight").fill("0")
    await card.get_by_label("Urgent").select_option("Yes")
    await card.get_by_label("Tone").select_option("warm")
    await card.get_by_label("Note").fill("By noon")
    await card.get_by_label("Entry 2", exact=True).fill("Love")
    await confirm(card).click()
    await expect(card.get_by_test_id("field-problem")).to_have_text("Copies: at most 5 is possible.")
    await card.get_by_label("Copies").fill("5")
    await confirm(card).click()
    await tab.until_answer("The tool says: posted to Bob")
    changed = {"to": "Bob", "copies": 5, "weight": 0, "urgent": True, "tone": "warm", "note": "By noon", "lines": ["Dear Ann,", "Love"]}
    assert [json.loads(line) for line in site.post.read_text().splitlines()] == [changed]
    assert changed.keys() == LETTER.keys()
    for _ in range(2):
        done = Cards(tab).all("executed")
        await expect(done.get_by_test_id("approval-agreed")).to_have_text(
            "ToBob (changed)Copies5 (changed)Weight0 (changed)UrgentYes (changed)Tonewarm (changed)NoteBy noon (changed)"
        )
        assert await done.get_by_role("listitem").all_text_contents() == ["Dear Ann,", "Love"]
        await tab.reload()
        await tab.ready()


@both
async def test_a_card_and_a_plain_question_are_answered_each_by_itself(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Phi notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source} and ask")
    card = await Cards(tab).opened()
    question = tab.find("question-card", look="pending")
    await expect(question).to_contain_text(QUESTION)
    await confirm(card).click()
    await expect(Cards(tab).all("executed")).to_have_count(1)
    assert not await exists(site, source)
    await expect(question.get_by_test_id("question-send")).to_be_enabled()
    await question.get_by_test_id("question-input").fill("blue")
    await question.get_by_test_id("question-send").click()
    await tab.until_answer("The tool says: they said blue")
    await expect(tab.find("question-card", look="executed")).to_have_count(1)
    await expect(tab.find("error-card")).to_have_count(0)


@both
async def test_two_cards_are_answered_by_themselves_the_second_first(channel: str, new_tab: NewTab, site: Site) -> None:
    kept, gone = await add_source(site, "Eta notes"), await add_source(site, "Theta notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {kept} {gone}")
    await Cards(tab).opened(2)
    await confirm(Cards(tab).about("Theta notes")).click()
    await expect(Cards(tab).all("executed")).to_have_count(1)
    left = await Cards(tab).opened()
    await expect(left).to_contain_text("Eta notes")
    assert not await exists(site, gone)
    await cancel(left).click()
    await expect(Cards(tab).all("rejected")).to_have_count(1)
    await tab.until_answer(lambda answer: answer != "")
    assert await exists(site, kept)


@both
async def test_a_reader_is_not_even_asked(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Iota notes")
    tab = await new_tab()
    await with_token(tab, site.token("bob"))
    await tab.page.goto(f"{site.url}/?approvals={channel}")
    await tab.ready()
    await tab.say(f"erase {source}")
    await tab.until_answer("The tool says: permission denied: admin role required")
    await expect(Cards(tab).all()).to_have_count(0)
    assert await exists(site, source)


async def focused(locator: Locator) -> bool:
    held: bool = await locator.evaluate("(element) => element === document.activeElement")
    return held


async def test_the_keyboard_comes_to_the_card_and_meets_the_harmless_answer_first(tab: Tab, site: Site) -> None:
    source = await add_source(site, "Kappa notes")
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    assert await focused(card)
    await expect(tab.page.get_by_role("group", name="Delete “Kappa notes” permanently?")).to_be_visible()
    await expect(tab.find("approval-announcement")).to_have_text("Your approval is needed: Delete “Kappa notes” permanently?")
    steps = 0
    while not await focused(cancel(card)):
        assert not await focused(confirm(card))
        await tab.page.keyboard.press("Tab")
        steps += 1
        assert steps < 5
    await tab.page.keyboard.press("Tab")
    assert await focused(confirm(card))
    await tab.page.keyboard.press("Shift+Tab")
    await tab.page.keyboard.press("Enter")
    await expect(tab.find("approval-announcement")).to_have_text(re.compile("said no|Cancelled|cancelled"))
    assert await exists(site, source)


async def test_a_card_does_not_take_the_focus_from_somebody_who_types(tab: Tab, site: Site) -> None:
    source = await add_source(site, "Lambda notes")
    site.backend.answers.clear()
    await tab.say(f"erase {source}")
    await tab.composer.type("I am still")
    site.backend.answers.set()
    await Cards(tab).opened()
    await tab.page.keyboard.type(" typing")
    await expect(tab.composer).to_have_value("I am still typing")


@both
async def test_an_answer_that_does_not_arrive_can_be_given_again(channel: str, new_tab: NewTab, site: Site) -> None:
    source = await add_source(site, "Mu notes")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    lost = 0

    async def lose(route: Route) -> None:
        nonlocal lost
        lost += 1
        await route.abort()

    await tab.page.route("**/agent/default/run", lose)
    await confirm(card).click()
    await until(lambda: lost == 1)
    await tab.page.unroute("**/agent/default/run")
    again = await Cards(tab).opened()
    await confirm(again).click()
    await tab.until_answer("Gone is Mu notes.")
    assert not await exists(site, source)
