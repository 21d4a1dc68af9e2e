"""A grown installation moves from SQLite to Postgres: every conversation goes on there as if nothing had happened."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from middle_core.__main__ import cli
from middle_core.stores.content import TABLES
from middle_core.stores.store import DatabaseRefused
from middle_core.stores.urls import copy
from tests.fakes.graphs import ask, chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.postgres import PostgresServer
from tests.fakes.stack import run_input, stack


def quiet(done: int, of: int) -> None:
    """Nobody watches."""


def source(folder: Path) -> str:
    return f"sqlite:///{folder}/middle-core.db"


def model() -> ScriptedModel:
    return ScriptedModel(turns=[[f"answer {number}", finish()] for number in range(20)])


async def grow(folder: Path, threads: int = 3) -> dict[str, Any]:
    """Conversations with two turns each, one that a tool's odd text is in, and one that waits for an answer. Returns the histories."""
    agents = {"default": lambda: chat(model()), "asking": lambda: ask({"message": "Which?\x00"})}
    async with stack(folder, agents=agents) as server:
        for number in range(threads):
            await server.ask("hi \x00 there", thread=f"t{number}")
            await server.ask("and?", thread=f"t{number}")
        await server.ask("go", thread="asked", agent="asking")
        return {f"t{number}": await server.history(thread=f"t{number}") for number in range(threads)}


def command(folder: Path, target: str, **env: str) -> Result:
    """The command, in a thread: it has an event loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        given = {"MIDDLE_CORE_DATABASE_URL": target, **env}
        return thread.submit(CliRunner().invoke, cli, ["copy", "--from", source(folder)], env=given).result()


async def test_every_conversation_goes_on_at_the_target(postgres: PostgresServer, tmp_path: Path) -> None:
    histories = await grow(tmp_path)
    url = postgres.of(tmp_path)
    done = command(tmp_path, url)
    assert done.exit_code == 0, done.output
    assert "4 conversations are the same in both, 0 of them from before:\n" in done.output
    answers: list[Any] = []
    agents = {"default": lambda: chat(model()), "asking": lambda: ask({"message": "Which?\x00"}, answers=answers)}
    async with stack(tmp_path / "there", database_url=url, agents=agents) as server:
        for thread, history in histories.items():
            assert await server.history(thread=thread) == history
            assert (await server.ask("more", thread=thread)).types[-1] == "RUN_FINISHED"
        async with server.connect(thread="asked") as opened:
            await opened.rest()
        [question] = opened.events[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": question["id"], "status": "resolved", "payload": "that"}]
        async with server.stream("POST", "/copilotkit/asking", body=run_input(thread="asked", resume=resume)) as reader:
            await reader.rest()
    assert answers == ["that"]


async def test_a_copy_that_was_broken_off_goes_on_where_it_stopped(postgres: PostgresServer, tmp_path: Path) -> None:
    await grow(tmp_path)

    def stop(done: int, of: int) -> None:
        if done == 2:
            raise KeyError("broken off")

    url = postgres.of(tmp_path)
    with pytest.raises(KeyError, match="broken off"):
        await copy(source(tmp_path), url, progress=stop)
    again = await copy(source(tmp_path), url, progress=quiet)
    assert (again.there, again.counts["threads"]) == (2, 4)
    third = await copy(source(tmp_path), url, progress=quiet)
    assert (third.there, third.counts) == (4, again.counts)


async def test_the_counts_are_those_of_both_databases(postgres: PostgresServer, tmp_path: Path) -> None:
    await grow(tmp_path)
    url = postgres.of(tmp_path)
    copied = await copy(source(tmp_path), url, progress=quiet)
    tables = {**dict.fromkeys(TABLES), "checkpoints": None}
    with closing(sqlite3.connect(tmp_path / "middle-core.db")) as there:
        names = {"checkpoint_writes": "writes"}
        before = {name: there.execute(f"SELECT count(*) FROM {names.get(name, name)}").fetchone()[0] for name in tables}
    with psycopg.connect(url) as db:
        after = {name: db.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0][0] for name in tables}
    assert dict(copied.counts) == before == after
    assert before["run_events"] > 0
    assert before["checkpoints"] > 0


async def test_a_source_that_a_server_has_open_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(model())}):
        result = await asyncio.to_thread(command, tmp_path, postgres.of(tmp_path))
    assert (result.exit_code, "in use by another process" in result.output) == (2, True)


async def test_a_conversation_that_went_on_at_the_target_is_not_overwritten(postgres: PostgresServer, tmp_path: Path) -> None:
    await grow(tmp_path)
    url = postgres.of(tmp_path)
    await copy(source(tmp_path), url, progress=quiet)
    async with stack(tmp_path / "there", database_url=url, agents={"default": lambda: chat(model())}) as server:
        await server.ask("more", thread="t1")
        with pytest.raises(DatabaseRefused, match="not the same in both databases"):
            await copy(source(tmp_path), url, progress=quiet)
        assert [message["content"] for message in await server.history(thread="t1")][-2] == "more"


async def test_a_name_that_is_taken_at_the_target_is_told(postgres: PostgresServer, tmp_path: Path) -> None:
    await grow(tmp_path)
    url = postgres.of(tmp_path)
    async with stack(tmp_path / "there", database_url=url, agents={"default": lambda: chat(model())}) as server:
        await server.ask("another", thread="t1")
    with pytest.raises(DatabaseRefused, match="another one of the same name"):
        await copy(source(tmp_path), url, progress=quiet)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "postgresql://u:canary@h/db", "--to", "postgresql://u:canary@h/db"], "goes from sqlite"),
        (["--from", "sqlite:///nowhere.db", "--to", "sqlite:///canary.db"], "goes from sqlite"),
        (["--from", "sqlite:///nowhere.db", "--to", "postgresql://u:canary@127.0.0.1:1/db"], "no file nowhere.db"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(cli, ["copy", *arguments], env={"MIDDLE_CORE_DATA_DIR": str(tmp_path)})
    assert (result.exit_code, words in result.output, "canary" in result.output) == (2, True, False), result.output


async def test_no_table_is_forgotten(tmp_path: Path) -> None:
    """Whoever adds a table adds it to the copy."""
    await grow(tmp_path, threads=0)
    with closing(sqlite3.connect(tmp_path / "middle-core.db")) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    copied: Mapping[str, str] = {"checkpoint_writes": "writes"}
    assert tables == {*(copied.get(name, name) for name in TABLES), "checkpoints", "schema_version"}
