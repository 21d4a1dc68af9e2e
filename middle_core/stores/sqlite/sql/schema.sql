-- The schema as it stands: the sum of migrations/, which a test compares with this file.
-- The code applies the migrations; this file is for reading. Times are milliseconds since the epoch.

CREATE TABLE schema_version (
    version INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

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
    last_seq INTEGER NOT NULL,
    number INTEGER NOT NULL DEFAULT 0,
    input BLOB
) STRICT;

-- At most one run of a thread is active.
CREATE UNIQUE INDEX runs_active ON runs (thread_id) WHERE status = 'running';

CREATE UNIQUE INDEX runs_idempotency ON runs (thread_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX runs_client ON runs (thread_id, client_run_id);

CREATE UNIQUE INDEX runs_order ON runs (thread_id, number);

-- What a replica looks at with each beat.
CREATE INDEX runs_of_replica ON runs (owner_replica) WHERE status = 'running';

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
    outcome TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (thread_id, tool_call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE interrupts (
    thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    interrupt_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('approval', 'question')),
    channel TEXT NOT NULL CHECK (channel IN ('client_tool', 'interrupt', 'legacy')),
    tool_call_id TEXT NOT NULL,
    call_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    payload TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    roles TEXT NOT NULL,
    root_id TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (
        status IN (
            'pending', 'answered', 'approved', 'edited', 'rejected', 'withdrawn', 'expired', 'executing', 'executed', 'indeterminate'
        )
    ),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    answer TEXT,
    answer_digest TEXT NOT NULL DEFAULT '',
    answered_by TEXT,
    answered_at INTEGER,
    answer_run_id TEXT,
    outcome TEXT,
    ended_at INTEGER,
    PRIMARY KEY (thread_id, interrupt_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX interrupts_order ON interrupts (thread_id, place);

-- What the clock has to look at.
CREATE INDEX interrupts_expiry ON interrupts (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;

-- Every answer as it came, also those that decided nothing.
CREATE TABLE interrupt_answers (
    thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    interrupt_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    channel TEXT NOT NULL CHECK (channel IN ('client_tool', 'interrupt', 'legacy')),
    decision TEXT NOT NULL CHECK (decision IN ('answered', 'approved', 'edited', 'rejected', 'withdrawn')),
    payload TEXT NOT NULL,
    digest TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('taken', 'refused', 'expired', 'late')),
    PRIMARY KEY (thread_id, place)
) STRICT, WITHOUT ROWID;
