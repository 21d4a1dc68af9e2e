"""Each decision names its code and its check, and both files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "adr").glob("[0-9]*.md"))
SECTIONS = ["Context", "Decision", "Consequences", "Alternatives", "Embodied by"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_decision_is_one_whole_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert re.match(rf"# {page.name[:4]}\. .+\n\nDate: \d{{4}}-\d\d-\d\d\. Area: \w+\.\n", text)
    assert len(text.splitlines()) <= 60
    embodied = text.split("## Embodied by")[1]
    paths = re.findall(r"`([^`]+)`", embodied)
    assert "- Code: " in embodied
    assert "- Check: " in embodied
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_index_lists_every_decision_in_order() -> None:
    index = (ROOT / "adr" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\d{4}-[^)]+)\)", index) == [page.name for page in PAGES]
    numbers = [page.name[:4] for page in PAGES]
    assert len(set(numbers)) == len(numbers), "two decisions have one number"
