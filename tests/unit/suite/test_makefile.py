"""What make builds again, and what it leaves: the real Makefile over a small tree, asked what it would do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes.process import ROOT

PAGE = "frontend_core/.next/.done"
BUILD = "npm run --silent build"
BUILT, LATER = 1_000_000_000, 1_000_000_060


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout in which everything is set up and built."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("uv.lock", ".venv/.done", "package.json", "package-lock.json", "node_modules/.done", "frontend_core/app/page.tsx", PAGE):
        write(tmp_path / name, BUILT)
    return tmp_path


def write(path: Path, when: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (when, when))


def would(folder: Path, *targets: str) -> str:
    """The commands that make would run."""
    # Without the variables by which a make around this one would be asked.
    env = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}  # noqa: TID251 - for a child
    return subprocess.run(["make", "--dry-run", *targets], cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


def generated() -> list[str]:
    """Names of files that .gitignore keeps out of frontend_core, as one may find them there after `make lint`."""
    found = subprocess.run(
        ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", "frontend_core"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [name for name in found if "/.next/" not in name]


def test_make_run_and_make_test_build_what_is_built_no_more(tree: Path) -> None:
    assert BUILD not in would(tree, "run")
    assert BUILD not in would(tree, "test")


@pytest.mark.parametrize(
    "name",
    [
        "frontend_core/next-env.d.ts",
        "frontend_core/tsconfig.tsbuildinfo",
        "frontend_core/chat/app.test.tsx",
        "frontend_core/proxy/testing/x.ts",
    ],
)
def test_what_is_no_part_of_the_page_does_not_build_it(tree: Path, name: str) -> None:
    write(tree / name, LATER)
    assert BUILD not in would(tree, PAGE)


def test_whatever_the_tools_have_left_here_does_not_build_it(tree: Path) -> None:
    for name in generated():
        write(tree / name, LATER)
    assert BUILD not in would(tree, PAGE)


@pytest.mark.parametrize("name", ["frontend_core/app/page.tsx", "frontend_core/chat/new.module.css", "package.json"])
def test_a_source_that_changed_builds_the_page(tree: Path, name: str) -> None:
    write(tree / name, LATER)
    assert BUILD in would(tree, PAGE)


def test_a_new_lock_file_installs_and_builds(tree: Path) -> None:
    write(tree / "package-lock.json", LATER)
    commands = would(tree, "run")
    assert re.search(r"npm ci .*\n(.*\n)*" + BUILD, commands)
