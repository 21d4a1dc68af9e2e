"""The .sql files: each statement is named once, used, and legal; the schema is the sum of its migrations."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files
from pathlib import Path

import middle_core.stores.sqlite.interrupts as questions
import middle_core.stores.sqlite.log as adapter
from middle_core.stores.sqlite import database
from middle_core.stores.sqlite.file import connect_writer, create_file, migrate
from middle_core.stores.statements import load_migrations, load_statements

QUESTIONS = ("interrupts", "get_interrupt", "answer_interrupt", "begin_interrupt", "move_interrupt", "expire_interrupts")

SQL = files("middle_core.stores.sqlite") / "sql"


def migrated(path: Path) -> sqlite3.Connection:
    """A fresh database at the newest version."""
    create_file(path)
    db = connect_writer(path)
    migrate(db, load_migrations("sqlite"))
    return db


def schema(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Every object with its text; spaces aside, because SQLite adds a column to the text as it is."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
    return [(kind, name, re.sub(r"\s*([,()])\s*", r"\1", re.sub(r"\s+", " ", sql))) for kind, name, sql in rows]


def test_the_schema_is_the_sum_of_its_migrations(tmp_path: Path) -> None:
    whole = sqlite3.connect(tmp_path / "whole.db", isolation_level=None)
    whole.executescript((SQL / "schema.sql").read_text("utf-8"))
    summed = migrated(tmp_path / "summed.db")
    assert schema(whole) == schema(summed)
    assert len(schema(summed)) > 8
    whole.close()
    summed.close()


def test_questions_and_their_answers_outlive_the_migrations(tmp_path: Path) -> None:
    create_file(tmp_path / "old.db")
    db = connect_writer(tmp_path / "old.db")
    migrate(db, load_migrations("sqlite")[:3])
    db.execute("INSERT INTO threads (thread_id, owner, client_thread_id, agent, created_at, updated_at) VALUES ('t', 'o', 'c', 'a', 1, 1)")
    db.execute(
        "INSERT INTO interrupts (thread_id, interrupt_id, place, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest,"
        " roles, root_id, created_at) VALUES ('t', 'i', 1, 'r', 'approval', 'client_tool', 'c', 'k', 'x', '{}', 'd', '[]', '', 7)"
    )
    db.execute("INSERT INTO interrupt_answers VALUES ('t', 1, 'i', 'r', 8, 'o', 'interrupt', 'approved', '{}', 'd', 'late')")
    before = [[tuple(row) for row in db.execute(f"SELECT * FROM {table}")] for table in ("interrupts", "interrupt_answers")]
    migrate(db, load_migrations("sqlite"))
    assert [[tuple(row) for row in db.execute(f"SELECT * FROM {table}")] for table in ("interrupts", "interrupt_answers")] == before
    db.close()


def test_runs_of_before_are_numbered_in_the_order_in_which_they_started(tmp_path: Path) -> None:
    create_file(tmp_path / "old.db")
    db = connect_writer(tmp_path / "old.db")
    migrate(db, load_migrations("sqlite")[:4])
    for thread in ("t", "u"):
        db.execute(
            "INSERT INTO threads (thread_id, owner, client_thread_id, agent, created_at, updated_at) VALUES (?, 'o', ?, 'a', 1, 1)",
            (thread, thread),
        )
    for run, thread, started in [("r3", "t", 1), ("r1", "t", 2), ("r2", "t", 2), ("r4", "u", 9)]:
        db.execute(
            "INSERT INTO runs (run_id, thread_id, client_run_id, input_digest, agent, status, owner_replica, claim_token, lease_until,"
            " started_at, last_seq) VALUES (?, ?, 'c', 'd', 'a', 'finished', 'r', 'k', 1, ?, 1)",
            (run, thread, started),
        )
    migrate(db, load_migrations("sqlite"))
    numbers = {row["run_id"]: row["number"] for row in db.execute("SELECT run_id, number FROM runs")}
    assert numbers == {"r3": 1, "r1": 2, "r2": 3, "r4": 1}
    db.close()


def test_every_statement_can_be_prepared(tmp_path: Path) -> None:
    db = migrated(tmp_path / "log.db")
    db.executescript("CREATE TABLE checkpoints (thread_id TEXT); CREATE TABLE writes (thread_id TEXT);")
    for name, statement in load_statements("sqlite").items():
        names = set(re.findall(r":(\w+)", statement))
        params = dict.fromkeys(names) if names else (None,) * statement.count("?")
        assert db.execute(f"EXPLAIN {statement}", params).fetchall(), name
    db.close()


def test_every_statement_is_used_and_every_name_exists() -> None:
    source = "".join(Path(str(module.__file__)).read_text("utf-8") for module in (database, adapter, questions))
    used = set(re.findall(r'"(\w+)"', source)) | {"delete_checkpoints", "delete_writes"}
    assert set(load_statements("sqlite")) <= used


def test_no_statement_on_a_hot_path_scans_a_table(tmp_path: Path) -> None:
    db = migrated(tmp_path / "log.db")
    statements = load_statements("sqlite")
    for name in (
        "read",
        "advance",
        "end_run",
        "fence",
        "active_run",
        "last_run",
        "running_on",
        "orphans",
        "list_threads",
        "get_run",
        "list_threads_before",
        "beat",
        *QUESTIONS,
    ):
        names = set(re.findall(r":(\w+)", statements[name]))
        plan = [row["detail"] for row in db.execute(f"EXPLAIN QUERY PLAN {statements[name]}", dict.fromkeys(names))]
        scans = [
            step
            for step in plan
            if step.startswith("SCAN") and not re.search(r"VIRTUAL TABLE|CONSTANT ROW|clock|USING INDEX runs_of_replica", step)
        ]
        assert scans == [], (name, plan)
        assert not any("TEMP B-TREE" in step for step in plan), (name, plan)
    db.close()
