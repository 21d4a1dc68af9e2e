"""The servers to measure, each in a process of its own on a loopback port, and a thin client."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.fakes.ports import free_port
from tests.fakes.process import ROOT
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint

FIRST = b'"TEXT_MESSAGE_CONTENT"'
LAST = b'"RUN_FINISHED"'
WORD = re.compile(rb"w\d+ ")


@dataclass(frozen=True)
class Turn:
    """What one turn took. Seconds; first: to the first TEXT_MESSAGE_CONTENT at the client."""

    first: float
    whole: float
    words: int
    size: int


@asynccontextmanager
async def process(command: list[str], url: str, env: Mapping[str, str] | None = None) -> AsyncIterator[str]:
    """Start a child process, wait until it answers at the URL, and kill it at the end. Yields the URL without its path."""
    async with process_of(command, url, env) as (base, _pid):
        yield base


@asynccontextmanager
async def process_of(command: list[str], url: str, env: Mapping[str, str] | None = None) -> AsyncIterator[tuple[str, int]]:
    """As `process`, but yields the child's process id as well."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MIDDLE_CORE_", "CEREBRAS_"))}  # noqa: TID251 - for a child
    child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env={**inherited, **(env or {})})
    try:
        async with asyncio.timeout(60), httpx.AsyncClient() as http:
            while True:
                try:
                    if (await http.get(url)).status_code < 500:
                        break
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        yield url.rsplit("/", 1)[0], child.pid
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def middle_core_command(data_dir: Path, port: int, *, agent: str = "benchmarks.graph:builder") -> tuple[list[str], dict[str, str]]:
    """The command and the settings of our server, with the durable log on."""
    settings = {
        "MIDDLE_CORE_DATA_DIR": str(data_dir),
        "MIDDLE_CORE_JWT_SECRET": SECRET,
        "MIDDLE_CORE_JWT_ISSUER": ISSUER,
        "MIDDLE_CORE_JWT_AUDIENCE": AUDIENCE,
        "MIDDLE_CORE_MODEL": "offline",
        "MIDDLE_CORE_BACKEND_URL": "none",
        "MIDDLE_CORE_AGENTS": f"bench={agent}",
    }
    return [sys.executable, "-m", "middle_core", "serve", "--port", str(port)], settings


@asynccontextmanager
async def middle_core(data_dir: Path, *, env: Mapping[str, str] | None = None) -> AsyncIterator[str]:
    """Our server."""
    port = free_port()
    command, settings = middle_core_command(data_dir, port)
    async with process(command, f"http://127.0.0.1:{port}/readyz", {**settings, **(env or {})}) as url:
        yield url


@asynccontextmanager
async def stock() -> AsyncIterator[str]:
    """The SDK's endpoint."""
    port = free_port()
    async with process([sys.executable, "-m", "benchmarks.stock", str(port)], f"http://127.0.0.1:{port}/readyz") as url:
        yield url


def turn_body(question: str, thread: str | None = None) -> dict[str, object]:
    """A RunAgentInput."""
    return {
        "threadId": thread or str(uuid.uuid4()),
        "runId": str(uuid.uuid4()),
        "messages": [{"id": str(uuid.uuid4()), "role": "user", "content": question}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }


def headers() -> dict[str, str]:
    """A signed-in client."""
    return {"authorization": f"Bearer {mint()}", "accept": "text/event-stream"}


async def take(http: httpx.AsyncClient, url: str, question: str) -> Turn:
    """One turn on a thread of its own."""
    body = turn_body(question)
    started = time.perf_counter()
    first = 0.0
    text = bytearray()
    async with http.stream("POST", url, json=body, headers=headers()) as response:
        response.raise_for_status()
        async for chunk in response.aiter_raw():
            text += chunk
            if not first and FIRST in text:
                first = time.perf_counter() - started
    whole = time.perf_counter() - started
    assert LAST in text, text[-500:]
    deltas = b"".join(re.findall(rb'"delta":\s?"([^"]*)"', bytes(text)))
    return Turn(first, whole, len(WORD.findall(deltas)), len(text))
