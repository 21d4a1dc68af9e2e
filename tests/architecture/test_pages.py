"""The pages that lead people through the repository are complete: architecture, contributing, glossary, index, README."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from middle_core import __version__

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SUBJECTS = {
    "an AG-UI event",
    "a CUSTOM event",
    "an endpoint",
    "a store",
    "a model provider",
    "a card",
    "a setting",
    "an error code",
    "a limit",
}


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The rows of the first table in the text, as cells, without its head."""
    lines = [line for line in re.split(r"\n\n", text[text.index("\n| ") :].lstrip("\n"))[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def test_to_change_something_three_files_are_enough_or_the_row_says_why() -> None:
    table = rows(section(read(ROOT / "CONTRIBUTING.md"), "To change X, open Y"))
    assert {row[0] for row in table} == SUBJECTS
    for subject, files, why in table:
        named = re.findall(r"`([^`]+/[^`]+)`", files)
        assert named, subject
        assert all((ROOT / name).is_file() for name in named), f"{subject}: {named}"
        assert len(named) <= 3 or why, f"{subject}: say why it takes {len(named)} files"


def test_every_part_is_in_the_architecture() -> None:
    text = read(DOCS / "architecture.md")
    for package in ("middle_core", "frontend_core"):
        parts = {path for path in (ROOT / package).iterdir() if not path.name.startswith((".", "__init__", "__pycache__"))}
        code = {path for path in parts if path.is_dir() or (package == "middle_core" and path.suffix == ".py")}
        assert len(code) >= 3
        assert [path.name for path in sorted(code) if f"`{path.name}{'/' if path.is_dir() else ''}`" not in text] == []


def test_every_page_is_in_the_index() -> None:
    index = read(DOCS / "README.md")
    assert [page.name for page in sorted(DOCS.glob("*.md")) if page.name != "README.md" and f"({page.name})" not in index] == []


def test_the_glossary_is_sorted_and_says_each_word_once() -> None:
    words = [row[0] for row in rows(read(DOCS / "glossary.md"))]
    assert len(words) > 40
    assert words == sorted(set(words))


def test_the_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= 120


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["version"]
    page = json.loads(read(ROOT / "package.json"))["version"]
    assert project == page == __version__
