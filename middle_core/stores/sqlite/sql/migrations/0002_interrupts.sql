CREATE TABLE interrupts (
    thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    interrupt_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    channel TEXT NOT NULL,
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
    channel TEXT NOT NULL,
    decision TEXT NOT NULL,
    payload TEXT NOT NULL,
    digest TEXT NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (thread_id, place)
) STRICT, WITHOUT ROWID;
