"""The schema: made once however many start at once, what is refused, and what a sharded Postgres could distribute."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from middle_core.stores.postgres import schema
from middle_core.stores.statements import load_migrations
from middle_core.stores.store import DatabaseRefused
from middle_core.stores.urls import migrate, open_store
from tests.fakes.postgres import PostgresServer

LATEST = len(load_migrations("postgres"))


async def test_replicas_that_start_at_once_make_the_schema_once(postgres: PostgresServer) -> None:
    url = postgres.empty("at_once")
    async with asyncio.timeout(60):
        done = await asyncio.gather(*(migrate(url) for _ in range(6)))
    assert {after for _, after in done} == {LATEST}
    assert await migrate(url) == (LATEST, LATEST)


async def test_a_migration_that_does_not_end_is_not_waited_for_for_ever(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATION_WAIT_S", 0.3)
    async with await psycopg.AsyncConnection.connect(url) as other:
        await other.execute("SELECT pg_advisory_xact_lock(%s)", (schema.MIGRATION_LOCK,))
        with pytest.raises(DatabaseRefused, match="Another process has been changing"):
            await migrate(url)


async def test_a_newer_schema_is_left_alone(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await db.execute("INSERT INTO schema_version VALUES (%s, 'later', now())", (LATEST + 1,))
    with pytest.raises(DatabaseRefused, match="Start the newer version"):
        async with open_store(url):
            pass


async def test_a_user_that_may_not_create_is_told(postgres: PostgresServer) -> None:
    url = postgres.empty("guarded")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await db.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(DatabaseRefused, match="may create tables"):
        await migrate(url.replace("postgres:@", "guest:@"))


async def test_every_key_begins_with_the_thread(url: str) -> None:
    """A sharded Postgres distributes by the thread, and can keep a key unique only if the thread is part of it."""
    query = """
        SELECT c.relname AS tab, i.relname AS key, a.attname AS first
        FROM pg_index AS x
        JOIN pg_class AS c ON c.oid = x.indrelid JOIN pg_class AS i ON i.oid = x.indexrelid
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]
        WHERE x.indisunique AND c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    """
    async with await psycopg.AsyncConnection.connect(url) as db:
        keys = await (await db.execute(query)).fetchall()
    # One row for each migration. A thread's own name is unique for its owner: it is how a thread's id is found at all.
    apart = {"schema_version", "checkpoint_migrations"}
    assert {key for tab, key, first in keys if first != "thread_id" and tab not in apart} == {"threads_name"}
    assert {tab for tab, _, _ in keys} >= {"threads", "runs", "run_events", "tool_calls", "interrupts", "checkpoints"}
