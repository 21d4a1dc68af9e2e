"""What cut a stream: the hop's idle timeout, its total timeout, and whose. Pure.

An idle timeout ends a stream on which nothing came for a while; a byte starts it anew. A total timeout ends every stream at
the same age, however much comes. So a stream that talks all the time is ended by a total timeout only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from middle_core.probe.report import Cut, Heartbeats, Level, Silence

SAME: Final = 0.15
"""Cuts within this part of each other, or within a second, have one cause."""

KNOWN: Final = (
    ("stream timeout", "Envoy's stream idle timeout (the ingress of Azure Container Apps: 240 s)"),
    ("upstream request timeout", "Envoy's route timeout, which counts the whole request"),
    ("upstream connect error or disconnect", "Envoy, whose connection to the server broke"),
    ("no healthy upstream", "Envoy, which knows no server that works"),
    ("the server didn't respond in time", "HAProxy's `timeout server`"),
    ("microsoft-azure-application-gateway", "Azure Application Gateway's request timeout"),
    ("<center>nginx", "nginx's `proxy_read_timeout`"),
)
"""What stands in an answer, and who writes it."""


def find_cuts(silences: Sequence[Silence], *, heartbeat_s: float) -> list[Cut]:
    """The limits that the streams met, without `status` and `body`. heartbeat_s: how often the server says something; inf: that does not get through."""
    cuts = []
    total = min((one.cut_after_s for one in silences if one.kind == "talking" and one.cut_after_s is not None), default=None)
    idle = min((one.quiet_s for one in silences if one.kind == "silent" and one.quiet_s is not None), default=None)
    if idle is not None and not (total is not None and (idle >= total or same(idle, total))):
        cuts.append(_idle(idle, heartbeat_s))
    if total is not None:
        cuts.append(_total(total))
    return cuts


def name_cutter(cut: Cut, status: int, body: str) -> Cut:
    """The cut with what a request gets that is cut before its headers, and whose answer that is, if it is known."""
    who = next((who for mark, who in KNOWN if mark in body.lower()), "")
    words = f"It is {who}. {cut.words}" if who else cut.words
    return cut.model_copy(update={"status": status, "body": body, "words": words})


def judge_heartbeats(beats_ms: Sequence[float], silence: Silence, *, told_s: float) -> Heartbeats:
    """beats_ms: when the event before the silence came, and each heartbeat in it. told_s: how often the server means to send one."""
    if len(beats_ms) < 2:
        long = silence.asked_s >= 2 * told_s
        words = (
            f"None came in {silence.asked_s:.0f} s of silence: a hop swallows them, and an idle timeout will end a stream while its agent thinks."
            if long
            else f"The silence of {silence.asked_s:.0f} s was too short to tell."
        )
        return Heartbeats(interval_ms=None, seen=0, level=Level.BAD if long else Level.OK, words=words)
    interval = median(after - before for before, after in pairwise(beats_ms))
    words = "" if silence.survived else "The stream was cut all the same."
    level = Level.OK if silence.survived else Level.WARN
    return Heartbeats(interval_ms=round(interval, 1), seen=len(beats_ms) - 1, level=level, words=words)


def same(one: float, other: float) -> bool:
    """Whether two times, in seconds, have one cause."""
    return abs(one - other) <= max(1.0, SAME * max(one, other))


def _idle(after_s: float, heartbeat_s: float) -> Cut:
    safe = after_s > 2 * heartbeat_s
    cut = f"Streams that say nothing for {after_s:.3g} s are cut"
    if math.isinf(heartbeat_s):
        words = f"{cut}, and heartbeats do not get through."
    elif safe:
        words = f"{cut}. Heartbeats every {heartbeat_s:.3g} s keep them open."
    else:
        words = (
            f"{cut}, and heartbeats come every {heartbeat_s:.3g} s only. Raise the hop's idle timeout, or set MIDDLE_CORE_HEARTBEAT_S "
            f"and FRONTEND_CORE_HEARTBEAT_S below {after_s / 2:.3g}."
        )
    return Cut(kind="idle", after_s=round(after_s, 1), level=Level.OK if safe else Level.BAD, words=words)


def _total(after_s: float) -> Cut:
    words = (
        f"Every stream is cut at the age of {after_s:.3g} s, however much it says: heartbeats do not help. Raise or take away the hop's request "
        f"timeout, or set MIDDLE_CORE_MAX_STREAM_S below {after_s:.3g} so that streams end cleanly and attach again."
    )
    return Cut(kind="total", after_s=round(after_s, 1), level=Level.WARN, words=words)
