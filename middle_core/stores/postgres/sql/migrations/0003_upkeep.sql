-- What retention deletes when it drops a partition of the events.
CREATE INDEX runs_started ON runs (started_at);

-- One statement sees one time. Of a volatile function Postgres would not look a bound up in an index.
ALTER FUNCTION middle_core_ms() STABLE;
