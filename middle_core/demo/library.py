"""The stand-in's knowledge base: sources, their passages with full-text search, jobs, deletions and counts.

One SQLite file, one connection behind a lock; methods block, callers run them in a thread. Times are UTC
and SQLite's. It knows no HTTP and no roles.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from middle_core.backend.contract.models import Deletion, Job, SearchHit, Source, SourceKind, Stats
from middle_core.demo.passages import passages, slug
from middle_core.errors import InvalidRequest, NotFound

MAX_QUERY_WORDS: Final = 32
MAX_WORD_CHARS: Final = 64
HALF_SCORE: Final = 4.0
"""The BM25 rank that counts as a score of one half; it only scales."""
COMMON_WORDS: Final = """
a about an and are as at be by can could do does for from had has have how i if in into is it its me my no not of on or our please
should so tell than that the their them then there they this to us was we were what when where which who why will with would you your
"""
STOPWORDS: Final = frozenset(COMMON_WORDS.split())

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS sources (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, location TEXT NOT NULL, created_at TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5 (
    title, text, source_id UNINDEXED, location UNINDEXED, tokenize = "porter unicode61 remove_diacritics 2"
);
-- What was seeded once; a seeded source that someone deleted does not come back.
CREATE TABLE IF NOT EXISTS seeds (source_id TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, status TEXT NOT NULL, step TEXT NOT NULL, progress REAL NOT NULL, source_id TEXT, error TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS deletions (
    owner TEXT NOT NULL, key TEXT NOT NULL, source_id TEXT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (owner, key)
) STRICT;
CREATE TABLE IF NOT EXISTS days (day TEXT PRIMARY KEY, queries INTEGER NOT NULL DEFAULT 0, ingested INTEGER NOT NULL DEFAULT 0) STRICT;
"""
NOW: Final = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"


@dataclass(frozen=True, slots=True)
class Document:
    """Markdown to be made a source. location: where it comes from, for people; empty for a typed text."""

    source_id: str
    name: str
    kind: SourceKind
    location: str
    markdown: str


class Library:
    """The knowledge base in one file. A context manager: it closes the file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(SCHEMA)
        self._db.execute("UPDATE jobs SET status = 'failed', error = 'The service was restarted.' WHERE status IN ('queued', 'running')")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # a thread whose task was cancelled may still be inside; closing under it would crash the process
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # search ----------------------------------------------------------------------------------------
    def search(self, query: str, k: int, sources: Collection[str] = ()) -> list[SearchHit]:
        """The k best passages for a person's words, best first; counts the query. sources: ids to look in; none means all."""
        match = fts_query(query)
        within = json.dumps(list(sources)) if sources else None
        with self._transaction() as db:
            db.execute("INSERT INTO days (day, queries) VALUES (date('now'), 1) ON CONFLICT (day) DO UPDATE SET queries = queries + 1")
            rows = (
                db.execute(
                    "SELECT source_id, title, location, text, snippet(passages, 1, '', '', '…', 32) AS snippet, -bm25(passages, 3.0, 1.0) AS rank"
                    " FROM passages WHERE passages MATCH :match AND (:within IS NULL OR source_id IN (SELECT value FROM json_each(:within)))"
                    " ORDER BY bm25(passages, 3.0, 1.0), rowid LIMIT :k",
                    {"match": match, "within": within, "k": k},
                ).fetchall()
                if match
                else []
            )
        return [
            SearchHit(
                source_id=row["source_id"],
                title=row["title"],
                location=row["location"],
                snippet=row["snippet"],
                text=row["text"],
                score=round(row["rank"] / (row["rank"] + HALF_SCORE), 4),
            )
            for row in rows
        ]

    # sources ---------------------------------------------------------------------------------------
    def list_sources(self) -> list[Source]:
        """All sources by name."""
        with self._transaction() as db:
            return [source_of(row) for row in db.execute(f"{SELECT_SOURCES} ORDER BY name COLLATE NOCASE, id")]

    def get_source(self, source_id: str) -> Source:
        """One source. Raises `NotFound`."""
        with self._transaction() as db:
            return self._source(db, source_id)

    def delete_source(self, source_id: str, *, owner: str, key: str | None) -> Deletion:
        """Delete a source and its passages; the owner's same key gets the first answer. Raises `NotFound`, `InvalidRequest`."""
        with self._transaction() as db:
            earlier = db.execute("SELECT source_id, answer FROM deletions WHERE owner = ? AND key = ?", (owner, key)).fetchone()
            if earlier is not None:
                if earlier["source_id"] != source_id:
                    raise InvalidRequest("This Idempotency-Key was used for another source. Use a fresh key for each deletion.")
                return Deletion.model_validate_json(earlier["answer"])
            source = self._source(db, source_id)
            self._forget(db, source_id)
            answer = Deletion(
                source_id=source.id,
                name=source.name,
                deleted_objects=source.object_count,
                deleted_at=db.execute(f"SELECT {NOW}").fetchone()[0],
            )
            if key is not None:
                db.execute("INSERT INTO deletions VALUES (?, ?, ?, ?)", (owner, key, source_id, answer.model_dump_json()))
            return answer

    def add(self, document: Document) -> int:
        """Add a document as a new source; returns the number of its passages."""
        with self._transaction() as db:
            db.execute("INSERT INTO days (day, ingested) VALUES (date('now'), 1) ON CONFLICT (day) DO UPDATE SET ingested = ingested + 1")
            return self._store(db, document)

    def seed(self, documents: Iterable[Document]) -> None:
        """Bring the shipped documents up to date; what was deleted stays deleted."""
        for document in documents:
            digest = hashlib.sha256(document.markdown.encode()).hexdigest()
            with self._transaction() as db:
                seen = db.execute("SELECT digest FROM seeds WHERE source_id = ?", (document.source_id,)).fetchone()
                kept = db.execute("SELECT 1 FROM sources WHERE id = ?", (document.source_id,)).fetchone()
                if seen is not None and (not kept or seen["digest"] == digest):
                    continue
                self._forget(db, document.source_id)
                self._store(db, document)
                db.execute("INSERT OR REPLACE INTO seeds VALUES (?, ?)", (document.source_id, digest))

    @staticmethod
    def _source(db: sqlite3.Connection, source_id: str) -> Source:
        row = db.execute(f"{SELECT_SOURCES} WHERE id = ?", (source_id,)).fetchone()
        if row is None:
            raise NotFound
        return source_of(row)

    @staticmethod
    def _forget(db: sqlite3.Connection, source_id: str) -> None:
        db.execute("DELETE FROM passages WHERE source_id = ?", (source_id,))
        db.execute("DELETE FROM sources WHERE id = ?", (source_id,))

    @staticmethod
    def _store(db: sqlite3.Connection, document: Document) -> int:
        db.execute(
            f"INSERT INTO sources VALUES (?, ?, ?, ?, {NOW})",  # noqa: S608 - a constant
            (document.source_id, document.name, document.kind.value, document.location),
        )
        rows = [
            (
                document.name if piece.section in ("", document.name) else f"{document.name} › {piece.section}",
                piece.text,
                document.source_id,
                (document.location or document.source_id) + (f"#{piece.anchor}" if piece.anchor else ""),
            )
            for piece in passages(document.markdown)
        ]
        db.executemany("INSERT INTO passages (title, text, source_id, location) VALUES (?, ?, ?, ?)", rows)
        return len(rows)

    # jobs ------------------------------------------------------------------------------------------
    def start_job(self, owner: str) -> Job:
        """A new job of this owner, queued."""
        with self._transaction() as db:
            job_id = f"job-{secrets.token_hex(8)}"
            db.execute("INSERT INTO jobs VALUES (?, ?, 'queued', 'Waiting', 0, NULL, NULL)", (job_id, owner))
            return self._job(db, job_id, owner)

    def get_job(self, job_id: str, owner: str) -> Job:
        """The owner's job as it is now. Raises `NotFound`, for another's too."""
        with self._transaction() as db:
            return self._job(db, job_id, owner)

    def move_job(
        self, job_id: str, *, status: str, step: str, progress: float, source_id: str | None = None, error: str | None = None
    ) -> None:
        """Write down how far a job is."""
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET status = ?, step = ?, progress = ?, source_id = ?, error = ? WHERE id = ?",
                (status, step, progress, source_id, error, job_id),
            )

    @staticmethod
    def _job(db: sqlite3.Connection, job_id: str, owner: str) -> Job:
        row = db.execute(
            "SELECT id, status, step, progress, source_id, error FROM jobs WHERE id = ? AND owner = ?", (job_id, owner)
        ).fetchone()
        if row is None:
            raise NotFound
        return Job.model_validate(dict(row))

    # numbers ---------------------------------------------------------------------------------------
    def stats(self) -> Stats:
        """Totals, and the last 14 days."""
        with self._transaction() as db:
            totals = db.execute(
                "SELECT (SELECT count(*) FROM sources) AS sources, (SELECT count(*) FROM passages) AS objects,"
                " (SELECT coalesce(sum(queries), 0) FROM days) AS queries_served,"
                " (SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')) AS jobs_running"
            ).fetchone()
            days = db.execute(
                "WITH RECURSIVE back (n) AS (SELECT 13 UNION ALL SELECT n - 1 FROM back WHERE n > 0),"
                " calendar (day) AS (SELECT date('now', '-' || n || ' days') FROM back)"
                " SELECT day, coalesce(queries, 0) AS queries, coalesce(ingested, 0) AS ingested FROM calendar LEFT JOIN days USING (day) ORDER BY day"
            ).fetchall()
        return Stats.model_validate({**dict(totals), "per_day": [dict(day) for day in days]})


SELECT_SOURCES: Final = (
    "SELECT id, name, kind, location, created_at, (SELECT count(*) FROM passages WHERE source_id = sources.id) AS object_count FROM sources"
)


def source_of(row: sqlite3.Row) -> Source:
    """A row of `SELECT_SOURCES` as the contract has it."""
    return Source.model_validate(dict(row))


def fts_query(text: str) -> str:
    """A person's words as an FTS5 query: each quoted, any may match. Empty if there is no word. No text makes a syntax error.

    Words that stand everywhere are left out unless there is nothing else.
    """
    found = list(dict.fromkeys(word.strip("_")[:MAX_WORD_CHARS] for word in re.findall(r"\w+", text.lower())))
    telling = [word for word in found if word and word not in STOPWORDS]
    return " OR ".join(f'"{word}"' for word in (telling or list(filter(None, found)))[:MAX_QUERY_WORDS])


def new_source_id(name: str) -> str:
    """A fresh id that a person can recognise."""
    return f"{re.sub(r'[^a-z0-9]+', '-', slug(name)).strip('-')[:40] or 'source'}-{secrets.token_hex(3)}"
