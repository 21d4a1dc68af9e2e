"""How a stream arrived: a pure function of the times at which its events were sent and came.

It knows no HTTP, no clock and no event vocabulary. All times are milliseconds.

`judge` has both times. Events that arrive closer together than a quarter of the time between their sending were held back
together: they form a burst. A burst's size for the verdict is the one in which the median event finds itself, so that a pause
of the machine here and there decides nothing. `judge_arrivals` has the arrivals only, as of a foreign endpoint; it says less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median, median_low
from typing import Final

GLUED: Final = 0.25
"""Events belong to one burst if they arrive within this part of the time between their sending."""
WHOLE: Final = 0.8
"""A burst with this part of all events is the whole stream, held back."""
HELD_MS: Final = 50.0
"""What a burst holds back for less than this, nobody sees."""
LATE_MS: Final = 150.0
"""Later than this, beyond the network's own round trip, is seen."""
MOMENT_MS: Final = 20.0
"""Events sent within this time count as sent at once."""
MIN_MOMENTS: Final = 5
MIN_SPAN_MS: Final = 400.0

AT_ONCE: Final = 0.9
"""Arrivals only: a first event that comes after this part of the whole time came with all others."""
PAUSE_MS: Final = 250.0
CLOSE_MS: Final = 50.0
MANY: Final = 4


class Verdict(StrEnum):
    """What the way did to the stream; UNCLEAR: there was too little of it to tell."""

    INCREMENTAL = "INCREMENTAL"
    DELAYED = "DELAYED"
    PARTIAL = "PARTIAL"
    BUFFERED = "BUFFERED"
    UNCLEAR = "UNCLEAR"


@dataclass(frozen=True, slots=True)
class Timed:
    """sent: since the server had the request. arrived: since the request was sent. Their difference is the time on the way."""

    sent: float
    arrived: float


@dataclass(frozen=True, slots=True)
class Judged:
    """burst: events that come at once, 1 where each comes alone. late: the median event's lateness; held: the worst one's."""

    verdict: Verdict
    burst: int = 1
    late: float = 0.0
    held: float = 0.0


def judge(events: Sequence[Timed], *, round_trip: float = 0.0) -> Judged:
    """The verdict on one stream, in the order of sending. round_trip: the network's own share of the time on the way."""
    if not events:
        return Judged(Verdict.UNCLEAR)
    way = [max(0.0, one.arrived - one.sent - round_trip) for one in events]
    late, held = median(way), max(way)
    moments = _moments(events)
    if len(moments) < MIN_MOMENTS or events[-1].sent - events[0].sent < MIN_SPAN_MS:
        return Judged(Verdict.UNCLEAR, 1, late, held)
    bursts = _bursts(moments)
    if max(map(len, bursts)) >= WHOLE * len(moments):
        return Judged(Verdict.BUFFERED, max(sum(one.count for one in burst) for burst in bursts), late, held)
    typical = sorted((burst for burst in bursts for _ in burst), key=len)[(len(moments) - 1) // 2]
    if len(typical) > 1 and typical[-1].sent - typical[0].sent >= HELD_MS:
        return Judged(Verdict.PARTIAL, sum(one.count for one in typical), late, held)
    return Judged(Verdict.DELAYED if late > LATE_MS else Verdict.INCREMENTAL, 1, late, held)


def judge_arrivals(arrived: Sequence[float]) -> Judged:
    """The verdict on a stream of which only the arrivals are known, since the request was sent.

    A first event that comes with the last one: BUFFERED. Groups with silence between them: PARTIAL. It cannot see a delay.
    """
    if len(arrived) < MIN_MOMENTS or arrived[-1] < MIN_SPAN_MS:
        return Judged(Verdict.UNCLEAR)
    if arrived[0] >= AT_ONCE * arrived[-1]:
        return Judged(Verdict.BUFFERED, len(arrived))
    groups = [[arrived[0]]]
    for before, now in pairwise(arrived):
        if now - before < CLOSE_MS:
            groups[-1].append(now)
        else:
            groups.append([now])
    if len(groups) > 2:
        size = median_low(sorted(len(group) for group in groups for _ in group))
        pause = median(after[0] - before[-1] for before, after in pairwise(groups))
        return Judged(Verdict.PARTIAL, size) if size >= MANY and pause >= PAUSE_MS else Judged(Verdict.INCREMENTAL)
    # One or two groups: the text came in one go. Whether its sender or a hop is to blame cannot be seen from here.
    return Judged(Verdict.INCREMENTAL if max(group[-1] - group[0] for group in groups) >= MIN_SPAN_MS else Verdict.UNCLEAR)


@dataclass(frozen=True, slots=True)
class _Moment:
    """Events sent at once; complete when the last of them has come."""

    sent: float
    arrived: float
    count: int


def _moments(events: Sequence[Timed]) -> list[_Moment]:
    moments: list[_Moment] = []
    for one in events:
        if moments and one.sent - moments[-1].sent < MOMENT_MS:
            before = moments[-1]
            moments[-1] = _Moment(before.sent, max(before.arrived, one.arrived), before.count + 1)
        else:
            moments.append(_Moment(one.sent, one.arrived, 1))
    return moments


def _bursts(moments: Sequence[_Moment]) -> list[list[_Moment]]:
    bursts = [[moments[0]]]
    for before, now in pairwise(moments):
        if now.arrived - before.arrived < GLUED * (now.sent - before.sent):
            bursts[-1].append(now)
        else:
            bursts.append([now])
    return bursts
