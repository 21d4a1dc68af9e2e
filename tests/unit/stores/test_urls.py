"""Which database a URL names, and what is said where it names none."""

from __future__ import annotations

import sys

import pytest

from middle_core.stores.store import DatabaseRefused
from middle_core.stores.urls import migrate, open_store


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool", "langgraph.checkpoint.postgres"])
async def test_without_the_extra_it_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("middle_core.stores.postgres", f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DatabaseRefused, match=r"pip install 'middle-core\[postgres\]'"):
        await migrate("postgresql://u:canary@db/x")


@pytest.mark.parametrize(
    ("url", "direct_url", "words"),
    [
        ("mysql://u:canary@db/x", "", "begins with 'mysql'"),
        ("canary", "", "MIDDLE_CORE_DATABASE_URL"),
        ("sqlite:///canary.db", "postgresql://db/x", "MIDDLE_CORE_DATABASE_DIRECT_URL goes with"),
    ],
)
async def test_what_is_refused(url: str, direct_url: str, words: str) -> None:
    with pytest.raises(DatabaseRefused, match=words):
        await migrate(url, direct_url=direct_url)
    with pytest.raises(DatabaseRefused, match=words) as refused:
        async with open_store(url, direct_url=direct_url):
            pass
    assert url == "canary" or "canary" not in str(refused.value)
