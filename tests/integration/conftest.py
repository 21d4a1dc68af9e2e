"""What the lab's tests share. They start processes and wait for timeouts, so all are marked slow. Each may keep figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.lab import Figures

MARKS = (pytest.mark.slow, pytest.mark.timeout(120))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for mark in MARKS:
                item.add_marker(mark)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Figures for the table of `make lab`."""
    return Figures(request.node.user_properties)
