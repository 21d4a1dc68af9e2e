"""`/diag`: events sent at known times, so that a program behind a hop can tell what the hop does to a stream.

`GET /diag/stream` sends numbered events, each with the time at which the server sent it. `GET /diag/runs/{id}` says when the
server noticed the end of such a stream. Both need a token or the diag key. This module knows no run, no log and no agent.

Times in answers are milliseconds since the epoch, by one monotonic clock of this process, so differences are exact. Everything
is bounded: `MAX_STREAMS` open streams, `MAX_TOTAL_S` seconds each, and the last `MAX_RUNS` streams are remembered.
"""

# No `from __future__ import annotations`: FastAPI would look names up in the module, but `Who` is local to `router`.
import asyncio
import hmac
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import orjson
import uuid_utils
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from middle_core.errors import Draining, InvalidRequest, NotFound, RateLimited, RunIdConflict, Unauthorized
from middle_core.transports.http.caller import Caller
from middle_core.transports.sse.frames import encode_frame
from middle_core.transports.sse.streams import HEADERS, HEARTBEAT, HELLO, reattach

MAX_STREAMS: Final = 64
MAX_RUNS: Final = 256
MAX_EVENTS: Final = 1_000
MAX_WAIT_MS: Final = 600_000
MAX_TOTAL_S: Final = 900.0
LOOK_S: Final = 0.2
"""Seconds after which a silent stream looks whether the server drains."""
STALL_S: Final = 30.0
"""Seconds that a stream may take longer than planned, for a client that reads slowly."""
KEY_HEADER: Final = "x-diag-key"

State = Literal["running", "finished", "disconnected", "ended"]
Say = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send.

    Args:
        n: number of events.
        gap_ms: milliseconds between two events.
        hb_ms: milliseconds between heartbeats; 0 for none.
        delay_ms: milliseconds before the headers.
    """

    n: int
    gap_ms: int
    hb_ms: int
    delay_ms: int

    @property
    def total_s(self) -> float:
        return (self.delay_ms + (self.n - 1) * self.gap_ms) / 1000


@dataclass(slots=True)
class DiagRun:
    """A stream that is remembered. Times are those of `Diag.now_ms`. The state `ended` means: by a drain, or by its token's end."""

    run_id: str
    owner: str
    started_at: float
    state: State = "running"
    events_sent: int = 0
    heartbeats_sent: int = 0
    disconnect_noticed_at: float | None = None
    task_cancelled_at: float | None = None
    ended_at: float | None = None


class Diag:
    """The streams of this process.

    Args:
        heartbeat_s: seconds between heartbeats, where a request does not say.
        draining: whether the server is about to stop.
    """

    def __init__(self, *, heartbeat_s: float, draining: Callable[[], bool]) -> None:
        self.heartbeat_ms = round(heartbeat_s * 1000)
        self.draining = draining
        self._runs: OrderedDict[tuple[str, str], DiagRun] = OrderedDict()
        self._open = 0
        self.server = secrets.token_hex(4)
        """The name of this process in its events, because times of two processes cannot be compared."""
        self._epoch = time.time() - time.monotonic()

    def now_ms(self) -> float:
        """Milliseconds since the epoch; never jumps."""
        return round((self._epoch + time.monotonic()) * 1000, 3)

    @contextmanager
    def opened(self, run: DiagRun) -> Iterator[None]:
        """Count the stream as open, and remember it beyond its end."""
        self._runs[run.owner, run.run_id] = run
        while len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            run.ended_at = self.now_ms()

    def admit(self, owner: str, run_id: str) -> None:
        """Check that a stream may start. Raises Draining, RunIdConflict, or RateLimited if too many streams are open."""
        if self.draining():
            raise Draining(retry_after=5)
        if self._open >= MAX_STREAMS:
            raise RateLimited(f"{MAX_STREAMS} diagnostic streams are open here. Try again when some have ended.", retry_after=5)
        if (owner, run_id) in self._runs:
            raise RunIdConflict("This run_id was used. Use a fresh one for each stream, or none.")

    def find(self, owner: str, run_id: str) -> DiagRun:
        """The caller's stream of this id. Raises NotFound, also for a stream of another caller."""
        run = self._runs.get((owner, run_id))
        if run is None:
            raise NotFound("There is no such diagnostic stream, it is not yours, or another replica sent it.")
        return run


@dataclass(frozen=True, slots=True)
class Asker:
    """The caller.

    Args:
        owner: of the token, or of the diag key.
        until: the token's end, in seconds since the epoch.
    """

    owner: str
    until: float


class DiagStream(Response):
    """Sends the plan from a task of its own. A second task waits for the client to leave, so a silent stream notices it too."""

    def __init__(self, diag: Diag, run: DiagRun, plan: Plan, until: float) -> None:
        super().__init__(headers={**HEADERS, "X-Run-Id": run.run_id})
        del self.headers["content-length"]
        self._diag, self._run, self._plan, self._until = diag, run, plan, until
        self._received_at = diag.now_ms()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._diag.opened(self._run):
            async with asyncio.timeout(self._plan.total_s + STALL_S), asyncio.TaskGroup() as group:
                talking = group.create_task(self._talk(send))
                listening = group.create_task(self._listen(receive, talking))
                talking.add_done_callback(lambda _: listening.cancel())

    async def _listen(self, receive: Receive, talking: asyncio.Task[None]) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not talking.done():
            self._run.disconnect_noticed_at = self._diag.now_ms()
            talking.cancel()

    async def _talk(self, send: Send) -> None:
        try:
            reason = await self._say_all(send)
        except asyncio.CancelledError:
            self._run.task_cancelled_at = self._diag.now_ms()
            self._run.state = "disconnected"
            raise
        self._run.state = "ended" if reason else "finished"
        last = reattach(reason, retry_after_ms=1000) if reason else b""
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _say_all(self, send: Send) -> str | None:
        """Send everything. Returns the reason if the stream ended early."""
        plan, run = self._plan, self._run

        async def say(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        reason = await self._pause(plan.delay_ms, None)
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await say(HELLO)
        for number in range(1, plan.n + 1):
            if number > 1:
                reason = reason or await self._pause(plan.gap_ms, say)
            if reason:
                return reason
            event = {
                "type": "diag",
                "n": number,
                "of": plan.n,
                "hb_ms": plan.hb_ms,
                "server": self._diag.server,
                "run_id": run.run_id,
                "received_at": self._received_at,
                "sent_at": self._diag.now_ms(),
            }
            await say(encode_frame(orjson.dumps(event), id=f"{run.run_id}:{number}"))
            run.events_sent = number
        return reason

    async def _pause(self, ms: float, say: Say | None) -> str | None:
        """Wait, and send heartbeats after the headers. Returns the reason if the stream must end now."""
        end = time.monotonic() + ms / 1000
        beat_s = self._plan.hb_ms / 1000 if say is not None and self._plan.hb_ms else math.inf
        beat = time.monotonic() + beat_s
        while True:
            if self._diag.draining():
                return "drain"
            if time.time() >= self._until:
                return "token_expired"
            now = time.monotonic()
            if now >= end:
                return None
            if say is not None and now >= beat:
                await say(HEARTBEAT)
                self._run.heartbeats_sent += 1
                beat += beat_s
            await asyncio.sleep(min(end - now, max(beat - now, 0), LOOK_S))


def router(diag: Diag, caller: Caller, *, key: str = "") -> APIRouter:
    """The routes, bound to their parts.

    Args:
        diag: the streams of this process.
        caller: finds the principal of a request.
        key: what `X-Diag-Key` must be to open `/diag` without a token; empty: tokens only.
    """
    routes = APIRouter(prefix="/diag", tags=["diag"])

    async def asker(request: Request) -> Asker:
        sent = request.headers.getlist(KEY_HEADER)
        if not sent:
            principal = await caller(request)
            return Asker(principal.owner, principal.expires_at)
        if key and len(sent) == 1 and hmac.compare_digest(sent[0].encode(), key.encode()):
            return Asker("key", math.inf)
        raise Unauthorized("The diag key is not the one of this server (MIDDLE_CORE_DIAG_KEY). Send the right one, or a token.")

    Who = Annotated[Asker, Depends(asker)]  # noqa: N806 - a type

    @routes.get("/stream")
    async def get_stream(  # noqa: PLR0917 - FastAPI passes them by name
        who: Who,
        n: Annotated[int, Query(ge=1, le=MAX_EVENTS, description="How many events.")] = 20,
        gap_ms: Annotated[int, Query(ge=0, le=MAX_WAIT_MS, description="Between two events.")] = 100,
        hb_ms: Annotated[int | None, Query(ge=0, le=MAX_WAIT_MS, description="Between heartbeats; 0: none; default: the server's.")] = None,
        delay_ms: Annotated[int, Query(ge=0, le=MAX_WAIT_MS, description="Before the headers.")] = 0,
        run_id: Annotated[
            str | None, Query(pattern=r"^[A-Za-z0-9-]{8,64}$", description="Its id, for a client that may never see ours.")
        ] = None,
    ) -> DiagStream:
        """Timed events."""
        hb_ms = diag.heartbeat_ms if hb_ms is None else hb_ms
        if 0 < hb_ms < 100:
            raise InvalidRequest("hb_ms: heartbeats come at most every 100 ms; 0 means none.")
        plan = Plan(n, gap_ms, hb_ms, delay_ms)
        if plan.total_s > MAX_TOTAL_S:
            raise InvalidRequest(f"The stream would take {plan.total_s:.0f} s; {MAX_TOTAL_S:.0f} s is the most. Ask for less.")
        run = DiagRun(run_id or f"diag-{uuid_utils.uuid7()}", who.owner, diag.now_ms())
        diag.admit(run.owner, run.run_id)
        return DiagStream(diag, run, plan, who.until)

    @routes.get("/runs/{run_id}")
    async def get_run(who: Who, run_id: str) -> JSONResponse:
        """A stream: when the server noticed that its client left, and when it cancelled the task."""
        run = diag.find(who.owner, run_id)
        body = {
            "run_id": run.run_id,
            "state": run.state,
            "now": diag.now_ms(),
            "started_at": run.started_at,
            "disconnect_noticed_at": run.disconnect_noticed_at,
            "task_cancelled_at": run.task_cancelled_at,
            "ended_at": run.ended_at,
            "events_sent": run.events_sent,
            "heartbeats_sent": run.heartbeats_sent,
        }
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    return routes
