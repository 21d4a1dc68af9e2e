"""What the browser tests of the graph page share: middle-core with the pipeline agent behind a relay, and tabs on the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from tests.e2e.graph_page.graph_tab import GraphSite, GraphTab, NewTab, graph_site


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GraphSite]:
    async with graph_site(tmp_path_factory.mktemp("graph")) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(whole_site: GraphSite) -> AsyncIterator[GraphSite]:
    whole_site.at_rest()
    yield whole_site
    whole_site.at_rest()


@pytest_asyncio.fixture(loop_scope="session")
async def new_tab(browser: Browser, site: GraphSite) -> AsyncIterator[NewTab]:
    """Makes tabs, each in a new browser profile with these options."""
    contexts: list[BrowserContext] = []
    tabs: list[GraphTab] = []

    async def make(**options: Any) -> GraphTab:
        contexts.append(await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options}))
        tabs.append(GraphTab(await contexts[-1].new_page(), site))
        return tabs[-1]

    yield make
    for tab in tabs:
        await tab.judge()
    for context in contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tab(new_tab: NewTab) -> GraphTab:
    """A tab on the pipeline, signed in."""
    tab = await new_tab()
    await tab.open()
    return tab
