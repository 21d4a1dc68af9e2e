"""`migrate`: the schema before and after, once and again, an older file, and what is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from middle_core.__main__ import cli
from middle_core.stores.sqlite.file import FileLock, migrate
from middle_core.stores.statements import load_migrations

LATEST = len(load_migrations("sqlite"))


def run(folder: Path, **env: str) -> Result:
    return CliRunner().invoke(cli, ["migrate"], env={"MIDDLE_CORE_DATA_DIR": str(folder), **env})


def tables(file: Path) -> set[str]:
    with sqlite3.connect(file) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    return found


def test_a_new_database_and_the_same_again(tmp_path: Path) -> None:
    first, again = run(tmp_path / "data"), run(tmp_path / "data")
    assert (first.exit_code, first.output) == (0, f"schema version 0 -> {LATEST}\n")
    assert (again.exit_code, again.output) == (0, f"schema version {LATEST}: nothing to do\n")
    assert {"runs", "run_events", "interrupts", "checkpoints"} <= tables(tmp_path / "data" / "middle-core.db"), "LangGraph's tables, too"


def test_an_older_database_keeps_what_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "middle-core.db"
    connection = sqlite3.connect(file, isolation_level=None)
    migrate(connection, load_migrations("sqlite")[:1])
    connection.execute("INSERT INTO threads VALUES ('t', 'owner', 'client', 'agent', 'A title', 1, 1)")
    connection.execute("INSERT INTO tool_calls VALUES ('t', 'call', 'run', 'search', 'done', 'found', 2, 3)")
    connection.close()
    assert run(tmp_path).output == f"schema version 1 -> {LATEST}\n"
    with sqlite3.connect(file) as after:
        assert after.execute("SELECT title FROM threads").fetchall() == [("A title",)]
        kept = after.execute("SELECT tool_call_id, status, result, outcome, ended_at FROM tool_calls").fetchall()
        assert kept == [("call", "done", "found", None, 3)]
    after.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://u:canary@h/db", "sqlite:///"),
        ("sqlite:////dev/null/x.db", "cannot be made or written"),
    ],
)
def test_what_is_refused_says_what_to_do(tmp_path: Path, url: str, words: str) -> None:
    result = run(tmp_path, MIDDLE_CORE_DATABASE_URL=url)
    assert result.exit_code == 2
    assert words in result.output
    assert "canary" not in result.output


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path)
    with sqlite3.connect(tmp_path / "middle-core.db") as connection:
        connection.execute("INSERT INTO schema_version VALUES (?, 'later', 1)", (LATEST + 1,))
    connection.close()
    result = run(tmp_path)
    assert (result.exit_code, "Start the newer program" in result.output) == (2, True)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "middle-core.db").write_text("not a database, but long enough to be taken for one" * 100, encoding="utf-8")
    result = run(tmp_path)
    assert (result.exit_code, "Restore a backup" in result.output) == (2, True)


def test_a_database_that_a_server_has_open(tmp_path: Path) -> None:
    run(tmp_path)
    lock = FileLock(tmp_path / "middle-core.db")
    try:
        result = run(tmp_path)
    finally:
        lock.release()
    assert (result.exit_code, "in use by another process" in result.output) == (2, True)
