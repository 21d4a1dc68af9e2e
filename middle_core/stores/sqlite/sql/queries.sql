-- Every statement of the SQLite adapter, by name. `clock` is a view: the database's time in milliseconds.

-- name: get_thread
SELECT thread_id, owner, client_thread_id, agent, title, created_at, updated_at
FROM threads
WHERE owner = :owner AND client_thread_id = :client_thread_id;

-- name: insert_thread
INSERT INTO threads (thread_id, owner, client_thread_id, agent, created_at, updated_at)
SELECT :thread_id, :owner, :client_thread_id, :agent, ms, ms
FROM clock
WHERE TRUE
ON CONFLICT (owner, client_thread_id) DO NOTHING;

-- name: list_threads
SELECT
    thread_id, owner, client_thread_id, agent, title, created_at, updated_at,
    EXISTS (SELECT 1 FROM runs AS r WHERE r.thread_id = threads.thread_id AND r.status = 'running') AS running
FROM threads
WHERE owner = :owner
ORDER BY updated_at DESC, thread_id DESC
LIMIT :limit;

-- name: list_threads_before
SELECT
    thread_id, owner, client_thread_id, agent, title, created_at, updated_at,
    EXISTS (SELECT 1 FROM runs AS r WHERE r.thread_id = threads.thread_id AND r.status = 'running') AS running
FROM threads
WHERE owner = :owner AND (updated_at, thread_id) < (:updated_at, :thread_id)
ORDER BY updated_at DESC, thread_id DESC
LIMIT :limit;

-- name: set_title
UPDATE threads
SET title = :title
WHERE thread_id = :thread_id AND (title = '' OR NOT :only_if_empty);

-- name: touch_thread
UPDATE threads
SET updated_at = :at
WHERE thread_id = :thread_id;

-- name: delete_thread
DELETE FROM threads
WHERE thread_id = :thread_id;

-- name: run_ids
SELECT run_id
FROM runs
WHERE thread_id = :thread_id;

-- name: checkpoint_tables
SELECT name
FROM sqlite_master
WHERE type = 'table' AND name IN ('checkpoints', 'writes');

-- name: delete_checkpoints
DELETE FROM checkpoints
WHERE thread_id = :thread_id;

-- name: delete_writes
DELETE FROM writes
WHERE thread_id = :thread_id;

-- name: has_thread
SELECT 1
FROM threads
WHERE thread_id = :thread_id;

-- name: run_of_key
SELECT run_id, input_digest
FROM runs
WHERE thread_id = :thread_id AND idempotency_key = :idempotency_key;

-- name: runs_of_client_id
SELECT run_id, input_digest
FROM runs
WHERE thread_id = :thread_id AND client_run_id = :client_run_id
ORDER BY number DESC;

-- name: insert_run
INSERT INTO runs (
    run_id, thread_id, number, client_run_id, input_digest, idempotency_key, agent, parent_run_id,
    owner_replica, claim_token, lease_until, started_at, last_seq, input
)
SELECT
    :run_id, :thread_id,
    (SELECT COALESCE(MAX(number), 0) + 1 FROM runs WHERE thread_id = :thread_id),
    :client_run_id, :input_digest, :idempotency_key, :agent, :parent_run_id,
    :replica, :token, ms + :lease_ms, ms, :last_seq, :input
FROM clock
RETURNING started_at;

-- name: get_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.run_id = :run_id;

-- name: run_input
SELECT input
FROM runs
WHERE run_id = :run_id AND input IS NOT NULL;

-- name: find_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.thread_id = :thread_id AND r.client_run_id = :client_run_id
ORDER BY r.number DESC
LIMIT 1;

-- name: active_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.thread_id = :thread_id AND r.status = 'running';

-- name: last_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.thread_id = :thread_id
ORDER BY r.number DESC
LIMIT 1;

-- name: running_on
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.status = 'running' AND r.owner_replica = :replica;

-- name: orphans
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.status = 'running' AND r.owner_replica <> :replica AND r.lease_until <= (SELECT ms FROM clock) - :for_ms;

-- name: claim
UPDATE runs
SET
    attempt = attempt + 1,
    last_seq = last_seq + :gap,
    owner_replica = :replica,
    claim_token = :token,
    lease_until = (SELECT ms FROM clock) + :lease_ms
WHERE run_id = :run_id AND status = 'running' AND attempt = :attempt
RETURNING thread_id, attempt, last_seq;

-- name: release
UPDATE runs
SET owner_replica = '', claim_token = '', lease_until = (SELECT ms FROM clock)
WHERE run_id = :run_id AND attempt = :attempt AND claim_token = :token AND status = 'running'
RETURNING run_id;

-- name: fence
SELECT 1
FROM runs
WHERE run_id = :run_id AND attempt = :attempt AND claim_token = :token AND status = 'running';

-- name: beat
UPDATE runs
SET lease_until = (SELECT ms FROM clock) + :lease_ms
WHERE
    status = 'running'
    AND (run_id, attempt, claim_token) IN (
        SELECT value ->> 0, value ->> 1, value ->> 2
        FROM json_each(:claims)
    );

-- name: beaten
SELECT
    c.value ->> 0 AS run_id,
    r.run_id IS NULL OR r.attempt <> c.value ->> 1 OR r.claim_token <> c.value ->> 2 AS superseded,
    r.status = 'running' AND r.cancel_requested_at IS NOT NULL AS cancel_requested
FROM json_each(:claims) AS c
LEFT JOIN runs AS r ON c.value ->> 0 = r.run_id;

-- name: advance
UPDATE runs
SET last_seq = last_seq + :count
WHERE run_id = :run_id AND attempt = :attempt AND claim_token = :token AND status = 'running' AND last_seq = COALESCE(:after, last_seq)
RETURNING last_seq, (SELECT ms FROM clock) AS at;

-- name: end_run
UPDATE runs
SET
    last_seq = last_seq + :count,
    status = :status,
    error_code = :error_code,
    usage = :usage,
    input = NULL,
    finished_at = (SELECT ms FROM clock)
WHERE run_id = :run_id AND attempt = :attempt AND claim_token = :token AND status = 'running' AND last_seq = COALESCE(:after, last_seq)
RETURNING last_seq, finished_at AS at;

-- name: insert_events
INSERT INTO run_events (run_id, seq, attempt, at, type, event)
VALUES (?, ?, ?, ?, ?, ?);

-- name: request_cancel
UPDATE runs
SET
    cancel_requested_at = COALESCE(cancel_requested_at, (SELECT ms FROM clock)),
    cancel_reason = COALESCE(cancel_reason, :reason)
WHERE run_id = :run_id AND status = 'running'
RETURNING run_id;

-- name: read
SELECT run_id, seq, attempt, at, type, event
FROM run_events
WHERE run_id = :run_id AND seq > :after
ORDER BY seq
LIMIT :limit;

-- name: head
SELECT COALESCE(MAX(seq), 0) AS seq
FROM run_events
WHERE run_id = :run_id;

-- name: get_tool_call
SELECT thread_id, tool_call_id, run_id, name, status, result, outcome
FROM tool_calls
WHERE thread_id = :thread_id AND tool_call_id = :tool_call_id;

-- name: insert_tool_call
INSERT INTO tool_calls (thread_id, tool_call_id, run_id, name, started_at)
SELECT :thread_id, :tool_call_id, :run_id, :name, ms
FROM clock;

-- name: resume_tool_call
UPDATE tool_calls
SET status = 'running', run_id = :run_id, result = NULL, outcome = NULL, ended_at = NULL
WHERE thread_id = :thread_id AND tool_call_id = :tool_call_id;

-- name: end_tool_call
UPDATE tool_calls
SET status = :status, result = :result, outcome = :outcome, ended_at = (SELECT ms FROM clock)
WHERE thread_id = :thread_id AND tool_call_id = :tool_call_id;

-- name: tool_calls
SELECT thread_id, tool_call_id, run_id, name, status, result, outcome
FROM tool_calls
WHERE thread_id = :thread_id
ORDER BY started_at, tool_call_id;

-- name: ping
SELECT ms
FROM clock;

-- name: touch
UPDATE schema_version
SET applied_at = applied_at
WHERE version = 1;

-- name: interrupts
SELECT
    thread_id, interrupt_id, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id, status,
    created_at, expires_at, answer, answer_digest, answered_by, answered_at, answer_run_id, outcome, ended_at,
    COALESCE(expires_at <= (SELECT ms FROM clock), FALSE) AS late,
    COALESCE((SELECT r.number FROM runs AS r WHERE r.run_id = interrupts.run_id), 0) AS run_number,
    (SELECT r.number FROM runs AS r WHERE r.run_id = interrupts.answer_run_id) AS answer_run_number
FROM interrupts
WHERE thread_id = :thread_id
ORDER BY place;

-- name: get_interrupt
SELECT
    thread_id, interrupt_id, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id, status,
    created_at, expires_at, answer, answer_digest, answered_by, answered_at, answer_run_id, outcome, ended_at,
    COALESCE(expires_at <= (SELECT ms FROM clock), FALSE) AS late,
    COALESCE((SELECT r.number FROM runs AS r WHERE r.run_id = interrupts.run_id), 0) AS run_number,
    (SELECT r.number FROM runs AS r WHERE r.run_id = interrupts.answer_run_id) AS answer_run_number
FROM interrupts
WHERE thread_id = :thread_id AND interrupt_id = :interrupt_id;

-- name: insert_interrupt
INSERT INTO interrupts (
    thread_id, interrupt_id, place, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id,
    created_at, expires_at
)
SELECT
    :thread_id, :interrupt_id,
    (SELECT COALESCE(MAX(place), 0) + 1 FROM interrupts WHERE thread_id = :thread_id),
    :run_id, :kind, :channel, :tool_call_id, :call_key, :tool, :payload, :args_digest, :roles, :root_id, ms, ms + :ttl_ms
FROM clock;

-- name: answer_interrupt
UPDATE interrupts
SET
    status = :status,
    answer = :answer,
    answer_digest = :digest,
    answered_by = :by,
    answered_at = (SELECT ms FROM clock),
    answer_run_id = :run_id,
    outcome = COALESCE(:outcome, outcome)
WHERE thread_id = :thread_id AND interrupt_id = :interrupt_id AND status = 'pending';

-- name: insert_answer
INSERT INTO interrupt_answers (thread_id, place, interrupt_id, run_id, at, by, channel, decision, payload, digest, verdict)
SELECT
    :thread_id,
    (SELECT COALESCE(MAX(place), 0) + 1 FROM interrupt_answers WHERE thread_id = :thread_id),
    :interrupt_id, :run_id, ms, :by, :channel, :decision, :payload, :digest, :verdict
FROM clock;

-- name: begin_interrupt
UPDATE interrupts
SET status = 'executing', ended_at = NULL
WHERE
    thread_id = :thread_id AND interrupt_id = :interrupt_id
    AND status IN ('approved', 'edited', 'indeterminate') AND answer_digest = :digest
RETURNING interrupt_id;

-- name: move_interrupt
UPDATE interrupts
SET status = :status, outcome = :outcome, ended_at = (SELECT ms FROM clock)
WHERE thread_id = :thread_id AND interrupt_id = :interrupt_id;

-- name: has_expired
SELECT 1
FROM interrupts
WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= (SELECT ms FROM clock)
LIMIT 1;

-- name: expire_interrupts
UPDATE interrupts
SET status = 'expired', ended_at = (SELECT ms FROM clock)
WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= (SELECT ms FROM clock)
RETURNING interrupt_id;

-- name: interrupt_answers
SELECT interrupt_id, run_id, at, by, channel, decision, payload, digest, verdict
FROM interrupt_answers
WHERE thread_id = :thread_id
ORDER BY place;
