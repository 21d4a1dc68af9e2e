"""A record as clients and the log see it."""

from __future__ import annotations

import pytest

from middle_core.events import Custom, EventType, Record, RunId, custom


def record(type_: str, data: bytes = b'{"type": "x"}') -> Record:
    return Record(RunId("r"), seq=7, attempt=1, at=0, type=type_, data=data)


def test_the_cursor_is_the_run_and_the_place_in_it() -> None:
    assert record("x").cursor == "r:7"


@pytest.mark.parametrize(("type_", "ends"), [(EventType.RUN_FINISHED, True), (EventType.RUN_ERROR, True), (EventType.RUN_STARTED, False)])
def test_a_run_ends_with_its_terminal_record(type_: EventType, ends: bool) -> None:
    assert record(type_.value).terminal is ends


def test_each_look_at_an_event_is_a_new_one() -> None:
    one = record("x")
    one.event["type"] = "changed"
    assert one.event == {"type": "x"}


def test_an_event_of_ours_has_a_name_and_its_values() -> None:
    assert custom(Custom.RUN, runId="r") == {"type": "CUSTOM", "name": "middle_core.run", "value": {"runId": "r"}}
