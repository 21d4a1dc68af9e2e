"""Which tests stay together when several workers run them."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

BROWSER_TESTS = "tests/e2e/"


class OneBrowser(LoadScopeScheduling):
    """One module is one piece of work, and all browser tests are one: they share a page server and a Chromium."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER_TESTS if nodeid.startswith(BROWSER_TESTS) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Only in place of `--dist=loadscope`."""
    return OneBrowser(config, log) if config.getoption("dist") == "loadscope" else None
