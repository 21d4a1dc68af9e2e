"""Cursors as clients send them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middle_core.errors import InvalidCursor
from middle_core.eventlog.cursor import check_cursor, parse_cursor
from middle_core.events import Record, RunId

RUN = RunId("01a22d26-4bbb-7053-84e2-003cff88b041")


@pytest.mark.parametrize("text", [None, "", "  ", "-1", "0", f"{RUN}:0", f"{RUN}:-1"])
def test_these_mean_from_the_beginning(text: str | None) -> None:
    assert parse_cursor(text, RUN) == 0


@pytest.mark.parametrize(("text", "seq"), [("7", 7), (f"{RUN}:7", 7), (f" {RUN.upper()}:0012 ", 12)])
def test_these_are_places(text: str, seq: int) -> None:
    assert parse_cursor(text, RUN) == seq


@pytest.mark.parametrize(
    "text",
    ["x", "-2", "1.5", "1e3", "+1", "0x10", f"{RUN}:", ":5", f"{RUN}:5:6", "٣", "²", "9" * 19, "5\n6", "5\x00", f"{RUN}", "a" * 10_000],
)
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor, match="not a place in this run"):
        parse_cursor(text, RUN)


def test_another_runs_cursor_is_refused() -> None:
    with pytest.raises(InvalidCursor, match="another run"):
        parse_cursor("01a22d26-4bbb-7053-84e2-003cff88b042:5", RUN)


@given(st.integers(1, 10**17))
def test_what_a_record_says_is_read_back(seq: int) -> None:
    assert parse_cursor(Record(RUN, seq, 1, 0, "CUSTOM", b"{}").cursor, RUN) == seq


@given(st.text())
def test_any_text_is_a_place_or_a_bad_request(text: str) -> None:
    try:
        place = parse_cursor(text, RUN)
    except InvalidCursor as refusal:
        place = 0 if refusal.status == 400 else -1
    assert place >= 0


def test_the_end_is_the_last_place() -> None:
    check_cursor(5, last_seq=5)
    with pytest.raises(InvalidCursor, match="beyond the end"):
        check_cursor(6, last_seq=5)
