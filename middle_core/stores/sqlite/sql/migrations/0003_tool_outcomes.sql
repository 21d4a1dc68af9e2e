-- A call's outcome in full, as JSON. Made anew, so that the schema reads as one text.
ALTER TABLE tool_calls RENAME TO tool_calls_before;

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

INSERT INTO tool_calls (thread_id, tool_call_id, run_id, name, status, result, started_at, ended_at)
SELECT thread_id, tool_call_id, run_id, name, status, result, started_at, ended_at
FROM tool_calls_before;

DROP TABLE tool_calls_before;
