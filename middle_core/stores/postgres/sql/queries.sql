-- Every statement of the Postgres adapter, by name. `middle_core_ms()` is the database's time in milliseconds.

-- name: begin
-- Every transaction that writes begins so. By its number it can be asked afterwards whether it committed.
SELECT pg_current_xact_id()::text AS number, set_config('synchronous_commit', %(commit)s, TRUE) AS synchronous_commit;

-- name: transaction_status
SELECT pg_xact_status(%(number)s::xid8) AS status;

-- name: get_thread
SELECT thread_id, owner, client_thread_id, agent, title, created_at, updated_at
FROM threads
WHERE owner = %(owner)s AND client_thread_id = %(client_thread_id)s;

-- name: insert_thread
INSERT INTO threads (thread_id, owner, client_thread_id, agent, created_at, updated_at)
SELECT %(thread_id)s, %(owner)s, %(client_thread_id)s, %(agent)s, clock.ms, clock.ms
FROM middle_core_ms() AS clock (ms)
ON CONFLICT (owner, client_thread_id) DO NOTHING;

-- name: list_threads
SELECT
    thread_id, owner, client_thread_id, agent, title, created_at, updated_at,
    EXISTS (SELECT 1 FROM runs AS r WHERE r.thread_id = threads.thread_id AND r.status = 'running') AS running
FROM threads
WHERE owner = %(owner)s
ORDER BY updated_at DESC, thread_id DESC
LIMIT %(limit)s;

-- name: list_threads_before
SELECT
    thread_id, owner, client_thread_id, agent, title, created_at, updated_at,
    EXISTS (SELECT 1 FROM runs AS r WHERE r.thread_id = threads.thread_id AND r.status = 'running') AS running
FROM threads
WHERE owner = %(owner)s AND (updated_at, thread_id) < (%(updated_at)s, %(thread_id)s)
ORDER BY updated_at DESC, thread_id DESC
LIMIT %(limit)s;

-- name: set_title
UPDATE threads
SET title = %(title)s
WHERE thread_id = %(thread_id)s AND (title = '' OR NOT %(only_if_empty)s);

-- name: touch_thread
UPDATE threads
SET updated_at = %(at)s
WHERE thread_id = %(thread_id)s;

-- name: lock_thread
SELECT thread_id, agent, title
FROM threads
WHERE thread_id = %(thread_id)s
FOR NO KEY UPDATE;

-- name: delete_events
DELETE FROM run_events
WHERE thread_id = %(thread_id)s;

-- name: delete_thread
DELETE FROM threads
WHERE thread_id = %(thread_id)s;

-- name: delete_checkpoints
DELETE FROM checkpoints
WHERE thread_id = %(thread_id)s::text;

-- name: delete_checkpoint_blobs
DELETE FROM checkpoint_blobs
WHERE thread_id = %(thread_id)s::text;

-- name: delete_checkpoint_writes
DELETE FROM checkpoint_writes
WHERE thread_id = %(thread_id)s::text;

-- name: run_ids
SELECT run_id
FROM runs
WHERE thread_id = %(thread_id)s;

-- name: run_of_key
SELECT run_id, input_digest
FROM runs
WHERE thread_id = %(thread_id)s AND idempotency_key = %(idempotency_key)s;

-- name: runs_of_client_id
SELECT run_id, input_digest
FROM runs
WHERE thread_id = %(thread_id)s AND client_run_id = %(client_run_id)s
ORDER BY number DESC;

-- name: insert_run
INSERT INTO runs (
    thread_id, run_id, number, client_run_id, input_digest, idempotency_key, agent, parent_run_id,
    owner_replica, claim_token, lease_until, started_at, last_seq, input
)
SELECT
    %(thread_id)s, %(run_id)s,
    (SELECT coalesce(max(number), 0) + 1 FROM runs WHERE thread_id = %(thread_id)s),
    %(client_run_id)s, %(input_digest)s, %(idempotency_key)s, %(agent)s, %(parent_run_id)s,
    %(replica)s, %(token)s, clock.ms + %(lease_ms)s, clock.ms, %(last_seq)s, %(input)s
FROM middle_core_ms() AS clock (ms)
RETURNING started_at;

-- name: get_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.run_id = %(run_id)s;

-- name: run_input
SELECT input
FROM runs
WHERE run_id = %(run_id)s AND input IS NOT NULL;

-- name: find_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.thread_id = %(thread_id)s AND r.client_run_id = %(client_run_id)s
ORDER BY r.number DESC
LIMIT 1;

-- name: active_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.thread_id = %(thread_id)s AND r.status = 'running';

-- name: last_run
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.thread_id = %(thread_id)s
ORDER BY r.number DESC
LIMIT 1;

-- name: running_on
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE r.status = 'running' AND r.owner_replica = %(replica)s;

-- name: orphans
SELECT
    r.run_id, r.thread_id, r.number, t.owner, t.client_thread_id, r.client_run_id, r.agent, r.parent_run_id, r.attempt,
    r.status, r.owner_replica, r.lease_until, r.cancel_requested_at, r.cancel_reason, r.error_code,
    r.started_at, r.finished_at, r.last_seq
FROM runs AS r
INNER JOIN threads AS t ON r.thread_id = t.thread_id
WHERE
    r.status = 'running' AND r.owner_replica <> %(replica)s
    AND r.lease_until <= middle_core_ms() - %(for_ms)s AND (%(leases_end)s OR r.owner_replica = '')
ORDER BY r.lease_until
LIMIT 500;

-- name: claim
-- FOR UPDATE waits for every transaction that has checked the claim before this one (`fence`), so that none of them commits afterwards.
WITH taken AS (
    SELECT thread_id, run_id
    FROM runs
    WHERE
        run_id = %(run_id)s AND status = 'running' AND attempt = %(attempt)s
        AND (owner_replica IN ('', %(replica)s) OR (%(leases_end)s AND lease_until <= middle_core_ms()))
    FOR UPDATE
)

UPDATE runs AS r
SET
    attempt = r.attempt + 1,
    last_seq = r.last_seq + %(gap)s,
    owner_replica = %(replica)s,
    claim_token = %(token)s,
    lease_until = middle_core_ms() + %(lease_ms)s
FROM taken AS t
WHERE r.thread_id = t.thread_id AND r.run_id = t.run_id
RETURNING r.thread_id, r.attempt, r.last_seq;

-- name: release
UPDATE runs
SET owner_replica = '', claim_token = '', lease_until = middle_core_ms()
WHERE
    thread_id = %(thread_id)s AND run_id = %(run_id)s AND attempt = %(attempt)s AND claim_token = %(token)s AND status = 'running'
RETURNING run_id;

-- name: fence
SELECT 1
FROM runs
WHERE
    thread_id = %(thread_id)s AND run_id = %(run_id)s AND attempt = %(attempt)s AND claim_token = %(token)s AND status = 'running'
FOR KEY SHARE;

-- name: beat
-- Rows are locked in the order of their ids, here and in `append`: two statements over the same runs never wait for each other.
WITH mine AS (
    SELECT r.thread_id, r.run_id
    FROM runs AS r
    INNER JOIN unnest(%(run_ids)s::uuid[], %(attempts)s::integer[], %(tokens)s::text[]) AS c (run_id, attempt, token)
        ON r.run_id = c.run_id AND r.attempt = c.attempt AND r.claim_token = c.token
    WHERE r.status = 'running'
    ORDER BY r.run_id
    FOR NO KEY UPDATE OF r
)

UPDATE runs AS r
SET lease_until = middle_core_ms() + %(lease_ms)s
FROM mine AS m
WHERE r.thread_id = m.thread_id AND r.run_id = m.run_id;

-- name: beaten
SELECT
    c.run_id,
    r.run_id IS NULL OR r.attempt <> c.attempt OR r.claim_token <> c.token AS superseded,
    coalesce(r.status = 'running' AND r.cancel_requested_at IS NOT NULL, FALSE) AS cancel_requested
FROM unnest(%(run_ids)s::uuid[], %(attempts)s::integer[], %(tokens)s::text[]) AS c (run_id, attempt, token)
LEFT JOIN runs AS r ON c.run_id = r.run_id;

-- name: append
-- The appends of several runs in one statement. `index` numbers the appends, in ascending order within the arrays of events.
-- An append whose claim does not hold any more, or that does not follow the last one, moves no row and gets none back.
WITH clock AS MATERIALIZED (
    SELECT middle_core_ms() AS ms
),

claims AS (
    SELECT *
    FROM unnest(
        %(indexes)s::integer[], %(thread_ids)s::uuid[], %(run_ids)s::uuid[], %(attempts)s::integer[], %(tokens)s::text[],
        %(counts)s::integer[], %(afters)s::bigint[]
    ) AS c (index, thread_id, run_id, attempt, token, count, after)
),

held AS (
    SELECT c.index, c.count, r.thread_id, r.run_id
    FROM runs AS r
    INNER JOIN claims AS c
        ON
            r.thread_id = c.thread_id AND r.run_id = c.run_id AND r.attempt = c.attempt AND r.claim_token = c.token
            AND r.last_seq = coalesce(c.after, r.last_seq)
    WHERE r.status = 'running'
    ORDER BY r.run_id
    FOR NO KEY UPDATE OF r
),

advanced AS (
    UPDATE runs AS r
    SET last_seq = r.last_seq + h.count
    FROM held AS h
    CROSS JOIN clock AS t
    WHERE r.thread_id = h.thread_id AND r.run_id = h.run_id
    RETURNING h.index, r.thread_id, r.run_id, r.attempt, r.started_at, r.last_seq - h.count AS floor, t.ms AS at
),

written AS (
    INSERT INTO run_events (thread_id, run_id, run_started_at, seq, attempt, at, type, event)
    SELECT a.thread_id, a.run_id, a.started_at, a.floor + e.number, a.attempt, a.at, e.type, e.event
    FROM advanced AS a
    INNER JOIN unnest(%(event_indexes)s::integer[], %(numbers)s::integer[], %(types)s::text[], %(events)s::bytea[])
        AS e (index, number, type, event) ON a.index = e.index
)

SELECT a.index, a.floor, a.at
FROM advanced AS a;

-- name: lock_run
SELECT last_seq, started_at
FROM runs
WHERE
    thread_id = %(thread_id)s AND run_id = %(run_id)s AND attempt = %(attempt)s AND claim_token = %(token)s AND status = 'running'
FOR NO KEY UPDATE;

-- name: restore_events
INSERT INTO run_events (thread_id, run_id, run_started_at, seq, attempt, at, type, event)
SELECT %(thread_id)s, %(run_id)s, %(run_started_at)s, e.seq, %(attempt)s, e.at, e.type, e.event
FROM unnest(%(seqs)s::bigint[], %(ats)s::bigint[], %(types)s::text[], %(events)s::bytea[]) AS e (seq, at, type, event);

-- name: restore_run
UPDATE runs
SET last_seq = %(last_seq)s
WHERE thread_id = %(thread_id)s AND run_id = %(run_id)s;

-- name: end_run
WITH held AS (
    SELECT r.thread_id, r.run_id
    FROM runs AS r
    WHERE
        r.thread_id = %(thread_id)s AND r.run_id = %(run_id)s AND r.attempt = %(attempt)s AND r.claim_token = %(token)s
        AND r.status = 'running' AND r.last_seq = coalesce(%(after)s::bigint, r.last_seq)
    FOR UPDATE
)

UPDATE runs AS r
SET
    last_seq = r.last_seq + %(count)s,
    status = %(status)s,
    error_code = %(error_code)s,
    usage = %(usage)s,
    input = NULL,
    finished_at = middle_core_ms()
FROM held AS h
WHERE r.thread_id = h.thread_id AND r.run_id = h.run_id
RETURNING r.last_seq, r.started_at, r.finished_at AS at;

-- name: insert_events
INSERT INTO run_events (thread_id, run_id, run_started_at, seq, attempt, at, type, event)
SELECT %(thread_id)s, %(run_id)s, %(run_started_at)s, %(floor)s + e.number, %(attempt)s, %(at)s, e.type, e.event
FROM unnest(%(numbers)s::integer[], %(types)s::text[], %(events)s::bytea[]) AS e (number, type, event);

-- name: request_cancel
UPDATE runs
SET
    cancel_requested_at = coalesce(cancel_requested_at, middle_core_ms()),
    cancel_reason = coalesce(cancel_reason, %(reason)s)
WHERE run_id = %(run_id)s AND status = 'running'
RETURNING run_id;

-- name: read
-- Up to the limit, or about %(bytes)s bytes: the record that goes beyond is the last one.
WITH found AS (
    SELECT e.seq, e.attempt, e.at, e.type, e.event
    FROM runs AS r
    INNER JOIN run_events AS e ON r.thread_id = e.thread_id AND r.run_id = e.run_id AND r.started_at = e.run_started_at
    WHERE r.run_id = %(run_id)s AND e.seq > %(after)s
    ORDER BY e.seq
    LIMIT %(limit)s
),

sized AS (
    SELECT found.*, sum(length(event)) OVER (ORDER BY seq) - length(event) AS before
    FROM found
)

SELECT seq, attempt, at, type, event
FROM sized
WHERE before < %(bytes)s
ORDER BY seq;

-- name: notify
SELECT pg_notify(%(channel)s, payload)
FROM unnest(%(payloads)s::text[]) AS said (payload);

-- name: head
SELECT coalesce(max(e.seq), 0) AS seq
FROM runs AS r
INNER JOIN run_events AS e ON r.thread_id = e.thread_id AND r.run_id = e.run_id AND r.started_at = e.run_started_at
WHERE r.run_id = %(run_id)s;

-- name: get_tool_call
SELECT thread_id, tool_call_id, run_id, name, status, result, outcome
FROM tool_calls
WHERE thread_id = %(thread_id)s AND tool_call_id = %(tool_call_id)s;

-- name: insert_tool_call
INSERT INTO tool_calls (thread_id, tool_call_id, run_id, name, started_at)
SELECT %(thread_id)s, %(tool_call_id)s, %(run_id)s, %(name)s, middle_core_ms();

-- name: resume_tool_call
UPDATE tool_calls
SET status = 'running', run_id = %(run_id)s, result = NULL, outcome = NULL, ended_at = NULL
WHERE thread_id = %(thread_id)s AND tool_call_id = %(tool_call_id)s;

-- name: end_tool_call
UPDATE tool_calls
SET status = %(status)s, result = %(result)s, outcome = %(outcome)s, ended_at = middle_core_ms()
WHERE thread_id = %(thread_id)s AND tool_call_id = %(tool_call_id)s;

-- name: tool_calls
SELECT thread_id, tool_call_id, run_id, name, status, result, outcome
FROM tool_calls
WHERE thread_id = %(thread_id)s
ORDER BY started_at, tool_call_id;

-- name: ping
SELECT middle_core_ms() AS ms, pg_is_in_recovery() AS read_only;

-- name: interrupts
SELECT
    thread_id, interrupt_id, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id, status,
    created_at, expires_at, answer, answer_digest, answered_by, answered_at, answer_run_id, outcome, ended_at,
    coalesce(expires_at <= middle_core_ms(), FALSE) AS late,
    coalesce((SELECT r.number FROM runs AS r WHERE r.thread_id = interrupts.thread_id AND r.run_id = interrupts.run_id), 0) AS run_number,
    (SELECT r.number FROM runs AS r WHERE r.thread_id = interrupts.thread_id AND r.run_id = interrupts.answer_run_id) AS answer_run_number
FROM interrupts
WHERE thread_id = %(thread_id)s
ORDER BY place;

-- name: get_interrupt
SELECT
    thread_id, interrupt_id, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id, status,
    created_at, expires_at, answer, answer_digest, answered_by, answered_at, answer_run_id, outcome, ended_at,
    coalesce(expires_at <= middle_core_ms(), FALSE) AS late,
    coalesce((SELECT r.number FROM runs AS r WHERE r.thread_id = interrupts.thread_id AND r.run_id = interrupts.run_id), 0) AS run_number,
    (SELECT r.number FROM runs AS r WHERE r.thread_id = interrupts.thread_id AND r.run_id = interrupts.answer_run_id) AS answer_run_number
FROM interrupts
WHERE thread_id = %(thread_id)s AND interrupt_id = %(interrupt_id)s;

-- name: insert_interrupt
INSERT INTO interrupts (
    thread_id, interrupt_id, place, run_id, kind, channel, tool_call_id, call_key, tool, payload, args_digest, roles, root_id,
    created_at, expires_at
)
SELECT
    %(thread_id)s, %(interrupt_id)s,
    (SELECT coalesce(max(place), 0) + 1 FROM interrupts WHERE thread_id = %(thread_id)s),
    %(run_id)s, %(kind)s, %(channel)s, %(tool_call_id)s, %(call_key)s, %(tool)s, %(payload)s, %(args_digest)s, %(roles)s, %(root_id)s,
    clock.ms, clock.ms + %(ttl_ms)s::bigint
FROM middle_core_ms() AS clock (ms);

-- name: answer_interrupt
UPDATE interrupts
SET
    status = %(status)s,
    answer = %(answer)s,
    answer_digest = %(digest)s,
    answered_by = %(by)s,
    answered_at = middle_core_ms(),
    answer_run_id = %(run_id)s,
    outcome = coalesce(%(outcome)s, outcome)
WHERE thread_id = %(thread_id)s AND interrupt_id = %(interrupt_id)s AND status = 'pending';

-- name: insert_answer
INSERT INTO interrupt_answers (thread_id, place, interrupt_id, run_id, at, answered_by, channel, decision, payload, digest, verdict)
SELECT
    %(thread_id)s,
    (SELECT coalesce(max(place), 0) + 1 FROM interrupt_answers WHERE thread_id = %(thread_id)s),
    %(interrupt_id)s, %(run_id)s, middle_core_ms(), %(by)s, %(channel)s, %(decision)s, %(payload)s, %(digest)s, %(verdict)s;

-- name: begin_interrupt
UPDATE interrupts
SET status = 'executing', ended_at = NULL
WHERE
    thread_id = %(thread_id)s AND interrupt_id = %(interrupt_id)s
    AND status IN ('approved', 'edited', 'indeterminate') AND answer_digest = %(digest)s
RETURNING interrupt_id;

-- name: move_interrupt
UPDATE interrupts
SET status = %(status)s, outcome = %(outcome)s, ended_at = middle_core_ms()
WHERE thread_id = %(thread_id)s AND interrupt_id = %(interrupt_id)s;

-- name: expire_interrupts
UPDATE interrupts
SET status = 'expired', ended_at = middle_core_ms()
WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= middle_core_ms()
RETURNING interrupt_id;

-- name: interrupt_answers
SELECT interrupt_id, run_id, at, answered_by AS by, channel, decision, payload, digest, verdict
FROM interrupt_answers
WHERE thread_id = %(thread_id)s
ORDER BY place;

-- name: follow_elsewhere
INSERT INTO followers (thread_id, run_id, replica, until)
SELECT r.thread_id, r.run_id, %(replica)s, middle_core_ms() + %(for_ms)s
FROM runs AS r
WHERE r.run_id = ANY(%(run_ids)s::uuid[]) AND r.status = 'running' AND r.owner_replica <> %(replica)s
ORDER BY r.run_id
ON CONFLICT (thread_id, run_id, replica) DO UPDATE SET until = excluded.until;

-- name: unfollow_elsewhere
DELETE FROM followers AS f
USING runs AS r
WHERE r.run_id = ANY(%(run_ids)s::uuid[]) AND f.thread_id = r.thread_id AND f.run_id = r.run_id AND f.replica = %(replica)s;

-- name: followed_elsewhere
SELECT 1
FROM followers AS f
INNER JOIN runs AS r ON f.thread_id = r.thread_id AND f.run_id = r.run_id
WHERE r.run_id = %(run_id)s AND f.replica <> %(replica)s AND f.until > middle_core_ms()
LIMIT 1;

-- name: forget_followers
DELETE FROM followers
WHERE until <= middle_core_ms() - %(older_ms)s;

-- name: partitions
SELECT c.relname AS name
FROM pg_inherits AS i
INNER JOIN pg_class AS c ON i.inhrelid = c.oid
WHERE i.inhparent = 'run_events'::regclass;

-- name: running_in
SELECT 1
FROM runs
WHERE status = 'running' AND started_at >= %(from)s AND started_at < %(to)s
LIMIT 1;

-- name: delete_runs_in
DELETE FROM runs
WHERE started_at >= %(from)s AND started_at < %(to)s;

-- name: columns
SELECT attname AS name, atttypid::regtype::text AS type
FROM pg_attribute
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped;
