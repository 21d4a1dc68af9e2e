"""A `serve` process, for tests of what only a real process shows (kill -9, signals, exit codes, its output)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.fakes.ports import free_port
from tests.fakes.stack import DATABASES, Stack
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET
from tests.fakes.until import until, until_asked

ROOT = Path(__file__).parents[2]
READY_S = 40.0
SOON_DEAD = {"MIDDLE_CORE_LEASE_S": "4", "MIDDLE_CORE_BEAT_S": "1"}
"""On Postgres a killed server's runs are its own until its lease is over. A reader waits for less than the lease of the settings."""


@dataclass
class Server(Stack):
    """A `Stack` whose server runs in another process. `output` is what it has written so far."""

    process: asyncio.subprocess.Process | None = None
    log_file: Path = Path()

    @property
    def output(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    async def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def serve(
    data_dir: Path, *, port: int | None = None, agents: str = "", env: Mapping[str, str] | None = None
) -> AsyncIterator[Server]:
    """A server that answers. It is killed at the end if it still runs."""
    port = port or free_port()
    data_dir.mkdir(parents=True, exist_ok=True)
    log_file = data_dir / f"serve-{port}.log"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MIDDLE_CORE_", "CEREBRAS_"))},  # noqa: TID251 - for a child
        "MIDDLE_CORE_DATA_DIR": str(data_dir),
        **({"MIDDLE_CORE_DATABASE_URL": DATABASES[-1](data_dir), **SOON_DEAD} if DATABASES else {}),
        "MIDDLE_CORE_JWT_SECRET": SECRET,
        "MIDDLE_CORE_JWT_ISSUER": ISSUER,
        "MIDDLE_CORE_JWT_AUDIENCE": AUDIENCE,
        "MIDDLE_CORE_MODEL": "offline",
        "MIDDLE_CORE_BACKEND_URL": "none",
        **({"MIDDLE_CORE_AGENTS": agents} if agents else {}),
        **(env or {}),
    }
    with log_file.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "middle_core", "serve", "--port", str(port), cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(timeout=10, limits=httpx.Limits(max_connections=None)) as http:
        try:

            async def ready() -> bool:
                assert process.returncode is None, log_file.read_text(encoding="utf-8")
                return await _ready(http, url)

            await until_asked(ready, READY_S)
            yield Server(url, None, None, None, http, process=process, log_file=log_file)  # type: ignore[arg-type]  # in another process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _ready(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url + "/readyz")).status_code == 200
    except httpx.TransportError:
        return False


async def gone(process: asyncio.subprocess.Process, within_s: float) -> int:
    """Wait until the process has ended by itself. Returns its exit status."""
    await until(lambda: process.returncode is not None, within_s)
    assert process.returncode is not None
    return process.returncode
