"""Which timeout cut a stream: right for every pair of timeouts that the silences can show."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from middle_core.probe.cuts import KNOWN, find_cuts, judge_heartbeats, name_cutter, same
from middle_core.probe.report import Cut, Level, Silence

LADDER = (5.0, 15.0, 35.0)
TIMES = st.one_of(st.floats(2, 60), st.just(math.inf))


def climbed(idle: float, total: float) -> list[Silence]:
    """What an ideal hop with these timeouts does to the silent streams."""
    rungs = []
    for seconds in LADDER:
        cut = min(idle, total)
        fell = cut < seconds
        rungs.append(
            Silence(kind="silent", asked_s=seconds, survived=not fell, cut_after_s=cut if fell else None, quiet_s=cut if fell else None)
        )
    fell = total < LADDER[-1]
    talking = Silence(
        kind="talking", asked_s=LADDER[-1], survived=not fell, cut_after_s=total if fell else None, quiet_s=0.5 if fell else None
    )
    return [*rungs, talking]


@settings(max_examples=60, deadline=None)
@given(TIMES, TIMES)
def test_each_timeout_within_the_ladder_is_found_and_no_other(idle: float, total: float) -> None:
    assume(math.isinf(min(idle, total)) or not same(idle, total))
    found = {cut.kind: cut.after_s for cut in find_cuts(climbed(idle, total), heartbeat_s=1.0)}
    expected = {}
    if idle < total and idle < LADDER[-1]:
        expected["idle"] = pytest.approx(idle, abs=0.1)
    if total < LADDER[-1]:
        expected["total"] = pytest.approx(total, abs=0.1)
    assert found == expected


@pytest.mark.parametrize(
    ("heartbeat_s", "level", "words"),
    [(1.0, Level.OK, "keep them open"), (10.0, Level.BAD, "MIDDLE_CORE_HEARTBEAT_S"), (math.inf, Level.BAD, "do not get through")],
)
def test_an_idle_timeout_is_bad_where_heartbeats_do_not_help(heartbeat_s: float, level: Level, words: str) -> None:
    [cut] = find_cuts(climbed(12, math.inf), heartbeat_s=heartbeat_s)
    assert cut.level is level
    assert words in cut.words


CUT = Cut(kind="idle", after_s=5, level=Level.OK, words="Words.")


@pytest.mark.parametrize(
    ("body", "who"),
    [
        ("stream timeout", "Envoy's stream idle timeout"),
        ("upstream request timeout", "Envoy's route timeout"),
        ("<html><center>nginx/1.22.1</center>", "nginx"),
        ("<html><body><h1>504 Gateway Time-out</h1>\nThe server didn't respond in time.\n</body></html>", "HAProxy"),
        ("upstream connect error or disconnect/reset before headers. reset reason: connection failure", "connection to the server broke"),
        ("<center>Microsoft-Azure-Application-Gateway/v2</center>", "Application Gateway"),
    ],
)
def test_who_cut_is_read_from_the_answer(body: str, who: str) -> None:
    named = name_cutter(CUT, 504, body)
    assert who in named.words
    assert named.words.endswith("Words.")
    assert (named.status, named.body) == (504, body)


def test_an_unknown_answer_is_shown_and_nobody_is_blamed() -> None:
    assert name_cutter(CUT, 502, "hm").words == "Words."
    assert len({mark for mark, _ in KNOWN}) == len(KNOWN)


def test_heartbeats() -> None:
    survived = Silence(kind="heartbeats", asked_s=35, survived=True)
    told = judge_heartbeats([100, 10_100, 20_105, 30_100], survived, told_s=10)
    assert (told.seen, told.interval_ms, told.level) == (3, 10_000, Level.OK)
    assert judge_heartbeats([100], survived, told_s=10).level is Level.BAD
    assert judge_heartbeats([100], survived, told_s=30).level is Level.OK, "the silence was too short for one"
    cut = Silence(kind="heartbeats", asked_s=35, survived=False, cut_after_s=15, quiet_s=5)
    assert judge_heartbeats([100, 10_100], cut, told_s=10).level is Level.WARN
