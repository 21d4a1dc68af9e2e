"""Turns on the graph page, in a real browser against a real middle-core: what lights up when, and what a person is told."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.e2e.graph_page.graph_tab import ALL_OK, ROWS, STOP, GraphSite, GraphTab, NewTab
from tests.e2e.graph_page.pipeline import BREAK, SECRET, TEXT
from tests.e2e.tab import readable
from tests.fakes.tokens import mint


def in_order(seen: list[tuple[str, str]], *wanted: tuple[str, str]) -> None:
    """Fails unless the states were seen in this order, others between them or not."""
    rest = iter(seen)
    for one in wanted:
        assert one in rest, f"{one} is not there, or too early: {seen}"


async def test_nodes_light_in_order_for_the_knowledge_copilot(new_tab: NewTab) -> None:
    tab = await new_tab()
    await tab.open(agent="knowledge_copilot")
    await tab.ask(STOP)
    in_order(
        await tab.lit(), ("__start__", "ok"), ("agent", "ok"), ("tools", "ok"), ("agent", "running"), ("agent", "ok"), ("__end__", "ok")
    )
    assert await tab.rows() == [("agent", "done"), ("tools", "done"), ("agent", "done")]
    assert await tab.taken() == {"__start__>agent", "agent>tools", "tools>agent", "agent>__end__"}
    await expect(tab.node("agent").locator(".visits-text")).to_have_text("2×")
    await expect(tab.node("agent").locator(".told")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    assert "the run's task is cancelled" in await tab.reply()
    await tab.page.get_by_text("sources", exact=False).filter(visible=True).last.click()
    await expect(tab.page.locator(".cited li").first).to_be_visible()
    readable(await tab.page.locator("body").inner_text())


async def test_nodes_side_by_side_and_one_that_is_skipped(tab: GraphTab, site: GraphSite) -> None:
    site.pipeline.hold("plan", "left", "right", "write")
    await tab.say("go")
    await expect(tab.node("plan", "running")).to_be_visible()
    await tab.outcome("Running plan")
    assert {name: state for name, state in (await tab.states()).items() if state != "idle"} == {"__start__": "ok", "plan": "running"}
    await expect(tab.node("left").locator(".told")).to_have_text("waiting")
    site.pipeline.let_go("plan")
    await expect(tab.node("left", "running")).to_be_visible()
    await expect(tab.node("right", "running")).to_be_visible()
    assert await tab.taken() == {"__start__>plan", "plan>left", "plan>right"}
    site.pipeline.let_go("left")
    await expect(tab.node("left", "ok")).to_be_visible()
    assert (await tab.states())["right"] == "running", "each has its own true end"
    site.pipeline.let_go("right")
    await expect(tab.node("write", "running")).to_be_visible()
    await expect(tab.page.locator("#turns .reply")).to_contain_text("word1")
    site.pipeline.let_go()
    await tab.outcome("Completed")
    assert await tab.states() == ALL_OK
    assert [row for row in await tab.rows() if row[0] not in {"left", "right"}] == [row for row in ROWS if row[0] not in {"left", "right"}]
    assert await tab.taken() == {
        "__start__>plan",
        "plan>left",
        "plan>right",
        "left>choose",
        "right>choose",
        "choose>write",
        "write>__end__",
    }
    assert await tab.reply() == TEXT
    for name in ("plan", "left", "right", "write"):
        in_order(await tab.lit(), (name, "running"), (name, "ok"))
    conditional = tab.page.locator("#canvas .edge[data-conditional]")
    assert await conditional.evaluate_all("(all) => all.map((one) => one.dataset.target)") == ["escalate", "write"]
    drawing = tab.page.get_by_role("img", name="The agent as a graph")
    await expect(drawing).to_have_accessible_description(re.compile(r"Start: done; plan: done, .*escalate: skipped; .*End: done"))
    assert tab.complaints == []


async def test_the_next_turn_goes_on_in_the_same_conversation(tab: GraphTab, site: GraphSite) -> None:
    await tab.ask("first")
    thread = await tab.id("facts").inner_text()
    await tab.ask("second")
    assert await tab.page.locator("#turns .asked").all_inner_texts() == ["first", "second"]
    assert thread.split("Thread")[1] == (await tab.id("facts").inner_text()).split("Thread")[1]
    await tab.id("anew").click()
    await expect(tab.id("turns").locator("li")).to_have_count(0)
    await expect(tab.page.get_by_text("No turn yet")).to_be_visible()


async def test_a_pause_is_approved_and_the_wait_is_told(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab()
    await tab.open(agent="knowledge_copilot")
    name, source_id = min(site.sources().items())
    await tab.say(f"delete the source {name}")
    await tab.outcome("Waiting for your answer")
    await expect(tab.cards).to_have_count(1)
    await expect(tab.cards.get_by_role("heading")).to_have_text(f"Delete “{name}” permanently?")
    await expect(tab.cards).to_contain_text(source_id)
    await expect(tab.cards).to_be_focused()
    await expect(tab.node("tools", "interrupted")).to_be_visible()
    began = await tab.cards.locator(".waited").inner_text()
    await expect(tab.cards.locator(".waited")).not_to_have_text(began)
    assert name in site.sources(), "nothing is done before the answer"
    await tab.cards.get_by_role("button", name="Delete permanently").click()
    await tab.outcome("Completed")
    await expect(tab.cards).to_have_count(0)
    assert name not in site.sources()
    await expect(tab.page.locator("#turns .reply strong")).to_have_text(name)
    looked_up = [("agent", "done"), ("tools", "done")]
    assert await tab.rows() == [*looked_up, ("agent", "done"), ("tools", "asks a person"), ("tools", "done"), ("agent", "done")]
    await expect(tab.id("facts")).to_contain_text(re.compile(r"Human wait\s*[\d.]+ (m?s|min)"))
    await expect(tab.page.locator(".ended")).to_contain_text("waiting for a person")
    assert await tab.page.locator("#turns > li").count() == 1, "one turn, though it is two runs"


async def test_a_pause_is_rejected(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab()
    await tab.open(agent="knowledge_copilot")
    name = max(site.sources())
    await tab.say(f"delete the source {name}")
    await tab.cards.get_by_role("button", name="Cancel").click()
    await tab.outcome("Completed")
    assert name in site.sources()
    assert await tab.reply() == "The user said no. Nothing was done."
    assert await tab.page.evaluate("document.activeElement.id") == "message", "the keyboard is where it goes on"


async def test_a_question_that_was_answered_elsewhere(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab()
    await tab.open(agent="knowledge_copilot")
    name = max(site.sources())
    await tab.say(f"delete the source {name}")
    interrupt = await tab.cards.get_attribute("data-id")
    thread = (await tab.id("facts").inner_text()).split("Thread")[1].strip()
    answer = {"thread_id": thread, "answers": [{"interrupt_id": interrupt, "decision": "reject"}]}
    other = await site.server.post("/chat/resume", answer, token=tab.token)
    assert other.status_code == 200, other.text
    await tab.cards.get_by_role("button", name="Delete permanently").click()
    await expect(tab.cards).to_have_count(0)
    await expect(tab.id("stop")).to_be_hidden()
    assert name in site.sources()
    readable(await tab.page.locator("body").inner_text())


async def test_another_message_withdraws_what_is_asked(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab()
    await tab.open(agent="knowledge_copilot")
    name = max(site.sources())
    await tab.say(f"delete the source {name}")
    await expect(tab.cards).to_contain_text("open until")
    await tab.ask(STOP)
    await expect(tab.cards).to_have_count(0)
    await expect(tab.page.locator(".ended").first).to_contain_text("Withdrawn")
    assert name in site.sources()


async def test_a_message_that_is_not_taken_comes_back(tab: GraphTab, site: GraphSite) -> None:
    await tab.ask("first")
    site.pipeline.hold("plan")
    thread = (await tab.id("facts").inner_text()).split("Thread")[1].strip()
    body = {"message": "from elsewhere", "thread_id": thread, "agent": "pipeline"}
    async with site.server.stream("POST", "/chat", token=tab.token, body=body, headers={"accept": "text/event-stream"}) as other:
        await tab.say("second")
        await tab.outcome("Not accepted")
        await expect(tab.id("failure")).to_contain_text("thread_busy")
        await expect(tab.id("message")).to_have_value("second")
        site.pipeline.let_go()
        await other.rest()
    await tab.id("send").click()
    await tab.outcome("Completed")
    await expect(tab.id("failure")).to_be_hidden()


async def test_stop_ends_the_turn_and_keeps_what_was_said(tab: GraphTab, site: GraphSite) -> None:
    site.pipeline.hold("write")
    await tab.say("go")
    await expect(tab.page.locator("#turns .reply")).to_contain_text("word1")
    await tab.id("stop").click()
    await tab.outcome("Stopped")
    assert (await tab.states())["write"] == "cancelled"
    assert TEXT.startswith(await tab.reply())
    await expect(tab.id("send")).to_be_visible()
    site.at_rest()
    await tab.ask("again")
    assert await tab.reply() == TEXT


async def test_a_node_that_fails_is_told_without_its_inside(tab: GraphTab) -> None:
    await tab.say(BREAK)
    await tab.outcome("Failed")
    assert (await tab.states())["plan"] == "error"
    await expect(tab.id("failure")).to_contain_text(re.compile(r"\(internal, [0-9a-f]+\)"))
    words = await tab.page.locator("body").inner_text()
    assert SECRET not in words
    readable(words)


async def test_all_of_it_with_the_keyboard(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab()
    keys = tab.page.keyboard
    await tab.page.goto(site.url)
    await expect(tab.id("token")).to_be_focused()
    await keys.type(mint())
    await keys.press("Enter")
    await expect(tab.id("message")).to_be_focused()
    name = max(site.sources())
    await keys.type(f"delete the source {name}")
    await keys.press("Enter")
    await expect(tab.cards).to_be_focused()
    for _ in range(6):
        if await tab.page.evaluate("document.activeElement.textContent") == "Cancel":
            break
        await keys.press("Tab")
    await keys.press("Enter")
    await tab.outcome("Completed")
    await expect(tab.id("message")).to_be_focused()
    assert name in site.sources()
    await expect(tab.id("spoken")).to_contain_text("agent done")
    await expect(tab.id("spoken")).to_contain_text("Completed.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_on_a_phone_it_fits_and_shows_the_node_at_work(new_tab: NewTab, site: GraphSite, scheme: str) -> None:
    tab = await new_tab(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    await tab.open()
    site.pipeline.hold("write")
    await tab.say("go")
    await expect(tab.node("write", "running")).to_be_visible()
    await expect(tab.node("write").locator(".box")).to_be_in_viewport(ratio=0.9)
    assert await tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    background = await tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(251, 250, 248)", "dark": "rgb(21, 22, 23)"}[scheme]
    site.pipeline.let_go()
    await tab.outcome("Completed")
    await tab.say(BREAK)
    await tab.outcome("Failed")
    await expect(tab.node("plan").locator(".box")).to_be_in_viewport(ratio=0.9)


async def test_reduced_motion_is_honoured(new_tab: NewTab, site: GraphSite) -> None:
    tab = await new_tab(reduced_motion="reduce")
    await tab.open()
    site.pipeline.hold("plan")
    await tab.say("go")
    await expect(tab.node("plan", "running")).to_be_visible()
    assert await tab.page.evaluate("document.getAnimations().filter((one) => one.effect.getComputedTiming().iterations > 1).length") == 0
    site.pipeline.let_go()
    await tab.outcome("Completed")
