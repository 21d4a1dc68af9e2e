"""Steps and node events from the starts and ends of tasks."""

from __future__ import annotations

from typing import Any

from middle_core.runs.graph.node_steps import Nodes


def nodes() -> Nodes:
    times = iter([10.0, 10.25, 20.0, 20.5, 30.0])
    return Nodes(wall=lambda: 1_700_000_000.1234, clock=lambda: next(times))


def test_a_task_has_a_step_and_its_times() -> None:
    one = nodes()
    step, started = one.started("k", "model:task-1")
    assert step == {"type": "STEP_STARTED", "stepName": "model"}
    expected: dict[str, Any] = {"node": "model", "path": ["model"], "taskId": "task-1", "startedAt": 1_700_000_000_123}
    assert started["value"] == expected
    completed, ended = one.ended("k", "ok")
    assert completed["value"] == {**expected, "latencyMs": 250, "outcome": "ok"}
    assert ended == {"type": "STEP_FINISHED", "stepName": "model"}


def test_the_path_leads_through_subgraphs_and_numbers_are_no_nodes() -> None:
    one = nodes()
    _, started = one.started("k", "outer:t1|1|inner:t2")
    assert (started["value"]["path"], started["value"]["taskId"]) == (["outer", "inner"], "t2")


def test_a_step_name_comes_once() -> None:
    one = nodes()
    names = [one.started(key, "model:t")[0]["stepName"] for key in ("a", "b", "c")]
    assert names == ["model", "model #2", "model #3"]


def test_an_end_without_a_start_and_a_second_end_are_nothing() -> None:
    one = nodes()
    one.started("k", "model:t")
    assert one.ended("other", "ok") == []
    assert one.ended("k", "error") != []
    assert one.ended("k", "ok") == []


def test_closing_ends_the_innermost_first() -> None:
    one = nodes()
    one.started("out", "outer:t1")
    one.started("in", "outer:t1|inner:t2")
    assert [event["stepName"] for event in one.close("cancelled") if event["type"] == "STEP_FINISHED"] == ["outer:inner", "outer"]
    assert one.close("cancelled") == []
