"""A person at the approval cards of a tab, and sources to delete."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Locator, expect

from tests.e2e.parts import Site
from tests.e2e.tab import Tab
from tests.fakes.until import until_asked


@dataclass
class Cards:
    """The approval cards of a tab."""

    tab: Tab

    def all(self, look: str | None = None) -> Locator:
        return self.tab.find("approval-card", **({"look": look} if look else {}))

    def about(self, text: str) -> Locator:
        return self.all().filter(has_text=text)

    async def opened(self, count: int = 1) -> Locator:
        """The first of so many open cards, once they can be answered."""
        await expect(self.all("pending")).to_have_count(count)
        await expect(confirm(self.all("pending").first)).to_be_enabled()
        return self.all("pending").first


def confirm(card: Locator) -> Locator:
    return card.get_by_test_id("approval-confirm")


def cancel(card: Locator) -> Locator:
    return card.get_by_test_id("approval-cancel")


async def add_source(site: Site, title: str) -> str:
    """A source of its own for a test. Returns its id."""
    headers = {"Authorization": f"Bearer {site.token()}"}
    api = f"{site.backend.url}/api/v1"
    response = await site.http.post(f"{api}/ingest", json={"title": title, "text": f"{title} is here to be deleted."}, headers=headers)
    assert response.status_code == 202, response.text
    job = response.json()

    async def done() -> bool:
        nonlocal job
        job = (await site.http.get(f"{api}/jobs/{job['id']}", headers=headers)).json()
        assert job["status"] != "failed", job
        return bool(job["status"] == "done")

    await until_asked(done, 15)
    return str(job["source_id"])


async def exists(site: Site, source_id: str) -> bool:
    """Whether backend-core has the source."""
    response = await site.http.get(f"{site.backend.url}/api/v1/sources/{source_id}", headers={"Authorization": f"Bearer {site.token()}"})
    assert response.status_code in {200, 404}, response.text
    return response.status_code == 200
