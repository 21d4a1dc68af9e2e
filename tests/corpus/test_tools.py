"""The corpus's own tools: a comparison that finds nothing proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus.browser import folded
from tests.corpus.drift import chosen, lines, requirements
from tests.corpus.normal import essence, stable
from tests.corpus.playing import Played
from tests.fakes import agui_events as ev

ID, OTHER = "6f1c2a0e-8a55-4a6b-9d6e-0d4b8f3f1c11", "97df8706ff710c9fd6920c66454c31d5"
TEXT = [ev.text_start(ID), ev.text_part(ID, "a"), ev.text_part(ID, "b"), ev.text_end(ID)]
CALL = [ev.call_start("c"), ev.call_part("c", '{"q": 1}'), ev.call_end("c"), ev.result("c", "found")]


def played(*events: dict[str, Any]) -> Played:
    end = [] if any(one["type"] == "RUN_ERROR" for one in events) else [{"type": "RUN_FINISHED"}]
    return Played(streams=[[*events, *end]], shown=[folded([], events)])


def test_random_ids_become_numbers_wherever_they_stand_and_times_go() -> None:
    text = [*TEXT, ev.custom_event("x", {"of": f"lc_run--{ID}", "by": f"call_{OTHER}", "latencyMs": 7})]
    (stream,) = stable(played(*text)).streams
    assert [one.get("delta") for one in stream] == [None, "ab", None, None, None]
    assert {one["messageId"] for one in stream if "messageId" in one} == {"id-1"}
    assert stream[-2]["value"] == {"of": "lc_run--id-1", "by": "call_id-2"}


@pytest.mark.parametrize(
    ("changed", "aspects"),
    [
        ([ev.text_start(ID), ev.text_part(ID, "a"), ev.text_end(ID), *CALL], {"texts", "messages"}),
        ([*TEXT, ev.call_start("c"), ev.call_end("c"), ev.result("c", "found")], {"calls", "messages"}),
        ([*TEXT, *CALL[:-1], ev.result("c", "lost")], {"results", "messages"}),
        ([*TEXT, *CALL, {"type": "RUN_ERROR", "message": "no"}], {"end"}),
        ([*CALL, *TEXT], {"order", "messages"}),
        ([ev.step_start("a"), *TEXT, *CALL], {"steps"}),
        ([ev.thought_start("r"), ev.thought_part("r", "hm"), ev.thought_end("r"), *TEXT, *CALL], {"reasoning", "order"}),
    ],
)
def test_each_aspect_sees_what_it_is_for(changed: list[dict[str, Any]], aspects: set[str]) -> None:
    beside = ("order", "steps")
    mine, other = essence(played(*TEXT, *CALL), beside), essence(played(*changed), beside)
    assert {aspect for aspect in mine if mine[aspect] != other[aspect]} == aspects


def test_ids_and_the_number_of_deltas_do_not_count() -> None:
    other = [ev.text_start(OTHER), ev.text_part(OTHER, "ab"), ev.text_end(OTHER)]
    assert essence(played(*TEXT)) == essence(played(*other))


def test_a_snapshot_keeps_the_browsers_order_and_its_reasoning() -> None:
    user, answer = {"id": "u", "role": "user", "content": "hi"}, {"id": "a", "role": "assistant", "content": "new"}
    thought = {"id": "r", "role": "reasoning", "content": "hm"}
    shown = folded([answer | {"content": "old"}, thought, {"id": "gone", "role": "assistant", "content": "x"}], [ev.history(user, answer)])
    assert shown == [answer, thought, user]


def test_versions_to_look_at() -> None:
    known = ["5", "4", "3", "2", "1"]
    assert chosen(known, "5") == ["4", "3"]
    assert chosen(known, "3") == ["5", "4", "2", "1"]
    assert chosen(known, "1") == ["5", "4"], "the newest of those that are newer"


def test_the_lock_with_one_package_replaced() -> None:
    locked = (
        "# a comment\na==1 \\\n    --hash=sha256:00\n    # via b\ncopilotkit==0.1.96 \\\n    --hash=sha256:00\nz==2 ; os_name == 'nt' \\\n"
    )
    assert requirements(locked, "copilotkit", "0.2.0") == "a==1\ncopilotkit==0.2.0\nz==2 ; os_name == 'nt'\n"
    with pytest.raises(AssertionError, match="not in the lock file"):
        requirements("a==1\n", "copilotkit", "0.2.0")


def test_what_drift_says() -> None:
    assert lines({"cases": 3, "changed": {}}) == ["our streams: the same in all 3 cases", "the SDK's streams: as with the pinned version"]
    changed = {
        "a/x": {"ours": ["streams"], "sdk": {}},
        "a/y": {"ours": [], "sdk": {"texts": [[["a"]], "as ours"]}},
        "a/z": {"failed": "TypeError: no"},
    }
    assert lines({"cases": 3, "changed": changed}) == [
        "our streams: 2 of 3 cases differ",
        "  a/x: other streams",
        "  a/z: TypeError: no",
        "the SDK's streams: 1 cases differ from the pinned version",
        "  a/y: tells what we tell, in these aspects",
        '    texts: [["a"]] -> "as ours"',
    ]
