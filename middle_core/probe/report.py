"""What the probe found, as data: the schema of `--json`, what is good and what is bad about it, and the exit status.

Pure. Names and meanings are stable: within version "1" fields are only added. Times are milliseconds unless the name ends in `_s`.
"""

from __future__ import annotations

import math
from enum import IntEnum, StrEnum
from itertools import pairwise
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from middle_core.probe.verdict import Verdict

BROKEN: Final = frozenset({"closed", "reset"})


class Level(StrEnum):
    """How much a finding matters: bad ends the program with status 1."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


class Exit(IntEnum):
    """The program's exit status. A bad verdict outranks a hop that could not be probed."""

    GOOD = 0
    BAD = 1
    NOT_PROBED = 2


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Stream(_Part):
    """One stream of events. sent_ms, arrived_ms: of each event, since the request; sent_ms is empty where the sender does not tell.

    What this request took longer to arrive than the quickest one is taken off arrived_ms.
    """

    accept_encoding: str
    content_encoding: str | None
    verdict: Verdict
    burst: int = Field(description="Events that come at once; 1 where each comes alone.")
    late_ms: float = Field(description="The median event's time on the way, beyond the network's round trip.")
    held_ms: float = Field(description="The worst event's.")
    headers_ms: float | None
    first_byte_ms: float | None
    took_ms: float
    ended: str = Field(description="ended by the sender; closed or reset before its end; left, or patience: by the probe.")
    wire_reads: int = Field(description="Pieces in which the bytes came, before they were decompressed.")
    wire_bytes: int
    sent_ms: list[float]
    arrived_ms: list[float]
    words: str


class Silence(_Part):
    """A stream that was silent for a while, or (heartbeats, talking) never quite."""

    kind: Literal["silent", "heartbeats", "talking"]
    asked_s: float
    survived: bool
    cut_after_s: float | None = Field(default=None, description="Since the request.")
    quiet_s: float | None = Field(default=None, description="Since the last byte before the cut.")
    how: str = Field(default="", description="reset, closed, ended, or status <n>.")


class Cut(_Part):
    """A limit of the hop."""

    kind: Literal["idle", "total"]
    after_s: float
    status: int | None = Field(default=None, description="What a request gets that is cut before its headers.")
    body: str = ""
    level: Level
    words: str


class Heartbeats(_Part):
    """What came while the server was silent. interval_ms: None where none came."""

    interval_ms: float | None
    seen: int
    level: Level
    words: str


class Cancel(_Part):
    """What became of a stream whose client left. took_ms: until its task was cancelled, at most; None: it was not, within the wait."""

    kind: Literal["talking", "silent"]
    took_ms: float | None
    level: Level
    words: str


class HeaderCheck(_Part):
    """One header of the stream's response."""

    name: str
    value: str | None
    level: Level
    words: str


class Problem(_Part):
    """Why a hop could not be probed."""

    code: str
    words: str


class Hop(_Part):
    """All about one URL."""

    url: str
    door: Literal["diag", "agui", "chat"]
    http_version: str = ""
    streams: list[Stream] = []
    heartbeats: Heartbeats | None = None
    silences: list[Silence] = []
    cuts: list[Cut] = []
    cancels: list[Cancel] = []
    headers: list[HeaderCheck] = []
    problem: Problem | None = None

    @property
    def verdict(self) -> Verdict | None:
        """Of its streams the worst."""
        worst = [Verdict.INCREMENTAL, Verdict.UNCLEAR, Verdict.DELAYED, Verdict.PARTIAL, Verdict.BUFFERED]
        return max((stream.verdict for stream in self.streams), key=worst.index, default=None)

    @property
    def level(self) -> Level:
        """Of its findings the worst."""
        levels = [*(cut.level for cut in self.cuts), *(one.level for one in self.cancels), *(check.level for check in self.headers)]
        if self.heartbeats is not None:
            levels.append(self.heartbeats.level)
        levels += [Level.BAD for stream in self.streams if stream.ended in BROKEN]
        if self.verdict in {Verdict.DELAYED, Verdict.PARTIAL, Verdict.BUFFERED} or Level.BAD in levels:
            return Level.BAD
        return Level.WARN if Level.WARN in levels else Level.OK


class Change(_Part):
    """The first hop at which something becomes different from the hop before it. hop: its place in `hops`, from 0."""

    what: str
    hop: int
    url: str
    before: str
    after: str


class Report(_Part):
    """The whole answer. bound_s: the most that it could have taken."""

    version: Literal["1"] = "1"
    exit_code: int
    hops: list[Hop]
    changes: list[Change]
    took_s: float
    bound_s: float


def report(hops: list[Hop], *, took_s: float, bound_s: float) -> Report:
    """The hops, what changes between them, and what it means for the exit status."""
    return Report(exit_code=exit_code(hops), hops=hops, changes=changes(hops), took_s=round(took_s, 1), bound_s=round(bound_s, 1))


def exit_code(hops: list[Hop]) -> Exit:
    """See `Exit`. A stream on which there was too little to judge was not probed."""
    if any(hop.level is Level.BAD for hop in hops):
        return Exit.BAD
    if not hops or any(hop.problem is not None or hop.verdict in {None, Verdict.UNCLEAR} for hop in hops):
        return Exit.NOT_PROBED
    return Exit.GOOD


def changes(hops: list[Hop]) -> list[Change]:
    """For each thing that can be compared, the first hop at which it changes. Hops stand from the inside to the outside.

    A door is compared with the same door of the hop before it that could be probed.
    """
    found: dict[tuple[str, str], Change] = {}
    for door in ("diag", "agui", "chat"):
        probed = [(place, hop) for place, hop in enumerate(hops) if hop.door == door and hop.problem is None]
        for (_, before), (place, after) in pairwise(probed):
            mine = facts(after)
            for what, was in facts(before).items():
                now = mine.get(what, was)
                if differ(was, now) and (door, what) not in found:
                    found[door, what] = Change(what=what, hop=place, url=after.url, before=shown(was), after=shown(now))
    return list(found.values())


def facts(hop: Hop) -> dict[str, str | float]:
    """What is compared between hops, by name; a timeout in seconds."""
    told: dict[str, str | float] = {f"verdict with {stream.accept_encoding}": said(stream) for stream in hop.streams}
    told |= {f"content-encoding with {stream.accept_encoding}": stream.content_encoding or "none" for stream in hop.streams}
    told |= {f"cancel while {one.kind}": "noticed" if one.took_ms is not None else "not noticed" for one in hop.cancels}
    told |= {f"header {check.name}": check.value or "absent" for check in hop.headers if check.name != "content-encoding"}
    if hop.silences:
        told |= {"idle timeout": "none seen", "total timeout": "none seen"} | {f"{cut.kind} timeout": cut.after_s for cut in hop.cuts}
    return told


def differ(one: str | float, other: str | float) -> bool:
    """Whether two facts differ. Measured times within a second, or within a seventh of each other, do not."""
    if isinstance(one, float) and isinstance(other, float):
        return not math.isclose(one, other, rel_tol=0.15, abs_tol=1.0)
    return one != other


def shown(fact: str | float) -> str:
    """A fact as it is written."""
    return fact if isinstance(fact, str) else f"{fact:.1f} s"


def said(stream: Stream) -> str:
    """The verdict as it is written."""
    return f"PARTIAL(burst {stream.burst})" if stream.verdict is Verdict.PARTIAL else stream.verdict.value
