-- Runs are ordered by their number in the thread, and those of a replica are found by an index.
ALTER TABLE runs ADD COLUMN number INTEGER NOT NULL DEFAULT 0;

UPDATE runs
SET number = numbered.number
FROM (
    SELECT run_id, ROW_NUMBER() OVER (PARTITION BY thread_id ORDER BY started_at, run_id) AS number
    FROM runs
) AS numbered
WHERE runs.run_id = numbered.run_id;

DROP INDEX runs_newest;

CREATE UNIQUE INDEX runs_order ON runs (thread_id, number);

CREATE INDEX runs_of_replica ON runs (owner_replica) WHERE status = 'running';
