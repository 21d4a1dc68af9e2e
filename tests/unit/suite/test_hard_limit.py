"""A test that cannot be ended ends its process, and says where it stood; the others are run all the same."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SUITE = """
import asyncio
import pytest

pytestmark = pytest.mark.timeout(0.5)
kept = []


async def deaf():
    while True:
        try:
            await asyncio.Event().wait()
        except BaseException:
            continue


async def test_before():
    pass


def test_that_takes_its_timeout_for_something_else():
    asyncio.run(deaf())


@pytest.fixture
async def left_alive():
    task = asyncio.ensure_future(deaf())
    yield
    kept.append(task)


async def test_whose_loop_cannot_be_closed(left_alive):
    await asyncio.sleep(0)


async def test_that_fails_and_whose_loop_cannot_be_closed(left_alive):
    await asyncio.sleep(0)
    assert False


async def test_behind():
    pass
"""


@pytest.mark.slow
def test_whatever_hangs_ends_its_worker_with_a_stack_and_the_rest_is_run(tmp_path: Path) -> None:
    """With the project's own configuration."""
    (tmp_path / "test_hanging.py").write_text(SUITE, encoding="utf-8")
    done = _pytest("--numprocesses=1", "-p", "tests.conftest", "-o", "hard_limit_grace=1", "-rA", str(tmp_path))
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    crashed = re.findall(r"^worker 'gw\d+' crashed while running '.*::(\w+)'$", done.stdout, re.MULTILINE)
    assert sorted(crashed) == ["test_that_fails_and_whose_loop_cannot_be_closed", "test_that_takes_its_timeout_for_something_else"], told
    assert re.findall(r"^ERROR .*::(\w+)", done.stdout, re.MULTILINE) == ["test_whose_loop_cannot_be_closed"], "the timeout itself does it"
    assert set(re.findall(r"^PASSED .*::(\w+)$", done.stdout, re.MULTILINE)) >= {"test_before", "test_behind"}, told
    dumps = done.stderr.split("Timeout (0:00:01.5")[1:]
    assert len(dumps) == 2, told
    assert any(re.search(r"test_hanging\.py\", line \d+ in test_that_takes_its_timeout", one) for one in dumps), told
    assert any(re.search(r"runners\.py\", line \d+ in close", one) for one in dumps), told


def _pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=50)
