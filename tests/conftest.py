"""For every test: the hard limit, and what is told at the end of a run: what could not be tested, and the lab's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.postgres import PostgresServer, running_postgres
from tests.integration.report import FIGURE, NOT_TESTED, markdown, write

pytest_plugins = ["tests.hard_limit"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", choices=["sqlite", "postgres"], help="run the scenarios on this store only; without it, each on its own")
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


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real server, one for each process that runs tests."""
    with running_postgres() as server:
        yield server
