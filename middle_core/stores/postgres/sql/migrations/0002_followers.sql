-- Which runs are followed at a replica that does not own them. One row for a run and a replica, however many clients follow there.
CREATE TABLE followers (
    thread_id uuid NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
    run_id uuid NOT NULL,
    replica text NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (thread_id, run_id, replica)
);

-- What nobody took back, because its replica died.
CREATE INDEX followers_until ON followers (until);
