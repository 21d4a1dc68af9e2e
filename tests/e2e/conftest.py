"""What the browser tests share: one site and one Chromium for all tests, and a fresh browser profile for each.

After each test: no request has left this machine, nothing has crashed in the page, and Next still runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright

from tests.e2e.chromium import FLAGS, installed
from tests.e2e.parts import Site, running_site
from tests.e2e.tab import Tab, outside

NewTab = Callable[..., Awaitable[Tab]]

MARKS = (pytest.mark.e2e, pytest.mark.timeout(240))
ONE_LOOP = pytest.mark.asyncio(loop_scope="session")
"""All tests use the event loop of the session, because relays, the model and the browser's connection live as long as the site."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for mark in MARKS:
                item.add_marker(mark)
            item.add_marker(ONE_LOOP, append=False)


@pytest.fixture(scope="session")
def chromium() -> str:
    path = installed()
    assert path is not None, "There is no Chromium: run `make chromium`."
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def whole_site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with running_site(tmp_path_factory.mktemp("site")) as site:
        yield site
        assert site.next.alive, site.next.output
        for word in ("unhandledRejection", "uncaughtException", "TypeError"):
            assert word not in site.next.output, site.next.output


@pytest_asyncio.fixture(loop_scope="session")
async def site(whole_site: Site) -> AsyncIterator[Site]:
    """The site, repaired if a test before this one failed half-way."""
    whole_site.model.requests.clear()
    whole_site.core.cuts.clear()
    whole_site.core.done.clear()
    whole_site.backend.answers.set()
    yield whole_site
    whole_site.backend.answers.set()
    whole_site.core.cuts.clear()
    if not whole_site.server.alive:
        await whole_site.restart_server()
    assert whole_site.next.alive, whole_site.next.output


@pytest_asyncio.fixture(loop_scope="session")
async def new_tab(browser: Browser, site: Site) -> AsyncIterator[NewTab]:
    """Makes tabs: in the browser profile of the tab `beside`, or else in a new profile with these options."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    async def make(beside: Tab | None = None, **options: Any) -> Tab:
        if beside is None:
            contexts.append(await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options}))
        context = contexts[-1] if beside is None else beside.page.context
        tabs.append(Tab(await context.new_page(), site))
        return tabs[-1]

    yield make
    for context in contexts:
        await context.close()
    for tab in tabs:
        assert outside(tab.requests) == []
        assert tab.crashes == []


@pytest_asyncio.fixture(loop_scope="session")
async def tab(new_tab: NewTab) -> Tab:
    """A tab on a new conversation, signed in as alice."""
    tab = await new_tab()
    await tab.open()
    return tab
