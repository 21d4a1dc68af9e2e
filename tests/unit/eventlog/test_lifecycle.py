"""The lifecycle tables, and that the SQL says the same."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from middle_core.eventlog.interrupts import CLAIMABLE, Channel, InterruptKind, InterruptStatus, Verdict
from middle_core.eventlog.lifecycle import (
    INTERRUPT_MOVES,
    RUN_MOVES,
    TOOL_MOVES,
    IllegalMove,
    check_interrupt_move,
    check_run_move,
    check_tool_move,
)
from middle_core.eventlog.records import RunStatus, ToolCallStatus


def test_every_state_has_a_row_and_only_active_runs_move() -> None:
    assert set(RUN_MOVES) == set(RunStatus)
    for status, ways in RUN_MOVES.items():
        assert bool(ways) == status.active
        assert all(not after.active for after in ways)


@pytest.mark.parametrize("before", RunStatus)
@pytest.mark.parametrize("after", RunStatus)
def test_a_move_outside_of_the_table_raises(before: RunStatus, after: RunStatus) -> None:
    if before is RunStatus.RUNNING and after is not RunStatus.RUNNING:
        check_run_move(before, after)
    else:
        with pytest.raises(IllegalMove, match=f"run cannot go from {before.value} to {after.value}"):
            check_run_move(before, after)


def test_a_tool_call_ends_once_and_only_a_paused_one_runs_again() -> None:
    legal = {("running", "paused"), ("running", "done"), ("running", "failed"), ("paused", "running"), ("paused", "failed")}
    assert set(TOOL_MOVES) == set(ToolCallStatus)
    for before in ToolCallStatus:
        for after in ToolCallStatus:
            if (before.value, after.value) in legal:
                check_tool_move(before, after)
            else:
                with pytest.raises(IllegalMove, match=f"tool call cannot go from {before} to {after}"):
                    check_tool_move(before, after)


@pytest.mark.parametrize("before", InterruptStatus)
@pytest.mark.parametrize("after", InterruptStatus)
def test_a_question_moves_by_its_table(before: InterruptStatus, after: InterruptStatus) -> None:
    if after in INTERRUPT_MOVES[before]:
        check_interrupt_move(before, after)
    else:
        with pytest.raises(IllegalMove, match=f"question cannot go from {before.value} to {after.value}"):
            check_interrupt_move(before, after)


def test_only_what_a_person_approved_is_ever_executed() -> None:
    ways = {before for before, after in INTERRUPT_MOVES.items() if InterruptStatus.EXECUTING in after}
    assert ways == CLAIMABLE
    assert {before for before, after in INTERRUPT_MOVES.items() if InterruptStatus.EXECUTED in after} == {InterruptStatus.EXECUTING}
    assert {before for before, after in INTERRUPT_MOVES.items() if InterruptStatus.APPROVED in after} == {InterruptStatus.PENDING}


def test_the_schema_knows_the_same_states_and_kinds() -> None:
    schema = (files("middle_core.stores.sqlite") / "sql" / "schema.sql").read_text("utf-8")
    found: dict[tuple[str, str], set[str]] = {}
    for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\) STRICT", schema, re.DOTALL):
        for column, values in re.findall(r"CHECK \(\s*(\w+) IN \((.*?)\)\s*\)", body, re.DOTALL):
            found[table, column] = set(re.findall(r"'(\w+)'", values))
    assert found == {
        ("runs", "status"): set(RunStatus),
        ("tool_calls", "status"): set(ToolCallStatus),
        ("interrupts", "kind"): set(InterruptKind),
        ("interrupts", "channel"): set(Channel),
        ("interrupts", "status"): set(InterruptStatus),
        ("interrupt_answers", "channel"): set(Channel),
        ("interrupt_answers", "decision"): INTERRUPT_MOVES[InterruptStatus.PENDING] - {InterruptStatus.EXPIRED},
        ("interrupt_answers", "verdict"): set(Verdict),
    }


def test_the_statements_call_active_what_the_enum_calls_active() -> None:
    folder = files("middle_core.stores.sqlite") / "sql"
    sql = (folder / "queries.sql").read_text("utf-8") + (folder / "schema.sql").read_text("utf-8")
    of_runs = [part for part in re.split(r"-- name: |;\n", sql) if "tool_calls" not in part and "interrupt" not in part]
    fenced = re.findall(r"\bstatus = '(\w+)'", "".join(of_runs))
    assert fenced
    assert {RunStatus.RUNNING.value} == set(fenced) == {status.value for status in RunStatus if status.active}
