"""The documents can be read at first reading, as far as a program can tell: short sentences that end."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 40
"""Words of a sentence. What stands in backticks counts as one word."""
PAGES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()


def prose(text: str) -> Iterator[str]:
    """The paragraphs, list items and table cells of a page, without code, headings and the targets of links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |\||#|<!--)", text):
        if block.lstrip().startswith(("#", "<!--")):
            continue
        for part in block.strip("| \n").split(" | ") if block.startswith("|") else [block]:
            yield " ".join(re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", part)).split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph. A colon or a semicolon ends one too: what follows can be read on its own."""
    yield from re.split(r"(?<=[.!?:;])[*\"]*\s+", text)


def words(sentence: str) -> int:
    return len(re.findall(r"[\w'’-]+", sentence))


def test_the_check_sees_a_long_sentence() -> None:
    page = f"# Title\n\nShort. {'word ' * 41}end.\n\n| a | {'word ' * 42} |\n|---|---|\n\n```\n{'word ' * 90}\n```\n"
    assert [words(one) for block in prose(page) for one in sentences(block) if words(one) > LONGEST] == [42, 42]
    assert words("one `two three` four".replace("`two three`", "code")) == 3


@pytest.mark.parametrize("page", [page for page in PAGES if (ROOT / page).is_file()])
def test_sentences_are_short_and_end(page: str) -> None:
    found = [one for block in prose((ROOT / page).read_text(encoding="utf-8")) for one in sentences(block)]
    assert [one for one in found if words(one) > LONGEST] == []
    assert [one for one in found if re.search(r"\w\s?(\.\.\.|…)$", one)] == [], "say it to the end"
