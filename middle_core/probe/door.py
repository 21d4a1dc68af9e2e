"""One real door: any AG-UI endpoint, or `/chat`. A run is started and its events are timed as they come.

It knows of a foreign endpoint what anybody does: AG-UI's request, and that each frame is a JSON object with a type. Where events
say when they were made (AG-UI's `timestamp`, `at` of `/chat`), that is compared, else the arrivals alone. What becomes of a run
whose client left cannot be seen from outside, so it is not asked. Each run costs the model one short answer.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from typing import Any, Final

import httpx

from middle_core.probe import words
from middle_core.probe.headers import check_headers
from middle_core.probe.options import ENCODINGS, Options, Target
from middle_core.probe.report import Heartbeats, Hop, Level, Stream
from middle_core.probe.streams import stream_of
from middle_core.probe.verdict import Judged, Timed, Verdict, judge, judge_arrivals
from middle_core.probe.wire import Taken, Unprobed, encoding_of, take

QUIET_S: Final = 60.0
ENOUGH_MS: Final = 10_000.0
"""So much of an answer is enough to judge it."""
CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")


class DoorHop:
    """The probe of one address that takes a POST and answers with events."""

    def __init__(self, client: httpx.AsyncClient, target: Target, options: Options) -> None:
        self._client = client
        self.target = target
        self._options = options
        self.threads: list[str] = []
        """Those that were begun."""

    async def probe(self) -> Hop:
        """One run for each encoding, one after the other. Raises Unprobed where nothing could be learnt."""
        both = [await self._run(encoding) for encoding in ENCODINGS]
        (_, plain), (_, compressed) = both
        return Hop(
            url=self.target.url,
            door=self.target.door,
            http_version=plain.http_version,
            streams=[stream for stream, _ in both],
            heartbeats=heartbeats([taken for _, taken in both]),
            headers=check_headers(plain.headers | encoding_of(compressed)),
        )

    async def _run(self, encoding: str) -> tuple[Stream, Taken]:
        thread = f"probe-{uuid.uuid4()}"
        self.threads.append(thread)
        url, body = self._request(thread)
        taken = await take(
            self._client,
            "POST",
            url,
            headers={
                **self._options.headers(diag=False),
                "accept": "text/event-stream",
                "accept-encoding": encoding,
                "content-type": "application/json",
            },
            body=json.dumps(body).encode(),
            quiet_s=QUIET_S,
            total_s=self._options.run_s,
            until=lambda taken: bool(taken.frames) and taken.last_ms - taken.frames[0][0] > ENOUGH_MS,
        )
        if not taken.streaming or (not taken.frames and not taken.undecodable):
            raise Unprobed(*words.refusal(taken, diag=False))
        events = [event_of(frame.data) for _, frame in taken.frames]
        arrived = [at for at, _ in taken.frames]
        sent, judged = judged_by(arrived, events)
        failed = next((event for event in events if event.get("type") in {"RUN_ERROR", "error"}), None)
        if failed is not None and judged.verdict is Verdict.UNCLEAR:
            code = str(failed.get("code", ""))
            raise Unprobed(
                "run_error", f"The run failed: {code if CODE.fullmatch(code) else 'RUN_ERROR'}. Mend the agent, then probe again."
            )
        return stream_of(encoding, taken, judged, sent=sent, arrived=arrived), taken

    def _request(self, thread: str) -> tuple[str, dict[str, Any]]:
        if self.target.door == "chat":
            return f"{self.target.url}?tokens=1", {"message": self._options.prompt, "thread_id": thread}
        message = {"id": str(uuid.uuid4()), "role": "user", "content": self._options.prompt}
        return self.target.url, {
            "threadId": thread,
            "runId": str(uuid.uuid4()),
            "messages": [message],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }


def event_of(data: bytes) -> dict[str, Any]:
    """The frame's object. Raises Unprobed for a frame that is none: this is another protocol."""
    try:
        event = json.loads(data)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise Unprobed("not_agui", "It streams, but not events of AG-UI or /chat. Is it the right address?")
    return event


def judged_by(arrived: Sequence[float], events: Sequence[dict[str, Any]]) -> tuple[list[float], Judged]:
    """When each was made, where that is known, and the verdict.

    By the times that the events carry, if all do and they tell; else by the arrivals. Clocks differ, so the quickest event is on time.
    """
    times = [event.get("timestamp", event.get("at")) for event in events]
    made = [float(at) for at in times if isinstance(at, int | float)]
    if made and len(made) == len(arrived):
        sent = [at - made[0] for at in made]
        ahead = min(came - at for at, came in zip(sent, arrived, strict=True))
        judged = judge([Timed(at, came - ahead) for at, came in zip(sent, arrived, strict=True)])
        if judged.verdict is not Verdict.UNCLEAR:
            return sent, judged
    return [], judge_arrivals(arrived)


def heartbeats(streams: Sequence[Taken]) -> Heartbeats:
    """Comments that came after a silence. A first comment is a greeting."""
    gaps = []
    for taken in streams:
        bytes_at = [at for at, _ in taken.reads]
        for beat in taken.comments[1:]:
            before = max((at for at in bytes_at if at < beat), default=None)
            if before is not None:
                gaps.append(beat - before)
    if not gaps:
        return Heartbeats(interval_ms=None, seen=0, level=Level.OK, words="The answer was never silent for long enough to need one.")
    return Heartbeats(interval_ms=round(sorted(gaps)[len(gaps) // 2], 1), seen=len(gaps), level=Level.OK, words="")
