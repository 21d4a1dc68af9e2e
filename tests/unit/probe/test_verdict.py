"""Property tests of the verdict: each kind of hop, with any stream, gets its own verdict."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.probe.verdict import LATE_MS, MIN_MOMENTS, Judged, Timed, Verdict, judge, judge_arrivals

FEW = settings(max_examples=60, deadline=None)
N = st.integers(8, 60)
GAP = st.floats(60, 2_000)
WAY = st.floats(0, 100)


def sent(n: int, gap: float) -> list[float]:
    return [number * gap for number in range(n)]


@FEW
@given(N, GAP, WAY, st.data())
def test_each_in_its_time_is_incremental_also_with_jitter(n: int, gap: float, way: float, data: st.DataObject) -> None:
    jitter = data.draw(st.lists(st.floats(0, min(0.3 * gap, LATE_MS - 100)), min_size=n, max_size=n))
    judged = judge([Timed(at, at + way + late) for at, late in zip(sent(n, gap), jitter, strict=True)], round_trip=0)
    assert judged.verdict is Verdict.INCREMENTAL
    assert judged.burst == 1


@FEW
@given(N, GAP, WAY)
def test_all_at_the_end_is_buffered(n: int, gap: float, way: float) -> None:
    times = sent(n, gap)
    assert judge([Timed(at, times[-1] + way) for at in times]).verdict is Verdict.BUFFERED


@FEW
@given(N, GAP, WAY)
def test_the_first_at_once_and_the_rest_at_the_end_is_buffered(n: int, gap: float, way: float) -> None:
    times = sent(n, gap)
    events = [Timed(0, way), *(Timed(at, times[-1] + way) for at in times[1:])]
    assert judge(events) == Judged(Verdict.BUFFERED, n - 1, judge(events).late, judge(events).held)


@FEW
@given(st.integers(2, 6), st.integers(4, 10), GAP, WAY)
def test_bursts_are_partial_and_their_size_is_told(size: int, count: int, gap: float, way: float) -> None:
    times = sent(size * count, gap)
    events = [Timed(at, times[(place // size + 1) * size - 1] + way) for place, at in enumerate(times)]
    judged = judge(events)
    assert (judged.verdict, judged.burst) == (Verdict.PARTIAL, size)


@FEW
@given(N, GAP, st.floats(LATE_MS + 1, 5_000), WAY)
def test_each_alone_but_late_is_delayed_beyond_the_round_trip(n: int, gap: float, late: float, round_trip: float) -> None:
    events = [Timed(at, at + round_trip + late) for at in sent(n, gap)]
    judged = judge(events, round_trip=round_trip)
    assert judged.verdict is Verdict.DELAYED
    assert judged.late == pytest.approx(late)
    assert judge(events, round_trip=round_trip + late).verdict is Verdict.INCREMENTAL


@FEW
@given(N, st.floats(100, 500), st.data())
def test_a_pause_of_the_machine_decides_nothing(n: int, gap: float, data: st.DataObject) -> None:
    """A quarter of the events, at any place, arrives together with the next event."""
    times = sent(n, gap)
    arrived = list(times)
    for place in data.draw(st.lists(st.integers(0, n - 2), max_size=n // 4, unique=True)):
        arrived[place] = times[place + 1]
    assert judge([Timed(at, max(arrived[: place + 1])) for place, at in enumerate(times)]).verdict is Verdict.INCREMENTAL


@FEW
@given(N, GAP, WAY, st.integers(2, 5))
def test_events_that_are_sent_at_once_are_no_burst(n: int, gap: float, way: float, together: int) -> None:
    events = [Timed(at, at + way) for at in sent(n, gap) for _ in range(together)]
    assert judge(events).verdict is Verdict.INCREMENTAL


@FEW
@given(st.lists(st.floats(0, 1e6), max_size=80), st.lists(st.floats(0, 1e6), min_size=80, max_size=80), st.floats(0, 1e3))
def test_any_times_have_a_verdict(sent_at: list[float], arrived_at: list[float], round_trip: float) -> None:
    events = [Timed(*both) for both in zip(sorted(sent_at), sorted(arrived_at), strict=False)]
    judged = judge(events, round_trip=round_trip)
    assert 0 <= judged.late <= judged.held
    assert 1 <= judged.burst <= max(1, len(events))
    assert (judged.burst > 1) == (judged.verdict in {Verdict.PARTIAL, Verdict.BUFFERED})


def test_bursts_that_nobody_sees_are_incremental() -> None:
    times = sent(60, 21)
    assert judge([Timed(at, times[place // 2 * 2 + 1]) for place, at in enumerate(times)]).verdict is Verdict.INCREMENTAL


@pytest.mark.parametrize(
    "events", [[], [Timed(0, 1)], [Timed(at, at) for at in sent(MIN_MOMENTS - 1, 500)], [Timed(at, at) for at in sent(40, 5)]]
)
def test_too_little_is_unclear(events: list[Timed]) -> None:
    assert judge(events).verdict is Verdict.UNCLEAR


# arrivals only ------------------------------------------------------------------------------------
@FEW
@given(N, st.floats(60, 500), st.floats(0, 3_000))
def test_arrivals_one_by_one_are_incremental(n: int, gap: float, first: float) -> None:
    """RUN_STARTED comes at once; the text comes when the model has thought."""
    assert judge_arrivals([5, *(5 + first + at for at in sent(n, gap)[1:])]).verdict is Verdict.INCREMENTAL


@FEW
@given(st.integers(10, 300), st.floats(0, 200))
def test_a_fast_model_that_takes_its_time_is_incremental(n: int, think: float) -> None:
    assert judge_arrivals([5, *(think + number * 4.9 for number in range(1, n + 90))]).verdict is Verdict.INCREMENTAL


@FEW
@given(N, st.floats(1_000, 60_000))
def test_arrivals_all_at_the_end_are_buffered(n: int, total: float) -> None:
    assert judge_arrivals([total + number * 0.1 for number in range(n)]).verdict is Verdict.BUFFERED


@FEW
@given(st.integers(4, 40), st.integers(3, 10), st.floats(300, 5_000))
def test_arrivals_in_groups_are_partial(size: int, count: int, pause: float) -> None:
    arrived = [group * pause + number * 0.1 for group in range(count) for number in range(size)]
    assert judge_arrivals(arrived) == Judged(Verdict.PARTIAL, size)


@pytest.mark.parametrize("arrived", [[], [5.0], [1, 2, 3, 4, 5, 6], [5, *(3_000 + number for number in range(100))]])
def test_arrivals_that_do_not_tell_are_unclear(arrived: list[float]) -> None:
    """In the last case the cause may be a hop, or a model that thinks for long and then is fast."""
    assert judge_arrivals(arrived).verdict is Verdict.UNCLEAR
