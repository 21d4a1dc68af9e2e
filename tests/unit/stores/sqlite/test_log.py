"""What only the SQLite adapter promises: the lock, the disk after a kill, leaks, and the writer's behaviour."""

from __future__ import annotations

import asyncio
import errno
import gc
import sqlite3
import stat
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event as ThreadEvent

import pytest

from middle_core.errors import StoreUnavailable
from middle_core.stores.sqlite.database import LEAST_FREE_BYTES, SqliteDatabase
from middle_core.stores.sqlite.file import database_path
from middle_core.stores.sqlite.log import SqliteEventLog
from middle_core.stores.store import DatabaseRefused
from middle_core.stores.tail import Tails
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import end, everything, start, text

ROOT = Path(__file__).parents[4]


class OpenLog(SqliteEventLog):
    """The log, and the database below it."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database, Tails())
        self.database = database

    @property
    def connection(self) -> sqlite3.Connection:
        """The one that writes."""
        return self.database._writer._connection


@asynccontextmanager
async def opened(url: str, *, least_free_bytes: int = LEAST_FREE_BYTES) -> AsyncIterator[OpenLog]:
    async with SqliteDatabase.open(url, least_free_bytes=least_free_bytes) as database:
        yield OpenLog(database)


async def test_after_a_kill_everything_acknowledged_is_there_and_the_lock_is_free(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/log.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.unit.stores.sqlite.writer_process", url, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    acknowledged: dict[str, int] = {}
    async with asyncio.timeout(30):
        for count in range(300):
            run_id, seq = (await process.stdout.readline()).split()
            acknowledged[run_id.decode()] = int(seq)
            if count == 150:
                with pytest.raises(DatabaseRefused, match=r"another process.*a file of its own"):
                    await open_store(url).__aenter__()
        process.kill()
        for line in (await process.stdout.read()).splitlines():
            if len(line.split()) == 2:
                run_id, seq = line.split()
                acknowledged[run_id.decode()] = int(seq)
        await process.wait()
    async with opened(url) as log:
        runs = await log.running_on("replica-1")
        assert acknowledged.keys() <= {run.run_id for run in runs}
        for run in runs:
            records = await everything(log, run.run_id)
            assert [record.seq for record in records] == list(range(1, run.last_seq + 1))
            assert run.last_seq >= acknowledged.get(run.run_id, 1)
            await end(log, await log.claim(run.run_id, attempt=1, replica="replica-1", lease_s=15))
        assert await log.running_on("replica-1") == []


async def test_a_record_that_is_kept_costs_what_it_is_long(tmp_path: Path) -> None:
    """orjson 3.13 allocates 4 kB for each result, so tails with a bound in bytes would take ten times their bound."""
    async with opened(f"sqlite:///{tmp_path}/log.db") as log:
        started = await start(log)
        await log.append(started.claim, [text("warm")])
        tracemalloc.start()
        try:
            for number in range(500):
                await log.append(started.claim, [text(f"{number}")])
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert kept < 500 * 1024


async def test_one_process_cannot_open_it_twice_either(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/log.db"
    async with open_store(url):
        with pytest.raises(DatabaseRefused, match="in use"):
            await open_store(url).__aenter__()
    async with opened(url) as log:
        await log.ping()


async def test_a_database_that_takes_no_writes_does_not_answer_a_ping(tmp_path: Path) -> None:
    """A full disk can still be read. Each ping checks again, so the answer is right as soon as there is space."""
    async with opened(f"sqlite:///{tmp_path}/log.db") as log:
        log.connection.execute("PRAGMA query_only = ON")
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await log.ping()
        log.connection.execute("PRAGMA query_only = OFF")
        await log.ping()
        changes = log.connection.total_changes
        await log.ping()
        assert log.connection.total_changes == changes, "not at each ping"


async def test_a_disk_with_little_room_does_not_answer_a_ping(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/log.db", least_free_bytes=1 << 60) as log:
        with pytest.raises(StoreUnavailable) as raised:
            await log.ping()
    assert isinstance(raised.value.__cause__, OSError)
    assert raised.value.__cause__.errno == errno.ENOSPC


async def test_a_newer_schema_is_refused_and_nothing_stays_open(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/log.db"
    async with opened(url) as log:
        path = log.database.path
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO schema_version VALUES (99, 'tomorrow', 0)")
    db.close()
    for _ in range(2):
        with pytest.raises(DatabaseRefused, match="version 99"):
            await open_store(url).__aenter__()


async def test_what_cannot_be_used_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, and it is long enough to look like one " * 40)
    (tmp_path / "folder.db").mkdir()
    for name, words in [("text.db", "cannot be opened"), ("folder.db", "cannot be made"), ("text.db/log.db", "cannot be made")]:
        with pytest.raises(DatabaseRefused, match=words):
            await open_store(f"sqlite:///{tmp_path}/{name}").__aenter__()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "postgresql://h/db", "log.db", "sqlite:///a.db?x=1"])
def test_what_is_no_file_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(DatabaseRefused, match=r"sqlite:///folder/file\.db"):
        database_path(url)


def test_a_password_in_a_wrong_url_is_not_repeated() -> None:
    with pytest.raises(DatabaseRefused) as raised:
        database_path("postgresql://me:secret@host/db")
    assert "secret" not in str(raised.value)


def test_urls_name_relative_and_absolute_files() -> None:
    assert database_path("sqlite:///a/b.db") == Path("a/b.db")
    assert database_path("sqlite:////a/b.db") == Path("/a/b.db")


async def test_the_files_are_for_this_user_only_and_odd_names_work(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/new folder/a#b%20c.db") as log:
        await start(log)
        files = sorted(log.database.path.parent.iterdir())
        assert [file.name for file in files] == [f"a#b%20c.db{end}" for end in ("", "-shm", "-wal", ".lock")]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_a_database_that_is_not_closed_warns(tmp_path: Path) -> None:
    opening = SqliteDatabase.open(f"sqlite:///{tmp_path}/log.db")
    database = await opening.__aenter__()
    writer, readers = database._writer, database._readers
    with pytest.warns(ResourceWarning, match="log.db was not closed"):
        database.__del__()
    await database.close()
    assert (writer._closing, readers._closing) == (True, True)
    del database, opening
    gc.collect()


async def test_what_waits_shares_one_commit(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/log.db") as log:
        started = await start(log)
        commits: list[str] = []
        log.connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
        inside, go_on = ThreadEvent(), ThreadEvent()

        def hold(_: sqlite3.Connection) -> bool:
            inside.set()
            return go_on.wait(10)

        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            group.create_task(log.database.transact(started.claim, hold))
            assert await asyncio.to_thread(inside.wait, 10)
            appends = [group.create_task(log.append(started.claim, [text(str(n))])) for n in range(100)]
            await asyncio.to_thread(lambda: None)
            go_on.set()
        assert [task.result()[0].seq for task in appends] == list(range(2, 102))
        assert len(commits) == 2


async def test_a_database_that_fails_is_a_typed_error_and_the_log_goes_on(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/log.db") as log:
        started = await start(log)
        connection = log.connection
        [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}").fetchall()
        with pytest.raises(StoreUnavailable) as raised:
            await log.append(started.claim, [text("x" * 100_000)])
        assert isinstance(raised.value.__cause__, sqlite3.OperationalError)
        assert "full" not in raised.value.detail
        connection.execute("PRAGMA max_page_count = 1000000").fetchall()
        [record] = await log.append(started.claim, [text("x" * 100_000)])
        assert record.seq == 2
        assert len(await everything(log, started.run.run_id)) == 2


async def test_a_commit_that_fails_fails_its_whole_batch_and_nothing_of_it_is_seen(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/log.db") as log:
        runs = [await start(log) for _ in range(3)]
        log.connection.set_authorizer(
            lambda action, what, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT" else sqlite3.SQLITE_OK
        )
        outcomes = await asyncio.gather(*(log.append(run.claim, [text("lost")]) for run in runs), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 3
        log.connection.set_authorizer(None)
        for run in runs:
            assert len(await everything(log, run.run.run_id)) == 1
            [record] = await log.append(run.claim, [text("kept")])
            assert record.seq == 2


async def test_a_writer_that_dies_leaves_nobody_waiting(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/log.db") as log:
        started = await start(log)
        log.connection.set_authorizer(
            lambda action, what, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK
        )
        async with asyncio.timeout(10):
            outcomes = await asyncio.gather(*(log.append(started.claim, [text("x")]) for _ in range(10)), return_exceptions=True)
            assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
            assert len(await everything(log, started.run.run_id)) == 1
