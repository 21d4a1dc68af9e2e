"""All parts of the product as real processes on loopback, connected through relays that tests control.

    browser -> Next -> relay `core` -> middle_core serve -> relay `backend` -> demo backend-core
                                                        -> the Cerebras simulator, in the test's loop

Processes are ended by their own id. middle-core may be killed and started again; its port changes, the relay's does not.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from middle_core.demo.issuer import PEOPLE, DevIssuer
from middle_core.demo.page import page_command, page_env
from tests.e2e.speech import speak
from tests.fakes.cerebras_server import CerebrasServer
from tests.fakes.ports import free_port
from tests.fakes.process import ROOT
from tests.fakes.relay import Relay
from tests.fakes.stack import Stack
from tests.fakes.until import until_asked

READY_S = 90.0
END_S = 15.0
AGENTS = "knowledge_copilot=tests.e2e.agent:build"

PROXY = {
    "FRONTEND_CORE_AWAY_S": "20",  # instead of 30: seconds that a running answer waits for a server that cannot be reached
    "FRONTEND_CORE_START_S": "4",
}
"""Settings as in production, except times for which a test would wait."""


def inherited() -> dict[str, str]:
    """This process's environment without variables that would configure the parts."""
    ours = ("MIDDLE_CORE_", "FRONTEND_CORE_", "CEREBRAS_", "COPILOTKIT_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}  # noqa: TID251 - passed on to children


@dataclass
class Part:
    """One process that answers `probe` when it is ready."""

    command: list[str]
    env: Mapping[str, str]
    probe: str
    log_file: Path
    process: asyncio.subprocess.Process | None = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    @property
    def output(self) -> str:
        """What it has written so far."""
        return self.log_file.read_text(encoding="utf-8")

    async def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log_file.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command, cwd=ROOT, env={**inherited(), **self.env}, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
            )
        async with httpx.AsyncClient(timeout=5) as http:
            await until_asked(lambda: self._answers(http), READY_S)

    async def _answers(self, http: httpx.AsyncClient) -> bool:
        assert self.process is not None
        assert self.alive, f"{self.command} ended with {self.process.returncode}:\n{self.output}"
        try:
            return (await http.get(self.probe)).status_code == 200
        except httpx.TransportError:
            return False

    async def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def end(self) -> None:
        """Ask it to end; kill it if it does not."""
        if self.process is None or self.process.returncode is not None:
            return
        self.process.terminate()
        try:
            async with asyncio.timeout(END_S):
                await self.process.wait()
        except TimeoutError:
            await self.kill()


@dataclass
class Site:
    """The running product. `url` is the page's address."""

    url: str
    folder: Path
    http: httpx.AsyncClient
    core: Relay
    backend: Relay
    model: CerebrasServer
    next: Part
    server: Part = field(init=False)
    """middle-core, as it runs now."""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    async def start_server(self) -> None:
        """Start middle-core on a port of its own and let the relay lead there."""
        port = free_port()
        self.server = serve(self, port)
        await self.server.start()
        self.core.target = port

    async def restart_server(self) -> None:
        """Start middle-core again after a kill."""
        assert not self.server.alive
        await self.start_server()

    async def end_server(self) -> None:
        """End middle-core as it runs now."""
        await self.server.end()

    @asynccontextmanager
    async def serving(self, **settings: str) -> AsyncIterator[None]:
        """middle-core started anew with these settings, and as before at the end."""
        before = self.settings
        await self.end_server()
        self.settings = {**before, **settings}
        await self.start_server()
        try:
            yield
        finally:
            await self.end_server()
            self.settings = before
            await self.start_server()

    @property
    def post(self) -> Path:
        """Where the letters of `tests.e2e.letters` go."""
        return self.folder / "letters"

    def token(self, sub: str = "alice", ttl_s: float = 600.0) -> str:
        """A token of the dev issuer for one of the demo's people; a negative time to live makes an expired one."""
        person = next(person for person in PEOPLE if person.sub == sub)
        return DevIssuer.open(self.data_dir).token(person.sub, [person.role], ttl_s)

    def api(self, token: str) -> Stack:
        """A request to middle-core itself, not through Next."""
        return Stack(f"http://127.0.0.1:{self.core.target}", None, None, None, self.http, token)  # type: ignore[arg-type]  # the app is in another process

    async def thread(self, token: str, thread: str) -> dict[str, Any]:
        """A thread's status."""
        response = await self.api(token).get(f"/threads/{thread}")
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    async def until_at_rest(self, token: str, thread: str, within_s: float = 10.0) -> None:
        """Wait until nothing runs in the thread, because a page may be ready for the next message before that.

        A thread that does not exist is at rest: a stop can come before the run was asked for.
        """

        async def at_rest() -> bool:
            found = await self.api(token).get(f"/threads/{thread}")
            assert found.status_code in {200, 404}, found.text
            return found.status_code == 404 or not found.json()["running"]

        await until_asked(at_rest, within_s)

    async def log_text(self, token: str, thread: str) -> str:
        """The text of the newest run of the thread as its log has it, read to the run's end."""
        status = await self.thread(token, thread)
        async with self.api(token).follow((status["activeRun"] or status["lastRun"])["runId"]) as reader:
            await reader.rest()
        text: str = reader.text
        return text


def serve(site: Site, port: int) -> Part:
    """middle-core as a part."""
    return Part(
        [sys.executable, "-m", "middle_core", "serve", "--port", str(port)],
        {
            "MIDDLE_CORE_ENV": "dev",
            "MIDDLE_CORE_DATA_DIR": str(site.data_dir),
            "MIDDLE_CORE_BACKEND_URL": site.backend.url,
            "MIDDLE_CORE_AGENTS": AGENTS,
            "MIDDLE_CORE_MODEL": "cerebras:",
            "CEREBRAS_API_KEY": "test-key",
            "CEREBRAS_BASE_URL": site.model.url,
            "E2E_POST": str(site.post),
            **site.settings,
        },
        f"http://127.0.0.1:{port}/readyz",
        site.folder / "middle-core.log",
    )


def demo_backend(folder: Path, port: int) -> Part:
    """The stand-in backend-core as a part; it shares the data folder because the dev issuer's key is there."""
    return Part(
        [sys.executable, "-m", "middle_core", "demo-backend", "--port", str(port)],
        {"MIDDLE_CORE_ENV": "dev", "MIDDLE_CORE_DATA_DIR": str(folder / "data")},
        f"http://127.0.0.1:{port}/healthz",
        folder / "backend-core.log",
    )


def next_server(folder: Path, port: int, core_url: str) -> Part:
    """The built page and the proxy as a part."""
    return Part(
        page_command(ROOT),
        {**page_env(port=port, middle_core=core_url), **PROXY},
        f"http://127.0.0.1:{port}/api/health",
        folder / "next.log",
    )


@asynccontextmanager
async def running_site(folder: Path, settings: Mapping[str, str] | None = None) -> AsyncIterator[Site]:
    """Start everything, and end it with the context. settings: of middle-core, instead of those for tests."""
    folder.mkdir(parents=True, exist_ok=True)
    backend_port, page_port = free_port(), free_port()
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_connections=None)))
        model = await stack.enter_async_context(CerebrasServer(default=speak))
        backend = await stack.enter_async_context(Relay(backend_port))
        core = await stack.enter_async_context(Relay())
        page = next_server(folder, page_port, core.url)
        site = Site(f"http://127.0.0.1:{page_port}", folder, http, core, backend, model, page, settings=settings or {})
        knowledge = demo_backend(folder, backend_port)
        stack.push_async_callback(knowledge.end)
        await knowledge.start()
        stack.push_async_callback(site.end_server)
        await site.start_server()
        stack.push_async_callback(page.end)
        await page.start()
        yield site
