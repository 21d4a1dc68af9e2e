-- The first schema. Times are milliseconds since the epoch, by this database's clock. Every key begins with the thread: a sharded
-- Postgres would distribute by it. The statements run one after another in one transaction.

CREATE FUNCTION middle_core_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE threads (
    thread_id uuid NOT NULL PRIMARY KEY,
    owner text NOT NULL COLLATE "C",
    client_thread_id text NOT NULL COLLATE "C",
    agent text NOT NULL,
    title text NOT NULL DEFAULT '',
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE UNIQUE INDEX threads_name ON threads (owner, client_thread_id);

CREATE INDEX threads_newest ON threads (owner, updated_at DESC, thread_id DESC);

CREATE TABLE runs (
    thread_id uuid NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    run_id uuid NOT NULL,
    number bigint NOT NULL,
    client_run_id text NOT NULL COLLATE "C",
    input_digest text NOT NULL,
    idempotency_key text COLLATE "C",
    agent text NOT NULL,
    parent_run_id text,
    attempt integer NOT NULL DEFAULT 1,
    status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'finished', 'interrupted', 'cancelled', 'failed')),
    owner_replica text NOT NULL,
    claim_token text NOT NULL,
    lease_until bigint NOT NULL,
    cancel_requested_at bigint,
    cancel_reason text,
    error_code text,
    usage text,
    started_at bigint NOT NULL,
    finished_at bigint,
    last_seq bigint NOT NULL,
    PRIMARY KEY (thread_id, run_id)
);

-- Runs are also looked up by their own id. Not unique: a sharded Postgres could not keep that, and the id is random enough.
CREATE INDEX runs_id ON runs (run_id);

-- At most one run of a thread is active.
CREATE UNIQUE INDEX runs_active ON runs (thread_id) WHERE status = 'running';

CREATE UNIQUE INDEX runs_idempotency ON runs (thread_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX runs_client ON runs (thread_id, client_run_id);

CREATE UNIQUE INDEX runs_order ON runs (thread_id, number);

-- What a replica owns, and what a dead one left behind.
CREATE INDEX runs_replica ON runs (owner_replica) WHERE status = 'running';

CREATE INDEX runs_lease ON runs (lease_until) WHERE status = 'running';

-- Partitioned by the start of the run, so that all events of a run lie in one partition, and retention drops whole partitions.
CREATE TABLE run_events (
    thread_id uuid NOT NULL,
    run_id uuid NOT NULL,
    run_started_at bigint NOT NULL,
    seq bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    type text NOT NULL,
    event bytea NOT NULL,
    PRIMARY KEY (thread_id, run_id, seq, run_started_at)
) PARTITION BY RANGE (run_started_at);

-- Where no partition was made in time.
CREATE TABLE run_events_rest PARTITION OF run_events DEFAULT;

CREATE TABLE tool_calls (
    thread_id uuid NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    tool_call_id text NOT NULL COLLATE "C",
    run_id uuid NOT NULL,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'paused', 'done', 'failed')),
    -- As bytes: a tool may return U+0000, which Postgres takes in no text.
    result bytea,
    outcome text,
    started_at bigint NOT NULL,
    ended_at bigint,
    PRIMARY KEY (thread_id, tool_call_id)
);

CREATE TABLE interrupts (
    thread_id uuid NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    interrupt_id text NOT NULL COLLATE "C",
    place bigint NOT NULL,
    run_id uuid NOT NULL,
    kind text NOT NULL,
    channel text NOT NULL,
    tool_call_id text NOT NULL,
    call_key text NOT NULL,
    tool text NOT NULL,
    payload text NOT NULL,
    args_digest text NOT NULL,
    roles text NOT NULL,
    root_id text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (
        status IN (
            'pending', 'answered', 'approved', 'edited', 'rejected', 'withdrawn', 'expired', 'executing', 'executed', 'indeterminate'
        )
    ),
    created_at bigint NOT NULL,
    expires_at bigint,
    answer text,
    answer_digest text NOT NULL DEFAULT '',
    answered_by text,
    answered_at bigint,
    answer_run_id uuid,
    outcome text,
    ended_at bigint,
    PRIMARY KEY (thread_id, interrupt_id)
);

CREATE UNIQUE INDEX interrupts_order ON interrupts (thread_id, place);

-- What the clock has to look at.
CREATE INDEX interrupts_expiry ON interrupts (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;

-- Every answer as it came, also those that decided nothing.
CREATE TABLE interrupt_answers (
    thread_id uuid NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    place bigint NOT NULL,
    interrupt_id text NOT NULL,
    run_id uuid NOT NULL,
    at bigint NOT NULL,
    answered_by text NOT NULL,
    channel text NOT NULL,
    decision text NOT NULL,
    payload text NOT NULL,
    digest text NOT NULL,
    verdict text NOT NULL,
    PRIMARY KEY (thread_id, place)
);
