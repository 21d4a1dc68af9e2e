"""Rules of the code base that no linter knows. Layers are import-linter's (pyproject.toml), style is ruff's and ESLint's."""

from __future__ import annotations

import ast
import json
import re
import statistics
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONG_MODULES: dict[str, str] = {}
"""Modules over the budget, each with its reason."""


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


PRODUCT = [path for path in tracked("middle_core/*.py") if "contract/models" not in str(path)]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_rules_see_the_code() -> None:
    assert len(PRODUCT) > 30


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_a_module_opens_by_saying_what_it_is_for(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if source.strip():
        assert ast.get_docstring(ast.parse(source)), "start with a docstring: what the module is for, and what it refuses to know"


def test_modules_are_small() -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PRODUCT}
    assert {name: count for name, count in lines.items() if count > 400 and name not in LONG_MODULES} == {}
    assert set(LONG_MODULES) <= set(lines), "the list names modules that are gone"
    assert statistics.median(count for count in lines.values() if count) <= 150


def test_routes_of_the_page_hold_no_logic() -> None:
    routes = tracked("frontend_core/app/**/route.ts", "frontend_core/app/route.ts")
    assert routes
    assert {name_of(path): n for path in routes if (n := len(path.read_text(encoding="utf-8").splitlines())) > 30} == {}


def test_only_one_module_of_the_page_reads_the_environment() -> None:
    sources = [path for path in tracked("frontend_core/*.ts", "frontend_core/*.tsx") if not re.search(r"\.test\.|/testing/", str(path))]
    readers = {name_of(path) for path in sources if "process.env" in path.read_text(encoding="utf-8")}
    assert readers <= {"frontend_core/proxy/config.ts", "frontend_core/next.config.ts"}


def test_the_page_and_its_proxy_know_no_model_key() -> None:
    sources = tracked("frontend_core/*.ts", "frontend_core/*.tsx")
    assert sources
    guilty = [
        name_of(path) for path in sources if re.search(r"CEREBRAS|OPENAI_API|api[_-]?key", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert [name for name in guilty if ".test." not in name] == []


def test_lock_files_hold_hashes_and_no_addresses() -> None:
    uv = (ROOT / "uv.lock").read_text(encoding="utf-8")
    assert "://" not in uv, "run make lock"
    assert uv.count("sha256:") > 100
    npm = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in npm["packages"].items() if name and not package.get("link")}
    assert [name for name, package in packages.items() if "://" in package.get("resolved", "")] == []
    assert all("integrity" in package for package in packages.values())


def test_the_repository_speaks_of_the_project_alone() -> None:
    texts = tracked("*.py", "*.ts", "*.tsx", "*.mjs", "*.md", "*.css", "*.toml", "*.sql", "Makefile")
    paths = re.compile(r"(^|[^A-Za-z0-9_.])/(work|farm|root)/[A-Za-z.]")
    own = Path(__file__)
    assert [name_of(path) for path in texts if path != own and paths.search(path.read_text(encoding="utf-8"))] == []
