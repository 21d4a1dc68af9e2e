"""Exit statuses and comparisons, over reports made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.probe.report import Cancel, Cut, Exit, Hop, Level, Problem, Report, Silence, Stream, changes, exit_code, report
from middle_core.probe.text import render
from middle_core.probe.verdict import Verdict


def stream(verdict: Verdict = Verdict.INCREMENTAL, **more: Any) -> Stream:
    base: dict[str, Any] = {
        "accept_encoding": "identity",
        "content_encoding": None,
        "verdict": verdict,
        "burst": 1,
        "late_ms": 0,
        "held_ms": 0,
        "headers_ms": 1,
        "first_byte_ms": 2,
        "took_ms": 3,
        "ended": "ended",
        "wire_reads": 9,
        "wire_bytes": 99,
        "sent_ms": [],
        "arrived_ms": [],
        "words": "Words.",
    }
    return Stream(**{**base, **more})


def hop(*verdicts: Verdict, url: str = "http://a", **more: Any) -> Hop:
    return Hop(**{"url": url, "door": "diag", "streams": [stream(verdict) for verdict in verdicts], **more})


GOOD = hop(Verdict.INCREMENTAL)
AWAY = Hop(url="http://b", door="diag", problem=Problem(code="connect", words="Refused."))
LEFT = Cancel(kind="talking", took_ms=None, level=Level.BAD, words="")


@pytest.mark.parametrize(
    ("hops", "status"),
    [
        ([GOOD], Exit.GOOD),
        ([GOOD, GOOD], Exit.GOOD),
        ([hop(Verdict.INCREMENTAL, cancels=[LEFT.model_copy(update={"level": Level.WARN})])], Exit.GOOD),
        ([hop(Verdict.DELAYED)], Exit.BAD),
        ([hop(Verdict.PARTIAL)], Exit.BAD),
        ([GOOD, hop(Verdict.INCREMENTAL, Verdict.BUFFERED)], Exit.BAD),
        ([hop(Verdict.INCREMENTAL, cancels=[LEFT])], Exit.BAD),
        ([Hop(url="http://a", door="agui", streams=[stream(ended="reset")])], Exit.BAD),
        ([hop(Verdict.BUFFERED), AWAY], Exit.BAD),
        ([GOOD, AWAY], Exit.NOT_PROBED),
        ([hop(Verdict.UNCLEAR)], Exit.NOT_PROBED),
        ([], Exit.NOT_PROBED),
    ],
)
def test_exit_status(hops: list[Hop], status: Exit) -> None:
    assert exit_code(hops) is status


def test_only_the_first_change_of_each_kind_is_named_and_hops_that_were_not_probed_are_passed_over() -> None:
    hops = [GOOD, AWAY, hop(Verdict.BUFFERED, url="http://c"), hop(Verdict.INCREMENTAL, url="http://d")]
    [change] = changes(hops)
    assert (change.hop, change.url, change.before, change.after) == (2, "http://c", "INCREMENTAL", "BUFFERED")


def cut(after_s: float) -> Hop:
    rung = Silence(kind="silent", asked_s=35, survived=False, cut_after_s=after_s, quiet_s=after_s)
    return hop(Verdict.INCREMENTAL, silences=[rung], cuts=[Cut(kind="idle", after_s=after_s, level=Level.OK, words="")])


@pytest.mark.parametrize(("inner", "outer", "named"), [(15.4, 15.6, False), (240.0, 238.0, False), (60.0, 30.0, True)])
def test_a_timeout_that_is_measured_twice_is_no_change(inner: float, outer: float, named: bool) -> None:
    assert [change.what for change in changes([cut(inner), cut(outer)])] == (["idle timeout"] if named else [])


def test_a_door_is_compared_with_its_like() -> None:
    chat = Hop(url="http://c", door="chat", streams=[stream(Verdict.BUFFERED)])
    assert changes([GOOD, chat]) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*map(hop, Verdict), AWAY]), max_size=5), st.floats(0, 1e3))
def test_every_report_can_be_read_back_and_shown(hops: list[Hop], took_s: float) -> None:
    made = report(hops, took_s=took_s, bound_s=took_s)
    assert Report.model_validate_json(made.model_dump_json()) == made
    text = render(made)
    assert all(one.url in text for one in hops)
    assert len(made.changes) <= 1
