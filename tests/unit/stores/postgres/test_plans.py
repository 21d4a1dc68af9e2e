"""Every statement finds its rows by an index: with some 10,000 rows in each table, no plan reads a whole one.

The plans are generic ones, which hold for any values. A plan that finds rows by an index at this size does so at any greater one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from middle_core.stores.postgres.upkeep import WEEK_MS
from middle_core.stores.statements import load_statements
from middle_core.stores.urls import migrate
from tests.fakes.postgres import PostgresServer, in_a_thread

THREADS = 10_000
EVENTS = 10
WEEKS = 10
STATEMENTS = load_statements("postgres")
_PARAMETER = re.compile(r"%\((\w+)\)s")

FILL = f"""
INSERT INTO threads SELECT gen_random_uuid(), 'owner ' || n / 100, 'thread ' || n, 'agent', 'A title', n, n FROM generate_series(1, {THREADS}) AS n;
INSERT INTO runs (thread_id, run_id, number, client_run_id, input_digest, idempotency_key, agent, status, owner_replica, claim_token, lease_until, started_at, last_seq)
SELECT
    thread_id, gen_random_uuid(), 1, 'run', 'digest', 'key', 'agent', CASE WHEN created_at % 500 = 0 THEN 'running' ELSE 'finished' END,
    'replica ' || created_at % 1000, 'token', created_at, {WEEK_MS} * (created_at % {WEEKS}), {EVENTS}
FROM threads;
INSERT INTO run_events SELECT thread_id, run_id, started_at, seq, 1, 1, 'TEXT_MESSAGE_CONTENT', '{{"delta":"word"}}' FROM runs, generate_series(1, {EVENTS}) AS seq;
INSERT INTO tool_calls (thread_id, tool_call_id, run_id, name, started_at) SELECT thread_id, 'call ' || n, run_id, 'tool', 1 FROM runs, generate_series(1, 2) AS n;
INSERT INTO interrupts (thread_id, interrupt_id, place, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id, created_at, expires_at, status)
SELECT
    thread_id, 'question', 1, run_id, 'k', 'c', 'call', 'key', 'tool', '{{}}', 'd', '[]', 'r', 1, number + 1000,
    CASE WHEN lease_until % 500 = 0 THEN 'pending' ELSE 'executed' END
FROM runs;
INSERT INTO interrupt_answers SELECT thread_id, 1, 'question', run_id, 1, 'by', 'c', 'approved', 'null', 'd', 'taken' FROM runs;
INSERT INTO followers SELECT thread_id, run_id, 'replica', lease_until FROM runs;
ANALYZE threads, runs, run_events, tool_calls, interrupts, interrupt_answers, followers;
"""


@pytest.fixture(scope="module")
def grown(postgres: PostgresServer) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    url = postgres.empty("grown")
    in_a_thread(migrate(url))
    with psycopg.connect(url, autocommit=True) as db:
        for week in range(WEEKS):
            bounds = f"FROM ({week * WEEK_MS}) TO ({(week + 1) * WEEK_MS})"
            db.execute(f"CREATE TABLE run_events_{week} PARTITION OF run_events FOR VALUES {bounds}")
        db.execute(FILL)
        yield db


def plan_of(db: psycopg.Connection[tuple[Any, ...]], statement: str) -> dict[str, Any]:
    """The generic plan."""
    names = list(dict.fromkeys(_PARAMETER.findall(statement)))
    numbered = _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", statement)
    [(found,)] = db.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {numbered}".encode()).fetchall()
    plan: dict[str, Any] = found[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_reads_a_whole_table(grown: psycopg.Connection[tuple[Any, ...]], name: str) -> None:
    filled = {str(table) for (table,) in grown.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples > 0").fetchall()}
    ours = filled - {
        str(table) for (table,) in grown.execute("SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace").fetchall()
    }
    scanned = [node["Relation Name"] for node in nodes(plan_of(grown, STATEMENTS[name])) if node["Node Type"] == "Seq Scan"]
    assert not ours.intersection(scanned), scanned


@pytest.mark.parametrize("name", ["read", "head"])
def test_a_run_is_read_from_its_own_partition(grown: psycopg.Connection[tuple[Any, ...]], name: str) -> None:
    """The plan names them all, because it knows no run; what it visits is one."""
    [(run_id,)] = grown.execute("SELECT run_id FROM runs WHERE started_at > 0 LIMIT 1").fetchall()
    values = {"run_id": run_id, "after": 0, "limit": 100, "bytes": 1_000_000}
    [(found,)] = grown.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {STATEMENTS[name]}".encode(), values).fetchall()
    visited = [
        node["Relation Name"]
        for node in nodes(found[0]["Plan"])
        if node.get("Relation Name", "").startswith("run_events") and node["Actual Loops"]
    ]
    assert len(visited) == 1
