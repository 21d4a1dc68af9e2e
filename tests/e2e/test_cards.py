"""Cards for what tools return, state that page and agent share, and the graph that lights up. One story for each."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.speech import QUERY, SHORT, count, whole
from tests.e2e.tab import Tab
from tests.fakes.cerebras_server import Call, Reply

TEXT = {"title": "Otters", "text": "Otters hold hands while they sleep."}


def calling(tool: str, arguments: dict[str, Any], answer: str = SHORT) -> tuple[Reply, Reply]:
    """A model that calls the tool and then answers."""
    return Reply(calls=[Call(tool, arguments)]), Reply(answer)


async def listed(tab: Tab) -> None:
    """The table of sources is on the page."""
    tab.site.model.script(*calling("list_sources", {}))
    await tab.ask("List them", SHORT)
    await expect(tab.find("source-row").first).to_be_visible()


def last_result(site: Site) -> dict[str, Any]:
    """What the model was told by the newest tool."""
    message = site.model.requests[-1].body["messages"][-1]
    assert message["role"] == "tool"
    found: dict[str, Any] = json.loads(message["content"])
    return found


async def test_a_passage_opens_in_place_by_keyboard_and_gives_the_focus_back(tab: Tab) -> None:
    await tab.ask(count(3, 50, search=True), whole(3))
    citation = tab.find("citation").first
    await expect(citation.locator("mark").first).to_have_text(re.compile(f"^{QUERY['query']}", re.IGNORECASE))
    head = citation.get_by_role("button")
    await head.focus()
    await tab.page.keyboard.press("Enter")
    await expect(citation).to_have_attribute("data-open", "true")
    await tab.page.keyboard.press("Escape")
    await expect(citation).to_have_attribute("data-open", "false")
    await expect(head).to_be_focused()
    assert await tab.answer() == whole(3), "the card is not part of what was said"


async def test_a_source_is_added_step_by_step_also_over_a_reload(tab: Tab, site: Site) -> None:
    site.model.script(*calling("ingest_source", TEXT))
    await tab.say("Add this")
    await expect(tab.find("ingest-step")).to_have_text(re.compile("Reading|Splitting|Indexing"))
    site.backend.answers.clear()
    await tab.reload()
    card = tab.find("ingest-card", state="running")
    await expect(card).to_contain_text(TEXT["text"])
    await expect(card.get_by_test_id("ingest-step")).to_have_text(re.compile("Reading|Splitting|Indexing"))
    assert float(await card.get_by_role("progressbar").get_attribute("value") or "0") > 0
    site.backend.answers.set()
    done = tab.find("ingest-card", state="done")
    await expect(done).to_contain_text("1 passage, ready to be searched")
    await tab.until_answer(SHORT)
    await tab.reload()
    await expect(done).to_contain_text("Otters")


async def test_a_stop_leaves_the_job_to_itself_and_says_so(tab: Tab, site: Site) -> None:
    site.model.script(Reply(calls=[Call("ingest_source", TEXT)]))
    await tab.say("Add this")
    await expect(tab.find("ingest-step")).to_have_text(re.compile("Reading|Splitting"))
    await tab.stop()
    await expect(tab.find("ingest-card", state="unknown")).to_contain_text("may still finish")
    await tab.until_idle()


async def test_a_reader_may_not_add_and_is_told_why(new_tab: NewTab, site: Site) -> None:
    tab = await new_tab()
    await tab.page.goto(site.url + "/api/health")
    await tab.page.evaluate("(token) => sessionStorage.setItem('middle-core.token', token)", site.token("bob"))
    await tab.open()
    site.model.script(*calling("ingest_source", TEXT))
    await tab.ask("Add this", SHORT)
    await expect(tab.find("tool-card", tool="ingest_source", state="refused")).to_contain_text("needs the role contributor")


async def test_numbers_are_drawn_and_can_be_read_as_a_table(tab: Tab, site: Site) -> None:
    await tab.ask(count(2, 50, search=True), whole(2))
    site.model.script(*calling("cockpit_metrics", {}))
    await tab.ask("The cockpit", SHORT)
    cockpit = tab.find("cockpit")
    await expect(cockpit.get_by_role("img", name=re.compile(r"In 14 days: \d+ questions"))).to_be_visible()
    await cockpit.get_by_text("As a table").click()
    await expect(cockpit.get_by_role("row")).to_have_count(15)


async def test_the_selection_of_the_page_limits_the_search_and_survives_a_reload(tab: Tab, site: Site) -> None:
    await listed(tab)
    row = tab.find("source-row").nth(1)
    chosen = await row.get_attribute("data-source")
    await row.get_by_role("checkbox").check()
    await expect(tab.find("sources-selection")).to_have_attribute("data-count", "1")
    site.model.script(*calling("search_knowledge", {"query": "the log and the token"}))
    await tab.ask("Search", SHORT)
    found = last_result(site)
    assert found["limited_to"] == [chosen]
    assert {passage["source"] for passage in found["passages"]} <= {chosen}
    await expect(tab.find("limited-to")).to_have_text("Only in the selected source")
    await tab.reload()
    await expect(tab.find("source-row", selected="true")).to_have_attribute("data-source", chosen or "")


async def test_what_the_agent_selects_is_selected_on_the_page(tab: Tab, site: Site) -> None:
    await listed(tab)
    row = tab.find("source-row").nth(2)
    chosen = await row.get_attribute("data-source")
    site.model.script(*calling("select_sources", {"names": [chosen]}))
    await tab.ask("Only there", SHORT)
    await expect(row).to_have_attribute("data-selected", "true")
    await expect(tab.find("sources-selection")).to_have_attribute("data-count", "1")
    await tab.find("sources-selection").get_by_role("button", name="Clear").click()
    site.model.script(*calling("search_knowledge", {"query": "log"}))
    await tab.ask("Search", SHORT)
    assert "limited_to" not in last_result(site)


async def test_the_agent_filters_the_table_with_a_tool_of_the_page(tab: Tab, site: Site) -> None:
    """The run ends with the call, the page does the work, and a second run answers with the page's result."""
    await listed(tab)
    site.model.script(*calling("filter_sources", {"text": "stream"}, "It is filtered."))
    await tab.ask("Filter it", "It is filtered.")
    await expect(tab.find("sources-filter")).to_have_value("stream")
    told = last_result(site)
    assert await tab.find("source-row").count() == told["shown"] < told["total"]
    await expect(tab.find("tool-card", tool="filter_sources", state="done")).to_contain_text(f"{told['shown']} of {told['total']}")
    assert "filter_sources" in [tool["function"]["name"] for tool in site.model.requests[-1].body["tools"]]
    await tab.reload()
    await expect(tab.find("tool-card", tool="filter_sources", state="done")).to_be_visible()
    await tab.ask("Hello!", SHORT)


async def test_the_agent_is_told_what_is_open_and_selected(tab: Tab, site: Site) -> None:
    await listed(tab)
    row = tab.find("source-row").first
    name = await row.get_by_role("rowheader").inner_text()
    await row.get_by_role("checkbox").check()
    await tab.find("sources-filter").fill(name)
    await tab.ask("What do I see?", SHORT)
    rules = site.model.requests[-1].body["messages"][0]
    assert rules["role"] == "system"
    page = rules["content"].partition("<page_data>")[2]
    assert json.dumps({"description": "Selected sources", "value": name}, ensure_ascii=False) in page
    assert f"filtered to “{name}”" in page


async def test_the_graph_lights_up_as_it_runs_also_after_a_reload(tab: Tab) -> None:
    await tab.find("graph-toggle").click()
    await expect(tab.find("graph-panel")).to_contain_text("shows up with the next answer")
    await tab.say(count(120, 20, search=True))
    agent, tools = (tab.find("graph-node", node=name) for name in ("agent", "tools"))
    await expect(tools).to_have_attribute("data-outcome", "ok")
    await expect(agent).to_have_attribute("data-outcome", "running")
    await tab.reload()
    await expect(agent).to_have_attribute("data-outcome", "running")
    await expect(tools).to_have_attribute("data-outcome", "ok")
    await tab.until_answer(whole(120))
    await expect(agent).to_have_attribute("data-outcome", "ok")
    await expect(tab.find("graph-timeline").get_by_role("listitem")).to_have_text(
        [re.compile(name) for name in ("agent", "tools", "agent")]
    )
    await tab.until_idle()
    await tab.reload()
    await expect(agent).to_have_attribute("data-outcome", "idle")
    await tab.page.keyboard.press("Escape")
    await tab.find("graph-panel").get_by_role("button").focus()
    await tab.page.keyboard.press("Escape")
    await expect(tab.find("graph-panel")).to_have_count(0)
    await expect(tab.find("graph-toggle")).to_be_focused()


async def test_what_could_be_asked_next_is_one_click_away(tab: Tab) -> None:
    await tab.ask(count(3, 50, search=True), whole(3))
    chip = tab.find("next-suggestion").first
    words = await chip.inner_text()
    await chip.click()
    await tab.until_answer(SHORT)
    assert (await tab.questions())[-1] == words
    await tab.until_idle()


async def test_thoughts_are_folded_away(tab: Tab, site: Site) -> None:
    site.model.script(Reply(SHORT, reasoning="First this, then that."))
    await tab.ask("Think", SHORT)
    fold = tab.page.get_by_text("Thought for a moment")
    thought = tab.page.get_by_text("First this, then that.")
    await expect(fold).to_be_visible()
    await expect(thought).to_be_hidden()
    await fold.click()
    await expect(thought).to_be_visible()


async def test_cards_fit_a_small_screen(new_tab: NewTab, site: Site) -> None:
    tab = await new_tab(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    await tab.open()
    await listed(tab)
    await tab.ask(count(3, 50, search=True), whole(3))
    site.model.script(*calling("cockpit_metrics", {}))
    await tab.ask("The cockpit", SHORT)
    await tab.find("graph-toggle").tap()
    await expect(tab.find("graph-panel")).to_be_in_viewport()
    await expect(tab.composer).to_be_in_viewport()
    overflow = await tab.page.evaluate(
        "[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]"
    )
    assert overflow == [0, 0]
    assert tab.complaints == []
