"""`make run`'s own process: it says once where everything is, and nothing of it is left when it ends, however it ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.e2e.parts import inherited
from tests.fakes.ports import free_port
from tests.fakes.process import ROOT
from tests.fakes.until import until, until_asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

READY_S = 90.0
END_S = 60.0
"""Far more than it takes, and less than what would be left alone."""
BLOCK = re.compile(
    r"\n  middle-core is running\.\n\n"
    r"    The chat             (?P<page>http://127\.0\.0\.1:\d+)\n"
    r"    A turn, as a graph   (?P<graph>http://127\.0\.0\.1:\d+/graph)\n"
    r"    To stop it           Ctrl-C\n\n"
)


@dataclass
class Dev:
    """The running command. page, graph: the addresses that it printed."""

    process: asyncio.subprocess.Process
    log_file: Path
    page: str = ""
    graph: str = ""

    @property
    def output(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    @property
    def children(self) -> set[int]:
        """Processes that it started and that are alive."""
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in listed.splitlines()]
        return {int(pid) for pid, parent, state in rows if int(parent) == self.process.pid and not state.startswith("Z")}

    async def until_ready(self) -> None:
        """Until it has said where everything is."""
        await until(lambda: self.process.returncode is not None or BLOCK.search(self.output) is not None, READY_S)
        found = BLOCK.search(self.output)
        assert found is not None, self.output
        self.page, self.graph = found["page"], found["graph"]

    async def ended(self) -> int:
        async with asyncio.timeout(END_S):
            return await self.process.wait()


def alive(pids: set[int]) -> set[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    return pids & {int(pid) for pid, state in map(str.split, listed.splitlines()) if not state.startswith("Z")}


@asynccontextmanager
async def dev(folder: Path) -> AsyncIterator[Dev]:
    """The command, just started."""
    log_file = folder / "dev.log"
    env = {**inherited(), "MIDDLE_CORE_DATA_DIR": str(folder / "data"), "MIDDLE_CORE_MODEL": "offline", "PORT": str(free_port())}
    with log_file.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "middle_core", "dev", cwd=ROOT, env=env, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield Dev(process, log_file)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def test_it_says_where_everything_is_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    async with dev(tmp_path) as running, httpx.AsyncClient() as http:
        await running.until_ready()
        page = await http.get(running.page)
        scripts = re.findall(r'"(/_next/static/[^"]+\.js)"', page.text)
        assert (page.status_code, (await http.get(running.page + scripts[0])).status_code) == (200, 200)
        assert (await http.get(running.graph)).status_code == 200
        assert len(BLOCK.findall(running.output)) == 1
        assert "⚠" not in running.output
        children = running.children
        assert len(children) == 3
        # A stream that has no end: the page's server would wait for it.
        token = (await http.post(f"{running.page}/api/dev/token", json={"sub": "alice"})).json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        async with http.stream("GET", f"{running.page}/api/diag/stream?n=800&gap_ms=1000", headers=headers, timeout=30) as stream:
            assert stream.status_code == 200
            running.process.send_signal(signal.SIGINT)
            assert await running.ended() == 0
        assert alive(children) == set()
        assert "Traceback" not in running.output
        assert "starting it again" not in running.output


async def test_a_part_that_dies_is_started_again_and_none_survives_a_kill(tmp_path: Path) -> None:
    async with dev(tmp_path) as running, httpx.AsyncClient() as http:
        await running.until_ready()

        async def answers() -> bool:
            try:
                return (await http.get(running.page)).status_code == 200
            except httpx.TransportError:
                return False

        os.kill(max(running.children), signal.SIGKILL)  # the one that was started last
        await until(lambda: "frontend-core ended; starting it again." in running.output)
        await until_asked(answers, READY_S)
        children = running.children
        assert len(children) == 3
        if sys.platform == "linux":  # elsewhere nothing ends a process with its parent
            running.process.kill()
            await until(lambda: not alive(children), END_S)


async def test_a_terminal_that_is_closed_ends_it_also_while_it_starts(tmp_path: Path) -> None:
    async with dev(tmp_path) as running:
        await until(lambda: len(running.children) == 3, READY_S)
        children = running.children
        running.process.send_signal(signal.SIGHUP)
        assert await running.ended() == 0
        assert alive(children) == set()
        assert "Traceback" not in running.output
