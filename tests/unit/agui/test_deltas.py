"""Which neighbouring deltas become one event."""

from __future__ import annotations

import pytest

from middle_core.agui.deltas import DELTAS, joins, merge_deltas
from middle_core.events import Event

KINDS = sorted(DELTAS.items())


def piece(kind: str, key: str, delta: str, thing: str = "m") -> Event:
    return {"type": kind, key: thing, "delta": delta}


@pytest.mark.parametrize(("kind", "key"), KINDS)
def test_neighbours_of_one_thing_are_joined_and_the_input_is_left_alone(kind: str, key: str) -> None:
    given = [piece(kind, key, "a"), piece(kind, key, "b"), piece(kind, key, "c", "other"), piece(kind, key, "d")]
    before = [dict(one) for one in given]
    assert merge_deltas(given) == [piece(kind, key, "ab"), piece(kind, key, "c", "other"), piece(kind, key, "d")]
    assert given == before


@pytest.mark.parametrize(("kind", "key"), KINDS)
def test_a_joined_delta_has_a_bound(kind: str, key: str) -> None:
    given = [piece(kind, key, "aaa"), piece(kind, key, "bb"), piece(kind, key, "cccccc")]
    assert [one["delta"] for one in merge_deltas(given, max_chars=5)] == ["aaabb", "cccccc"]
    assert joins(given[0], given[1], max_chars=5)
    assert not joins(given[0], given[1], max_chars=4)


def test_nothing_is_joined_across_another_event() -> None:
    kind, key = KINDS[0]
    given: list[Event] = [piece(kind, key, "a"), {"type": "STEP_STARTED", "stepName": "s"}, piece(kind, key, "b")]
    assert merge_deltas(given) == given
    assert not joins(given[1], given[1])


def test_other_kinds_are_not_joined() -> None:
    (kind, key), (other, other_key) = KINDS[0], KINDS[1]
    assert not joins(piece(kind, key, "a"), piece(other, other_key, "b"))
