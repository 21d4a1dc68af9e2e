"""What a test run tells at its end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.e2e.parts import inherited
from tests.fakes.process import ROOT
from tests.integration.report import MARKS, README, markdown, write


async def test_what_cannot_be_tested_here_is_named_at_the_end_and_envoy_always_can_be() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/integration/test_hops_stream.py", "--lab-table"),
        cwd=ROOT,
        env={**inherited(), "NGINX": "none", "HAPROXY": "none"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    before = README.read_text(encoding="utf-8")
    out, _ = await process.communicate()
    told = out.decode().partition("not tested on this machine")[2]
    assert process.returncode == 0
    for name in ("nginx", "haproxy"):
        assert f"NOT TESTED: streams through {name}, because it is not on this machine. Install it" in told
    assert "1 passed, 3 skipped" in told
    assert "| Envoy |" in told
    assert "not everything was measured" in told
    assert README.read_text(encoding="utf-8") == before


def test_the_table_has_a_row_for_each_hop_and_a_line_for_each_fact() -> None:
    figures = [("hops", "nginx", "headers", "2 ms"), ("hops", "Envoy", "a token", "1 ms"), ("facts", "cut", "measured", "1 s")]
    assert markdown(figures).splitlines()[:7] == [
        "| through | headers | a token |",
        "|---|---|---|",
        "| Envoy |  | 1 ms |",
        "| nginx | 2 ms |  |",
        "",
        "| what happens | what is measured |",
        "|---|---|",
    ]
    assert "| cut | 1 s |" in markdown(figures)


def test_the_table_replaces_what_stands_between_the_marks_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n", encoding="utf-8")
    write("new", page)
    assert page.read_text(encoding="utf-8") == f"before\n{MARKS[0]}\nnew\n{MARKS[1]}\nafter\n"
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="no marks"):
        write("new", page)
