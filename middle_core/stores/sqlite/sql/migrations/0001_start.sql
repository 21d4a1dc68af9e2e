CREATE VIEW clock AS
SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) AS ms;

CREATE TABLE threads (
    thread_id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    client_thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (owner, client_thread_id)
) STRICT;

CREATE INDEX threads_newest ON threads (owner, updated_at DESC, thread_id DESC);

CREATE TABLE runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    client_run_id TEXT NOT NULL,
    input_digest TEXT NOT NULL,
    idempotency_key TEXT,
    agent TEXT NOT NULL,
    parent_run_id TEXT,
    attempt INTEGER NOT NULL DEFAULT 1,
    status TEXT NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'finished', 'interrupted', 'cancelled', 'failed')),
    owner_replica TEXT NOT NULL,
    claim_token TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    cancel_requested_at INTEGER,
    cancel_reason TEXT,
    error_code TEXT,
    usage TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    last_seq INTEGER NOT NULL
) STRICT;

-- At most one run of a thread is active.
CREATE UNIQUE INDEX runs_active ON runs (thread_id) WHERE status = 'running';

CREATE UNIQUE INDEX runs_idempotency ON runs (thread_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX runs_client ON runs (thread_id, client_run_id);

CREATE INDEX runs_newest ON runs (thread_id, started_at DESC, run_id DESC);

-- Clustered by run: a replay reads neighbouring pages.
CREATE TABLE run_events (
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_calls (
    thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    tool_call_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'paused', 'done', 'failed')),
    result TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (thread_id, tool_call_id)
) STRICT, WITHOUT ROWID;
