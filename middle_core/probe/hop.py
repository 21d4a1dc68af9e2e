"""One hop in front of middle-core's `/diag`: streams are judged, silences climbed, and leaving is timed on the far side.

Finds `/diag` below the address itself or below `/api` (the Next site). Everything is bounded by the options.
"""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Literal, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from middle_core.probe import cuts, words
from middle_core.probe.headers import check_headers
from middle_core.probe.options import ENCODINGS, Options, Target
from middle_core.probe.report import Cancel, Cut, Heartbeats, Hop, Level, Silence, Stream
from middle_core.probe.streams import stream_of
from middle_core.probe.verdict import Timed, judge
from middle_core.probe.wire import Taken, Unprobed, encoding_of, gather, take

PREFIXES: Final = ("", "/api")
SLACK_S: Final = 10.0
WARM: Final = 2
"""Short requests before the streams, so that one that was slow decides nothing."""
POLL_S: Final = 0.05
TALK_S: Final = 1.0
"""How often a talking rung of the ladder says something."""
FINAL: Final = frozenset({0, 401, 403, 429, 502, 503, 504})
REATTACH: Final = b"middle_core.reattach"


class DiagHop:
    """The probe of one address."""

    def __init__(self, client: httpx.AsyncClient, target: Target, options: Options) -> None:
        self._client = client
        self._options = options
        self.target = target
        self._url = self._base = target.url.rstrip("/")
        self._headers = options.headers(diag=True)
        self._heartbeat_s = 10.0
        self._ahead: dict[str, float] = {}

    async def probe(self) -> Hop:
        """All of it. Raises Unprobed where nothing could be learnt."""
        first = await self._find()
        for _ in range(WARM):
            self._learn(await self._ask({"n": 1}))
        taken = await gather(*(self._stream(encoding) for encoding in ENCODINGS))
        silences, cancels = await gather(gather(*self._ladder()), gather(*self._cancels()))
        beats = next(((one, taken) for one, taken in silences if one.kind == "heartbeats"), None)
        heartbeats = self._heartbeats(*beats) if beats is not None else None
        swallowed = heartbeats is not None and heartbeats.level is Level.BAD
        found = cuts.find_cuts([one for one, _ in silences], heartbeat_s=math.inf if swallowed else self._heartbeat_s)
        return Hop(
            url=self._url,
            door="diag",
            http_version=first.http_version,
            streams=[self._judged(encoding, one) for encoding, one in zip(ENCODINGS, taken, strict=True)],
            heartbeats=heartbeats,
            silences=[one for one, _ in silences],
            cuts=await self._named(found),
            cancels=words.weigh(cancels),
            headers=check_headers(taken[0].headers | encoding_of(taken[1])),
        )

    async def _find(self) -> Taken:
        """A page may answer any path, so what streams decides. A refusal of who asks is final."""
        for prefix in PREFIXES:
            self._base = self._url + prefix
            taken = await self._ask({"n": 1})
            if taken.streaming or taken.status in FINAL:
                break
        self._refuse_unless_streaming(taken)
        told = next((event for _, event in timed(taken)), None)
        if told is None:
            raise Unprobed(*(words.NO_DIAG if taken.frames else words.NO_EVENTS))
        self._heartbeat_s = told.hb_ms / 1000
        self._learn(taken)
        return taken

    def _refuse_unless_streaming(self, taken: Taken) -> None:
        if not taken.streaming:
            raise Unprobed(*words.refusal(taken, diag=True))
        if any(REATTACH in frame.data for _, frame in taken.frames):
            raise Unprobed("restarting", "The server ended the stream itself: it is restarting, or the token came to its end. Probe again.")

    async def _ask(
        self,
        query: Mapping[str, int | str],
        *,
        encoding: str = "identity",
        quiet_s: float = SLACK_S,
        total_s: float = SLACK_S,
        until: Callable[[Taken], bool] = lambda _: False,
    ) -> Taken:
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        return await take(
            self._client,
            "GET",
            f"{self._base}/diag/stream?{asked}",
            headers={**self._headers, "accept": "text/event-stream", "accept-encoding": encoding},
            quiet_s=quiet_s,
            total_s=total_s,
            until=until,
        )

    async def _stream(self, encoding: str) -> Taken:
        n, gap = self._options.events, self._options.gap_ms
        planned = n * gap / 1000
        query = {"n": n, "gap_ms": gap, "hb_ms": 0}
        taken = await self._ask(query, encoding=encoding, quiet_s=planned + SLACK_S, total_s=planned + 2 * SLACK_S)
        self._refuse_unless_streaming(taken)
        if taken.end == "ended" and len(timed(taken)) < n and not taken.undecodable:
            taken.end = "closed"  # a hop that ends a stream politely breaks it off all the same
        self._learn(taken)
        return taken

    def _learn(self, taken: Taken) -> None:
        """How far the server's clock is ahead of ours and the quickest request on its way, together."""
        for _, event in timed(taken)[:1]:
            ahead = event.received_at - taken.asked_ms
            self._ahead[event.server] = min(ahead, self._ahead.get(event.server, ahead))

    def _judged(self, encoding: str, taken: Taken) -> Stream:
        """What this request itself took longer than the quickest one is no delay of its events."""
        events = timed(taken)
        sent = [event.sent_at - event.received_at for _, event in events]
        waited = max((event.received_at - taken.asked_ms - self._ahead[event.server] for _, event in events[:1]), default=0.0)
        judged = judge([Timed(one, at - waited) for one, (at, _) in zip(sent, events, strict=True)], round_trip=taken.connect_ms)
        return stream_of(encoding, taken, judged, sent=sent, arrived=[at - waited for at, _ in events])

    def _ladder(self) -> list[Coroutine[Any, Any, tuple[Silence, Taken]]]:
        if not self._options.silences_s:
            return []
        top = max(self._options.silences_s)
        return [
            *(self._rung("silent", seconds, {"n": 2, "gap_ms": ms(seconds), "hb_ms": 0}) for seconds in sorted(self._options.silences_s)),
            self._rung("talking", top, {"n": math.ceil(top / TALK_S) + 1, "gap_ms": ms(TALK_S), "hb_ms": 0}),
            self._rung("heartbeats", top, {"n": 2, "gap_ms": ms(top)}),
        ]

    async def _rung(self, kind: Literal["silent", "talking", "heartbeats"], seconds: float, query: dict[str, int]) -> tuple[Silence, Taken]:
        taken = await self._ask(query, quiet_s=seconds + SLACK_S, total_s=seconds + 2 * SLACK_S)
        if taken.streaming:
            self._refuse_unless_streaming(taken)
        survived = len(timed(taken)) == query["n"]
        if survived:
            return Silence(kind=kind, asked_s=seconds, survived=True), taken
        how = taken.end if taken.streaming or not taken.status else f"status {taken.status}"
        cut = Silence(
            kind=kind,
            asked_s=seconds,
            survived=False,
            cut_after_s=round(taken.end_ms / 1000, 2),
            quiet_s=round((taken.end_ms - taken.last_ms) / 1000, 2),
            how=how,
        )
        return cut, taken

    def _heartbeats(self, silence: Silence, taken: Taken) -> Heartbeats:
        first = taken.frames[0][0] if taken.frames else 0.0
        return cuts.judge_heartbeats([first, *(at for at in taken.comments if at > first)], silence, told_s=self._heartbeat_s)

    async def _named(self, found: list[Cut]) -> list[Cut]:
        """Ask again, silent before the headers: then the hop answers itself, and says who it is. The soonest limit is met."""
        if not found:
            return []
        cut, *others = sorted(found, key=lambda one: one.after_s)
        patience = cut.after_s + SLACK_S
        taken = await self._ask({"n": 1, "hb_ms": 0, "delay_ms": ms(cut.after_s + SLACK_S / 2)}, quiet_s=patience, total_s=patience)
        if taken.streaming or not taken.status:
            return [cut, *others]
        return [cuts.name_cutter(cut, taken.status, words.clean(taken.body, self._options.secrets())), *others]

    def _cancels(self) -> list[Coroutine[Any, Any, Cancel]]:
        if not self._options.cancel:
            return []
        would_last = 2 * self._options.cancel_s + 1
        return [
            self._cancel("talking", {"n": round(would_last * 10), "gap_ms": 100, "hb_ms": 0}),
            self._cancel("silent", {"n": 2, "gap_ms": ms(would_last), "hb_ms": 0}),
        ]

    async def _cancel(self, kind: Literal["talking", "silent"], query: dict[str, int]) -> Cancel:
        """Leave the stream, then ask the far side when it noticed. Our clock times it; theirs only says how long ago it was."""
        run_id = f"probe-{uuid.uuid4()}"
        patience = self._options.cancel_s
        wanted = 3 if kind == "talking" else 1
        await self._ask({**query, "run_id": run_id}, quiet_s=patience, total_s=patience, until=lambda taken: len(taken.frames) >= wanted)
        left = time.perf_counter()
        known = False
        while time.perf_counter() - left < self._options.cancel_s:
            told = await self._run(run_id)
            answered = time.perf_counter()
            known = known or told is not None
            if told is not None and told.task_cancelled_at is not None:
                ago_ms = told.now - told.task_cancelled_at
                return words.cancelled(kind, max(0.0, (answered - left) * 1000 - ago_ms))
            await asyncio.sleep(POLL_S)
        return words.not_cancelled(kind, self._options.cancel_s, known=known)

    async def _run(self, run_id: str) -> RunTold | None:
        try:
            taken = await take(self._client, "GET", f"{self._base}/diag/runs/{run_id}", headers=self._headers, quiet_s=5.0, total_s=5.0)
        except Unprobed:
            return None
        return parsed(RunTold, taken.body) if taken.status == 200 else None


class TimedEvent(BaseModel):
    """What the probe reads of an event of `/diag/stream`."""

    type: Literal["diag"]
    received_at: float
    sent_at: float
    hb_ms: float
    server: str = ""


class RunTold(BaseModel):
    """What the probe reads of `/diag/runs/{run_id}`."""

    now: float
    task_cancelled_at: float | None


M = TypeVar("M", bound=BaseModel)


def parsed(kind: type[M], data: str | bytes) -> M | None:
    """None for anything else: what answers need not be middle-core."""
    try:
        return kind.model_validate_json(data)
    except ValidationError:
        return None


def timed(taken: Taken) -> list[tuple[float, TimedEvent]]:
    """The timed events with their arrivals."""
    return [(at, event) for at, frame in taken.frames if (event := parsed(TimedEvent, frame.data)) is not None]


def ms(seconds: float) -> int:
    """As `/diag` takes times."""
    return round(seconds * 1000)
