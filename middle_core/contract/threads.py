"""`/threads`: the caller's conversations. Times are milliseconds since the epoch."""

from __future__ import annotations

from middle_core.contract.wire import Camel
from middle_core.errors import ErrorCode
from middle_core.eventlog.records import RunStatus


class ThreadItem(Camel):
    """A row of the list. `running`: whether a run is active in it."""

    thread_id: str
    title: str
    agent: str
    created_at: int
    updated_at: int
    running: bool


class ThreadPage(Camel):
    """Newest first. `next` is passed back as `cursor`; null on the last page."""

    threads: list[ThreadItem]
    next: str | None


class RunItem(Camel):
    """A run of the thread. `run_id` is ours, `client_run_id` is what the client called it."""

    run_id: str
    client_run_id: str
    status: RunStatus
    error_code: ErrorCode | None
    started_at: int
    finished_at: int | None


class ThreadDetail(ThreadItem):
    """One thread with its active and its last run."""

    active_run: RunItem | None
    last_run: RunItem | None
