"""`/diag`: what it sends and when, who may use it, what it remembers, and its limits."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from middle_core.auth.verify import secret_verifier
from middle_core.transports import diag
from middle_core.transports.http import problems
from middle_core.transports.http.caller import Caller
from middle_core.transports.sse.frames import SseParser
from tests.fakes.http_server import http_client, serving
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint

KEY = "a-diag-key-for-tests"


@dataclass
class Door:
    """A running `/diag` and a client with the key."""

    url: str
    http: httpx.AsyncClient
    drain: list[bool]
    headers: dict[str, str] = field(default_factory=lambda: {"x-diag-key": KEY})

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(self.url + path, headers=headers or self.headers)

    @asynccontextmanager
    async def stream(self, query: str, **headers: str) -> AsyncIterator[httpx.Response]:
        async with self.http.stream("GET", f"{self.url}/diag/stream?{query}", headers=headers or self.headers) as response:
            yield response

    async def told(self, run_id: str, state: str) -> dict[str, Any]:
        """What it says of a run when the run has reached that state."""
        async with asyncio.timeout(5):
            while True:
                body: dict[str, Any] = (await self.get(f"/diag/runs/{run_id}")).json()
                if body["state"] == state:
                    return body


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    problems.install(app)
    drain: list[bool] = []
    timed = diag.Diag(heartbeat_s=10, draining=lambda: bool(drain))
    app.include_router(diag.router(timed, Caller(secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE)), key=KEY))
    async with serving(app) as url, http_client(limits=httpx.Limits(max_connections=None)) as http:
        yield Door(url, http, drain)


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(frame.data) for frame in SseParser().feed(text.encode())]


async def test_numbered_events_with_the_times_at_which_they_left(door: Door) -> None:
    response = await door.get("/diag/stream?n=4&gap_ms=50&hb_ms=0")
    assert response.headers["cache-control"] == "no-cache, no-transform"
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-length" not in response.headers
    sent = events(response.text)
    run_id = response.headers["x-run-id"]
    assert [(event["n"], event["of"], event["run_id"]) for event in sent] == [(number, 4, run_id) for number in range(1, 5)]
    gaps = [after["sent_at"] - before["sent_at"] for before, after in pairwise(sent)]
    assert all(gap >= 49 for gap in gaps), gaps
    assert sent[0]["received_at"] <= sent[0]["sent_at"]
    assert abs(sent[0]["sent_at"] / 1000 - time.time()) < 60
    told = await door.told(run_id, "finished")
    assert (told["events_sent"], told["heartbeats_sent"], told["disconnect_noticed_at"]) == (4, 0, None)


async def test_heartbeats_fill_a_silence(door: Door) -> None:
    response = await door.get("/diag/stream?n=2&gap_ms=550&hb_ms=100")
    sent = response.text.count(": keep-alive\n\n")
    assert 1 <= sent <= 5
    assert (await door.told(response.headers["x-run-id"], "finished"))["heartbeats_sent"] == sent


async def test_headers_wait_for_the_delay(door: Door) -> None:
    begun = time.monotonic()
    async with door.stream("n=1&delay_ms=300"):
        assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize("query", ["n=100&gap_ms=20&hb_ms=0", "n=2&gap_ms=600000&hb_ms=0", "n=1&delay_ms=600000"])
async def test_a_client_that_leaves_is_noticed_at_once_talking_or_silent(door: Door, query: str) -> None:
    """Also a client that leaves before it has seen anything, because it chose the run's id itself."""
    async with asyncio.TaskGroup() as group:
        client = group.create_task(door.get(f"/diag/stream?{query}&run_id=mine-0001"))
        while (await door.get("/diag/runs/mine-0001")).status_code != 200:
            pass
        client.cancel()
    told = await door.told("mine-0001", "disconnected")
    assert told["task_cancelled_at"] >= told["disconnect_noticed_at"]
    assert told["now"] >= told["ended_at"] >= told["task_cancelled_at"]


OUT_OF_BOUNDS = [
    "n=0", "n=1001", "n=x", "gap_ms=-1", "gap_ms=600001", "hb_ms=50", "hb_ms=600001", "delay_ms=600001", "n=1000&gap_ms=600000",
    "run_id=short", "run_id=a/b/c/d/e",
]  # fmt: skip
STRANGERS: list[dict[str, str]] = [
    {"accept": "*/*"},
    {"authorization": "Bearer nonsense"},
    {"x-diag-key": "nonsense"},
    {"x-diag-key": ""},
    {"x-diag-key": KEY + "x"},
    {"authorization": f"Bearer {KEY}"},
]


async def test_every_parameter_is_bounded(door: Door) -> None:
    for query in OUT_OF_BOUNDS:
        response = await door.get(f"/diag/stream?{query}")
        assert (response.status_code, response.json()["code"]) == (422, "invalid_request"), query


async def test_it_is_closed_to_everybody_else(door: Door) -> None:
    for headers in STRANGERS:
        for path in ("/diag/stream", "/diag/runs/mine-0001"):
            response = await door.get(path, **headers)
            assert (response.status_code, response.json()["code"]) == (401, "unauthorized"), headers


async def test_without_a_key_set_no_key_opens_it() -> None:
    app = FastAPI()
    problems.install(app)
    timed = diag.Diag(heartbeat_s=10, draining=lambda: False)
    app.include_router(diag.router(timed, Caller(secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE))))
    async with serving(app) as url, http_client() as http:
        for key in ("", "x", KEY):
            assert (await http.get(url + "/diag/stream", headers={"x-diag-key": key})).status_code == 401
        assert (await http.get(url + "/diag/stream?n=1", headers={"authorization": f"Bearer {mint()}"})).status_code == 200


async def test_a_run_is_told_to_whoever_started_it_only(door: Door) -> None:
    alice, bob = f"Bearer {mint()}", f"Bearer {mint(sub='bob')}"
    assert (await door.get("/diag/stream?n=1&run_id=of-alice-1", authorization=alice)).status_code == 200
    assert (await door.get("/diag/runs/of-alice-1", authorization=alice)).status_code == 200
    assert (await door.get("/diag/runs/of-alice-1", authorization=bob)).status_code == 404
    assert (await door.get("/diag/runs/of-alice-1")).status_code == 404
    assert (await door.get("/diag/stream?n=1&run_id=of-alice-1", authorization=bob)).status_code == 200, "ids are each owner's own"
    assert (await door.get("/diag/stream?n=1&run_id=of-alice-1", authorization=alice)).status_code == 409


async def test_open_streams_are_bounded(door: Door) -> None:
    async with AsyncExitStack() as open_:
        for _ in range(diag.MAX_STREAMS):
            await open_.enter_async_context(door.stream("n=2&gap_ms=600000"))
        refused = await door.get("/diag/stream?n=1")
        assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (429, "rate_limited", "5")
    async with asyncio.timeout(5):
        while (await door.get("/diag/stream?n=1")).status_code != 200:
            pass


async def test_what_is_remembered_is_bounded() -> None:
    timed = diag.Diag(heartbeat_s=10, draining=lambda: False)
    for number in range(diag.MAX_RUNS + 10):
        with timed.opened(diag.DiagRun(f"r{number}", "me", timed.now_ms())):
            pass
    assert len(timed._runs) == diag.MAX_RUNS
    last = f"r{diag.MAX_RUNS + 9}"
    assert timed.find("me", last).run_id == last


@pytest.mark.parametrize("query", ["n=2&gap_ms=600000&hb_ms=0", "n=1000&gap_ms=20"])
async def test_a_drain_ends_a_stream_with_a_hint_and_refuses_the_next(door: Door, query: str) -> None:
    async with door.stream(query) as response:
        pieces = response.aiter_text()
        await anext(pieces)
        door.drain.append(True)
        async with asyncio.timeout(1):
            rest = "".join([piece async for piece in pieces])
        assert events(rest)[-1]["value"] == {"reason": "drain", "retryAfterMs": 1000}
    assert (await door.get("/diag/stream?n=1")).status_code == 503
    assert (await door.told(response.headers["x-run-id"], "ended"))["task_cancelled_at"] is None


async def test_a_stream_ends_with_its_token(door: Door) -> None:
    async with door.stream("n=2&gap_ms=600000", authorization=f"Bearer {mint(exp=int(time.time()) + 2)}") as response:
        async with asyncio.timeout(5):
            text = "".join([piece async for piece in response.aiter_text()])
    assert events(text)[-1]["value"]["reason"] == "token_expired"
