"""The tail in memory: within its bounds it shows exactly the end of the log."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from middle_core.events import Record, RunId
from middle_core.stores.tail import TailBounds, Tails

A, B = RunId("a"), RunId("b")


def records(run_id: RunId, first: int, count: int, size: int = 10) -> list[Record]:
    """Neighbouring records."""
    return [Record(run_id, seq, 1, 0, "CUSTOM", b"x" * size) for seq in range(first, first + count)]


def test_it_answers_from_its_floor_on_and_not_before() -> None:
    tails = Tails()
    tails.publish(A, floor=5, records=records(A, 6, 4))
    assert tails.read(A, after=4, limit=10) is None
    assert tails.read(A, after=5, limit=2) == records(A, 6, 2)
    assert tails.read(A, after=7, limit=10) == records(A, 8, 2)
    assert tails.read(A, after=9, limit=10) == []
    assert tails.read(B, after=0, limit=10) is None
    assert (tails.head(A), tails.head(B)) == (9, None)


def test_a_hole_between_attempts_is_no_hole_in_the_log() -> None:
    tails = Tails()
    tails.publish(A, floor=0, records=records(A, 1, 2))
    tails.publish(A, floor=1_001, records=records(A, 1_002, 2))
    assert [record.seq for record in tails.read(A, after=1, limit=10) or []] == [2, 1_002, 1_003]
    assert [record.seq for record in tails.read(A, after=500, limit=10) or []] == [1_002, 1_003]


@given(
    published=st.lists(st.tuples(st.sampled_from([A, B]), st.integers(1, 6), st.integers(0, 400)), max_size=40),
    bounds=st.builds(TailBounds, records=st.integers(1, 8), bytes=st.integers(300, 3_000), total_bytes=st.integers(300, 4_000)),
)
def test_whatever_is_published_the_answer_is_the_log_or_none_and_the_bounds_hold(
    published: list[tuple[RunId, int, int]], bounds: TailBounds
) -> None:
    tails = Tails(bounds)
    log: dict[RunId, list[Record]] = {A: [], B: []}
    for run_id, count, size in published:
        new = records(run_id, len(log[run_id]) + 1, count, size)
        tails.publish(run_id, floor=len(log[run_id]), records=new)
        log[run_id] += new
        for name, whole in log.items():
            answers = [tails.read(name, after=after, limit=3) for after in range(len(whole) + 1)]
            assert all(answer in (None, whole[after : after + 3]) for after, answer in enumerate(answers))
            reach = answers.index([]) - next((n for n, answer in enumerate(answers) if answer is not None), 0) if [] in answers else 0
            assert reach <= bounds.records
        assert tails.bytes <= bounds.total_bytes


def test_forgetting_frees_the_bytes_and_wakes() -> None:
    tails = Tails()
    tails.publish(A, floor=0, records=records(A, 1, 5))
    tails.forget(A)
    tails.forget(B)
    assert tails.bytes == 0
    assert tails.read(A, after=5, limit=1) is None


async def test_a_wake_reaches_those_who_wait_for_that_run_and_leaves_nothing() -> None:
    tails = Tails()
    mine, gone, other = tails.watch(A), tails.watch(A), tails.watch(B)
    tails.unwatch(A, gone)
    tails.publish(A, floor=0, records=records(A, 1, 1))
    assert (mine.done(), gone.done(), other.done()) == (True, False, False)
    tails.unwatch(A, mine)
    tails.wake_all()
    assert other.done()
    assert tails._waiting == {}


async def test_a_waiter_that_was_cancelled_does_not_disturb_the_wake() -> None:
    tails = Tails()
    cancelled, waiting = tails.watch(A), tails.watch(A)
    cancelled.cancel()
    tails.wake(A)
    async with asyncio.timeout(1):
        await waiting
