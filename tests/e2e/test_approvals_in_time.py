"""Approvals that expire, or that a kill -9 cuts off, in the browser, in both forms."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.approving import Cards, add_source, cancel, confirm, exists
from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.proposals import LETTER
from tests.e2e.speech import SHORT
from tests.e2e.tab import readable
from tests.e2e.test_approvals import both, opened
from tests.fakes.until import until

TTL_S = 5


@pytest_asyncio.fixture(loop_scope="session")
async def impatient(site: Site) -> AsyncIterator[Site]:
    """The site with little time for an answer."""
    async with site.serving(MIDDLE_CORE_APPROVAL_TTL_S=str(TTL_S)):
        yield site


@both
async def test_an_answer_that_does_not_come_in_time_closes_the_card_by_itself(channel: str, new_tab: NewTab, impatient: Site) -> None:
    source = await add_source(impatient, f"Late notes {channel}")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    await expect(card.get_by_test_id("approval-time")).to_have_text(re.compile(r"^0:0\d left$"))
    until_s = await card.get_by_test_id("approval-time").evaluate("(time) => Number(time.textContent.slice(2, 4))")
    assert 0 <= until_s <= TTL_S
    expired = Cards(tab).all("expired")
    await expect(expired).to_have_count(1, timeout=(TTL_S + 3) * 1000)
    await expect(expired.get_by_role("button")).to_have_count(0)
    await expect(expired.get_by_test_id("approval-time")).to_have_count(0)
    await expect(expired.get_by_test_id("approval-outcome")).to_have_text("The time for this is over. Nothing was done.")
    await expect(tab.find("approval-announcement")).to_have_text(re.compile("The time for this is over. Nothing was done.$"))
    await expect(tab.find("withdraw")).to_have_count(0)
    assert await exists(impatient, source)
    await tab.reload()
    await tab.ready()
    await expect(expired).to_have_count(1)
    await expect(expired.get_by_role("button")).to_have_count(0)
    await tab.ask("Are you there?", SHORT)
    await expect(expired).to_have_count(1)
    await expect(Cards(tab).all()).to_have_count(1)
    await tab.reload()
    await tab.until_answer(SHORT)
    await expect(expired).to_have_count(1)
    await expect(tab.find("error-card")).to_have_count(0)
    assert await exists(impatient, source)
    readable(await tab.words_on_screen())


@both
async def test_a_message_after_the_time_is_answered_without_a_reload(channel: str, new_tab: NewTab, impatient: Site) -> None:
    source = await add_source(impatient, f"Later notes {channel}")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    await Cards(tab).opened()
    await expect(Cards(tab).all("expired")).to_have_count(1, timeout=(TTL_S + 3) * 1000)
    await tab.ask("Are you there?", SHORT)
    await expect(Cards(tab).all()).to_have_count(1)
    await expect(Cards(tab).all("expired")).to_have_count(1)
    await expect(tab.find("error-card")).to_have_count(0)
    assert await exists(impatient, source)


@both
async def test_a_deletion_that_a_kill_cut_off_goes_on_under_its_key(channel: str, new_tab: NewTab, site: Site) -> None:
    """The person has said yes. backend-core has done it, but its answer never arrived. Nobody has to approve it twice."""
    source = await add_source(site, f"Cut notes {channel}")
    tab = await opened(new_tab, channel)
    await tab.say(f"erase {source}")
    card = await Cards(tab).opened()
    interrupt = await card.get_attribute("data-interrupt")
    site.backend.forget()
    site.backend.answers.clear()
    await confirm(card).click()
    await until(lambda: len(site.backend.header("idempotency-key")) == 1)
    await site.server.kill()
    site.backend.answers.set()
    await site.restart_server()
    await tab.until_answer(f"Gone is Cut notes {channel}.")
    await tab.until_idle()
    assert set(site.backend.header("idempotency-key")) == {f"approval-{interrupt}".encode()}
    assert len(site.backend.header("idempotency-key")) > 1, "it was tried again"
    assert not await exists(site, source)
    for _ in range(2):
        await expect(Cards(tab).all()).to_have_count(1)
        await expect(Cards(tab).all("executed")).to_have_count(1)
        await expect(tab.find("error-card")).to_have_count(0)
        await tab.reload()
        await tab.ready()


@both
@pytest.mark.parametrize(("place", "again"), [("before", True), ("after", False)])
async def test_where_no_key_is_honoured_the_person_is_told_and_chooses(
    channel: str, place: str, again: bool, new_tab: NewTab, site: Site
) -> None:
    hold, held = site.post.with_suffix(".hold"), site.post.with_suffix(".held")
    for file in (site.post, held):
        file.unlink(missing_ok=True)
    hold.write_text(place)
    tab = await opened(new_tab, channel)
    await tab.say("letter")
    await confirm(await Cards(tab).opened()).click()
    await until(held.exists)
    await site.server.kill()
    hold.unlink()
    await site.restart_server()
    card = await Cards(tab).opened()
    await expect(card.get_by_test_id("approval-problem")).to_contain_text("Whether it took effect is not known")
    await expect(confirm(card)).to_have_text("Try again")
    await expect(cancel(card)).to_have_text("Leave it")
    await tab.reload()
    card = await Cards(tab).opened()
    await (confirm(card) if again else cancel(card)).click()
    await tab.until_answer(lambda answer: ("posted to Ann" if again else "unknown") in answer)
    await tab.until_idle()
    assert [json.loads(line) for line in site.post.read_text().splitlines()] == [LETTER], "once"
    await expect(Cards(tab).all("pending")).to_have_count(0)
    await tab.reload()
    await tab.ready()
    await expect(Cards(tab).all("pending")).to_have_count(0)
    # By the card tool the first question stays above the second one, which is about the same action.
    over = Cards(tab).all("executed" if again else "indeterminate").last
    await expect(over).to_be_visible()
    if not again:
        await expect(over.get_by_test_id("approval-outcome")).to_have_text(re.compile("Whether it took effect is unknown"))
        await expect(over).not_to_contain_text("Nothing was done")
    readable(await tab.words_on_screen())
