"""Which tests stay together when several workers run them, and what is told at the end: what could not be tested, and the lab's table."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.integration.report import FIGURE, NOT_TESTED, markdown, write

BROWSER_TESTS = "tests/e2e/"


class OneBrowser(LoadScopeScheduling):
    """One module is one piece of work, and all browser tests are one: they share a page server and a Chromium."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER_TESTS if nodeid.startswith(BROWSER_TESTS) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Only in place of `--dist=loadscope`."""
    return OneBrowser(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lab-table", action="store_true", help="write the figures of the ingress lab into its README")


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    skipped = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])}
    untested = sorted(reason for reason in skipped if reason.startswith(NOT_TESTED))
    if untested:
        terminalreporter.section("not tested on this machine", red=True, bold=True)
        for reason in untested:
            terminalreporter.line(reason, red=True)
    if config.getoption("lab_table"):
        passed = terminalreporter.stats.get("passed", [])
        text = markdown(figure for report in passed for name, figure in report.user_properties if name == FIGURE)
        terminalreporter.section("ingress lab")
        terminalreporter.line(text)
        if exitstatus == 0 and not untested:
            write(text)
        else:
            terminalreporter.line("Not written to infra/ingress-lab/README.md: not everything was measured.", red=True)
