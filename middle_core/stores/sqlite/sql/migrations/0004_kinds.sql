-- The kinds of questions and answers are checked. Both tables are made anew, because SQLite cannot add a check to a table.
ALTER TABLE interrupts RENAME TO interrupts_before;

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

INSERT INTO interrupts (
    thread_id, interrupt_id, place, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id,
    status, created_at, expires_at, answer, answer_digest, answered_by, answered_at, answer_run_id, outcome, ended_at
)
SELECT
    thread_id, interrupt_id, place, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id,
    status, created_at, expires_at, answer, answer_digest, answered_by, answered_at, answer_run_id, outcome, ended_at
FROM interrupts_before;

DROP TABLE interrupts_before;

CREATE UNIQUE INDEX interrupts_order ON interrupts (thread_id, place);

CREATE INDEX interrupts_expiry ON interrupts (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;

ALTER TABLE interrupt_answers RENAME TO interrupt_answers_before;

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

INSERT INTO interrupt_answers (
    thread_id, place, interrupt_id, run_id, at, by, channel, decision, payload, digest, verdict
)
SELECT
    thread_id, place, interrupt_id, run_id, at, by, channel, decision, payload, digest, verdict
FROM interrupt_answers_before;

DROP TABLE interrupt_answers_before;
