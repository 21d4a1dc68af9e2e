"""What the lab's tests share: a server behind a hop, a browser's view of Next, and measured figures.

A measured figure goes into the test's own report (`Figures`), so it survives several workers; `make lab` gathers them into the table of
`infra/ingress-lab/README.md` (`tests/integration/report.py`).
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from middle_core.agents.registry import AgentDeps
from middle_core.events import Event
from tests.e2e.parts import Part, inherited, next_server
from tests.fakes.graphs import Graph, chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.ports import free_port
from tests.fakes.process import ROOT
from tests.fakes.relay import Relay
from tests.fakes.stack import PATIENCE_S, Reader, Stack, run_input, user
from tests.fakes.tokens import mint
from tests.integration.hops import Hop
from tests.integration.report import FIGURE

CUT = (httpx.RemoteProtocolError, httpx.ReadError)
"""The errors that a client gets when a hop cuts its stream."""

ENDS = {"RUN_FINISHED", "RUN_ERROR", "turn_completed"}


def build(deps: AgentDeps) -> Graph:
    """An agent with one node that asks the model."""
    return chat(deps.model)


def port_of(server: Stack | Web) -> int:
    """The port of the server."""
    port = urlsplit(server.url).port
    assert port is not None
    return port


def via(server: Stack, hop: Hop | Relay) -> Stack:
    """The same server, asked through the hop."""
    return replace(server, url=hop.url)


@dataclass
class Figures:
    """Collects what a test measures."""

    properties: list[tuple[str, object]]

    def hop(self, path: str, column: str, value: str) -> None:
        """One cell of the table of hops."""
        self.properties.append((FIGURE, ["hops", path, column, value]))

    def fact(self, what: str, value: str) -> None:
        """One line of the table of facts."""
        self.properties.append((FIGURE, ["facts", what, "measured", value]))


def ms(seconds: Sequence[float]) -> str:
    """Durations for people: the median and the longest."""
    return f"{statistics.median(seconds) * 1000:.1f} ms (longest {max(seconds) * 1000:.1f})"


async def in_turn(reader: Reader, gates: Sequence[asyncio.Event]) -> list[float]:
    """Read a model that waits at a gate after each of its words `w0 w1 ...`. Open each gate when its word has arrived. Returns the seconds for each word."""
    took: list[float] = []
    said = time.monotonic()
    for number, gate in enumerate(gates):
        await reader.until_text(f"w{number} ")
        took.append(time.monotonic() - said)
        said = time.monotonic()
        gate.set()
    await reader.rest()
    return took


def paced(words: list[str], over_s: float) -> tuple[ScriptedModel, Callable[[], Coroutine[Any, Any, None]]]:
    """A model that says the words one by one, and the coroutine that makes it speak over `over_s` seconds."""
    gates = [asyncio.Event() for _ in words]
    model = ScriptedModel(turns=[[*(item for pair in zip(gates, words, strict=True) for item in pair), finish()]])

    async def speak() -> None:
        for gate in gates:
            gate.set()
            await asyncio.sleep(over_s / len(gates))

    return model, speak


@dataclass
class Followed:
    """What a client got that attached again after each cut. torn: cuts within a frame."""

    events: list[Event] = field(default_factory=list)
    cuts: int = 0
    torn: int = 0


async def follow_through(server: Stack, path: str, cursor: str | None, *, patient: Stack | None = None) -> Followed:
    """Attach at the last id, again and again, until the end of the run or turn.

    patient: another address of the same server, used after a connection without a whole event; otherwise a busy machine could repeat that for ever.
    """
    got = Followed()
    front = server
    while not (got.events and got.events[-1]["type"] in ENDS):
        headers = server.headers(**({"last-event-id": cursor} if cursor else {}))
        progress = len(got.events)
        async with front.http.stream("GET", front.url + path, headers=headers) as response:
            if response.status_code == 504:  # cut before the headers
                got.cuts += 1
            else:
                assert response.status_code == 200, response.status_code
                reader = Reader(response)
                try:
                    await reader.rest()
                except CUT:
                    got.cuts += 1
                    got.torn += reader.parser.pending
                got.events += reader.events
                cursor = reader.last_id or cursor
        front = server if patient is None or len(got.events) > progress else patient
    return got


# --- the probe -------------------------------------------------------------------------------------------------------

PROBE_KEY = "a-key-for-the-probe-alone"


async def probe(*arguments: str) -> tuple[int, dict[str, Any]]:
    """`python -m middle_core probe`: the exit status and the report."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "middle_core", "probe", "--json", *arguments),
        cwd=ROOT,
        env={**inherited(), "MIDDLE_CORE_DIAG_KEY": PROBE_KEY, "MIDDLE_CORE_PROBE_TOKEN": mint()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    assert out, err.decode()
    report: dict[str, Any] = json.loads(out)
    return process.returncode, report


def verdicts(hop: dict[str, Any]) -> set[str]:
    """The verdicts of the streams with `identity` and with `gzip, br`."""
    return {stream["verdict"] for stream in hop["streams"]}


# --- Next ------------------------------------------------------------------------------------------------------------


@dataclass
class Web:
    """Next with the built page. `core` is the relay from Next to a middle-core that the test chooses."""

    url: str
    next: Part
    core: Relay
    http: httpx.AsyncClient

    def browser(self, front: Hop | None = None) -> Browser:
        """A browser of one user; `front` stands between it and Next."""
        return Browser(front.url if front else self.url, self.http)


@asynccontextmanager
async def web_tier(folder: Path, **env: str) -> AsyncIterator[Web]:
    """A running Next. At the end its log must hold no unhandled error."""
    async with Relay() as core, httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_connections=None)) as http:
        part = next_server(folder, free_port(), core.url)
        part.env = {**part.env, **env}
        url = part.probe.removesuffix("/api/health")
        part.probe = url  # the page alone, because there is no middle-core yet
        try:
            await part.start()
            await http.get(
                f"{url}/api/copilotkit/info"
            )  # the first request loads CopilotKit's runtime, and no measurement should wait for that
            yield Web(url, part, core, http)
            assert part.alive, part.output
            for word in ("unhandledRejection", "uncaughtException", "TypeError"):
                assert word not in part.output, part.output
        finally:
            await part.end()


@dataclass
class Browser:
    """A browser that sends what the page sends through CopilotKit, to Next or to a hop in front of it."""

    url: str
    http: httpx.AsyncClient
    token: str = ""

    def __post_init__(self) -> None:
        self.token = self.token or mint()

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    @asynccontextmanager
    async def stream(self, verb: str, body: Any) -> AsyncIterator[Reader]:
        """An open stream of `run` or `connect`; leaving it closes the connection, as a closed tab does."""
        path = f"{self.url}/api/copilotkit/agent/default/{verb}"
        async with self.http.stream("POST", path, json=body, headers=self.headers, timeout=PATIENCE_S) as response:
            if response.status_code != 200:
                await response.aread()
                raise AssertionError(f"{response.status_code}: {response.text}")
            yield Reader(response)

    def say(self, text: str, *, thread: str = "t1", **more: Any) -> Any:
        """Open the stream of a new turn."""
        return self.stream("run", run_input(user(text), thread=thread, **more))

    def connect(self, *, thread: str = "t1") -> Any:
        """Open a thread, as a page that is loaded does."""
        return self.stream("connect", run_input(thread=thread))

    async def stop(self, *, thread: str = "t1") -> None:
        """Click on stop."""
        response = await self.http.post(f"{self.url}/api/copilotkit/agent/default/stop/{thread}", json={}, headers=self.headers)
        assert response.status_code == 200, response.text


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began
