"""The event log in one SQLite file: for one replica, with nothing else to install.

A read that `tail` can answer never leaves the loop. It knows no LangGraph: `stores.sqlite.checkpoints` writes into the same file.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import Awaitable, Sequence
from contextlib import closing
from typing import Any, Protocol

import uuid_utils

from middle_core.errors import InvalidRequest, NotFound, RunIdConflict, Superseded, ThreadBusy
from middle_core.eventlog.lifecycle import check_tool_move
from middle_core.eventlog.port import RunWriter
from middle_core.eventlog.records import (
    Beat,
    Claim,
    Ending,
    Existing,
    ListedThread,
    NewRun,
    Run,
    RunStatus,
    Started,
    Thread,
    ToolCall,
    ToolCallStatus,
)
from middle_core.events import ClientRunId, ClientThreadId, Event, Owner, Record, RunId, ThreadId
from middle_core.stores.encoding import ATTEMPT_GAP, READ_BYTES, Encoded, encode, encode_first, run_row, usage_text, waits_for_disk
from middle_core.stores.sqlite.database import Params, SqliteDatabase, fence
from middle_core.stores.tail import Tails


class SqliteEventLog:
    """The `EventLog` of one process."""

    def __init__(self, database: SqliteDatabase, tails: Tails) -> None:
        self._database = database
        self._tails = tails

    # threads ---------------------------------------------------------------------------------------
    async def open_thread(self, owner: Owner, client_thread_id: ClientThreadId, agent: str) -> Thread:
        if (known := await self.get_thread(owner, client_thread_id)) is not None:
            return known
        params = {"owner": owner, "client_thread_id": client_thread_id, "agent": agent, "thread_id": str(uuid_utils.uuid7())}

        def work(db: sqlite3.Connection) -> Thread:
            self._database.run(db, "insert_thread", params)
            return Thread(**self._database.run(db, "get_thread", params)[0])

        return await self._database.write(work)

    async def get_thread(self, owner: Owner, client_thread_id: ClientThreadId) -> Thread | None:
        row = await self._read_one("get_thread", {"owner": owner, "client_thread_id": client_thread_id})
        return None if row is None else Thread(**row)

    async def list_threads(self, owner: Owner, *, limit: int, before: tuple[int, ThreadId] | None = None) -> list[ListedThread]:
        if before is None:
            rows = await self._database.rows("list_threads", {"owner": owner, "limit": limit})
        else:
            params = {"owner": owner, "limit": limit, "updated_at": before[0], "thread_id": before[1]}
            rows = await self._database.rows("list_threads_before", params)
        return [_listed(row) for row in rows]

    async def set_title(self, thread_id: ThreadId, title: str, *, only_if_empty: bool) -> None:
        params = {"thread_id": thread_id, "title": title, "only_if_empty": only_if_empty}
        await self._database.write(lambda db: self._database.run(db, "set_title", params))

    async def delete_thread(self, thread_id: ThreadId) -> None:
        params = {"thread_id": thread_id}

        def work(db: sqlite3.Connection) -> list[RunId]:
            if self._database.run(db, "active_run", params):
                raise ThreadBusy
            gone = [row["run_id"] for row in self._database.run(db, "run_ids", params)]
            self._database.run(db, "delete_thread", params)
            for row in self._database.run(db, "checkpoint_tables", {}):  # LangGraph's; absent where no graph has run yet
                self._database.run(db, f"delete_{row['name']}", params)
            return gone

        def committed(gone: list[RunId]) -> None:
            for run_id in gone:
                self._tails.forget(run_id)

        await self._database.write(work, committed=committed)

    # runs ------------------------------------------------------------------------------------------
    async def create_run(self, new: NewRun, first: Sequence[Event]) -> Started | Existing:
        encoded = encode_first(first)
        token = secrets.token_urlsafe(16)
        params = run_row(new, thread_id=new.thread_id, token=token, last_seq=len(encoded))

        def work(db: sqlite3.Connection) -> tuple[Started | Existing, list[Record]]:
            thread_id = params["thread_id"] = self._thread_of(db, new)
            if (earlier := self._earlier(db, new, thread_id)) is not None:
                return Existing(_run(self._database.run(db, "get_run", {"run_id": earlier})[0])), []
            if self._database.run(db, "active_run", params):
                raise ThreadBusy
            at = self._database.run(db, "insert_run", params)[0]["started_at"]
            self._database.run(db, "touch_thread", {"thread_id": thread_id, "at": at})
            records = self._insert(db, new.run_id, 1, at, last_seq=len(encoded), encoded=encoded)
            run = _run(self._database.run(db, "get_run", params)[0])
            return Started(run, Claim(new.run_id, thread_id, run.attempt, run.last_seq, token)), records

        started, _ = await self._database.write(work, committed=lambda result: self._publish(result[1]))
        return started

    async def get_run(self, run_id: RunId) -> Run | None:
        return await self._read_run("get_run", {"run_id": run_id})

    async def find_run(self, thread_id: ThreadId, client_run_id: ClientRunId) -> Run | None:
        return await self._read_run("find_run", {"thread_id": thread_id, "client_run_id": client_run_id})

    async def active_run(self, thread_id: ThreadId) -> Run | None:
        return await self._read_run("active_run", {"thread_id": thread_id})

    async def last_run(self, thread_id: ThreadId) -> Run | None:
        return await self._read_run("last_run", {"thread_id": thread_id})

    async def running_on(self, replica: str) -> list[Run]:
        return [_run(row) for row in await self._database.rows("running_on", {"replica": replica})]

    async def run_input(self, run_id: RunId) -> bytes | None:
        row = await self._read_one("run_input", {"run_id": run_id})
        return None if row is None else bytes(row["input"])

    async def orphans(self, replica: str, *, for_s: float) -> list[Run]:
        params = {"replica": replica, "for_ms": round(for_s * 1000)}
        return [_run(row) for row in await self._database.rows("orphans", params)]

    async def claim(self, run_id: RunId, *, attempt: int, replica: str, lease_s: float) -> Claim:
        token = secrets.token_urlsafe(16)
        lease = {"replica": replica, "token": token, "lease_ms": round(lease_s * 1000)}
        params = {"run_id": run_id, "attempt": attempt, "gap": ATTEMPT_GAP - 1, **lease}

        def work(db: sqlite3.Connection) -> Claim:
            if rows := self._database.run(db, "claim", params):
                return Claim(run_id, rows[0]["thread_id"], rows[0]["attempt"], rows[0]["last_seq"], token)
            found = self._database.run(db, "get_run", params)
            raise Superseded if found and _run(found[0]).status.active else NotFound

        return await self._database.write(work)

    async def release(self, claim: Claim) -> None:
        def work(db: sqlite3.Connection) -> None:
            if not self._database.run(db, "release", fence(claim)):
                raise Superseded

        await self._database.write(work)

    async def beat(self, claims: Sequence[Claim], *, lease_s: float) -> Beat:
        if not claims:
            return Beat(frozenset(), frozenset())
        params = {"claims": json.dumps([(c.run_id, c.attempt, c.token) for c in claims]), "lease_ms": round(lease_s * 1000)}

        def work(db: sqlite3.Connection) -> Beat:
            self._database.run(db, "beat", params)
            rows = self._database.run(db, "beaten", params)
            superseded = frozenset(row["run_id"] for row in rows if row["superseded"])
            return Beat(superseded, frozenset(row["run_id"] for row in rows if row["cancel_requested"]) - superseded)

        return await self._database.write(work)

    async def append(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None = None) -> list[Record]:
        return await self._append(claim, events, ending=ending, after=None)

    def writer(self, claim: Claim) -> RunWriter:
        return SqliteRunWriter(self._append, claim)

    async def _append(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None, after: int | None) -> list[Record]:
        """after: the seq that the log must end with; None means any."""
        encoded = encode(events, ending)
        params: dict[str, Any] = {**fence(claim), "count": len(encoded), "after": after}
        if ending is not None:
            params |= {"status": ending.status.value, "error_code": ending.error_code, "usage": usage_text(ending)}

        def work(db: sqlite3.Connection) -> list[Record]:
            if not (rows := self._database.run(db, "advance" if ending is None else "end_run", params)):
                raise Superseded
            last_seq, at = rows[0]
            if ending is not None:
                self._database.run(db, "touch_thread", {"thread_id": claim.thread_id, "at": at})
            return self._insert(db, claim.run_id, claim.attempt, at, last_seq=last_seq, encoded=encoded)

        return await self._database.write(work, to_disk=waits_for_disk(encoded, ending), committed=self._publish)

    async def request_cancel(self, run_id: RunId, reason: str) -> bool:
        params = {"run_id": run_id, "reason": reason}
        return bool(await self._database.write(lambda db: self._database.run(db, "request_cancel", params)))

    # events ----------------------------------------------------------------------------------------
    async def read(self, run_id: RunId, *, after: int, limit: int) -> list[Record]:
        records = self._tails.read(run_id, after=after, limit=limit)
        if records is None:
            records = await self._database.read(lambda db: self._records(db, {"run_id": run_id, "after": after, "limit": limit}))
        return records

    async def changed(self, run_id: RunId, *, after: int, within_s: float) -> bool:
        # Watch first and look second: what is committed in between wakes the watch.
        watch = self._tails.watch(run_id)
        try:
            head = self._tails.head(run_id)
            if head is None:
                # Not the run's last_seq: a claim moves that before there is anything to read.
                [(head,)] = await self._database.rows("head", {"run_id": run_id})
            if head > after:
                return True
            async with asyncio.timeout(within_s):
                await watch
        except TimeoutError:
            return False
        else:
            return True
        finally:
            self._tails.unwatch(run_id, watch)

    # tool ledger -----------------------------------------------------------------------------------
    async def tool_begin(self, claim: Claim, tool_call_id: str, name: str) -> ToolCall | None:
        params = {"thread_id": claim.thread_id, "tool_call_id": tool_call_id, "run_id": claim.run_id, "name": name}

        def work(db: sqlite3.Connection) -> ToolCall | None:
            if not (earlier := self._database.run(db, "get_tool_call", params)):
                self._database.run(db, "insert_tool_call", params)
                return None
            line = _tool_call(earlier[0])
            if line.status is ToolCallStatus.PAUSED:
                self._database.run(db, "resume_tool_call", params)
            return line

        return await self._database.transact(claim, work)

    async def tool_end(self, claim: Claim, tool_call_id: str, *, status: ToolCallStatus, result: str, outcome: str | None = None) -> None:
        params = {"thread_id": claim.thread_id, "tool_call_id": tool_call_id, "status": status, "result": result, "outcome": outcome}

        def work(db: sqlite3.Connection) -> None:
            if not (rows := self._database.run(db, "get_tool_call", params)):
                raise NotFound("This tool call was never begun.")
            check_tool_move(_tool_call(rows[0]).status, status)
            self._database.run(db, "end_tool_call", params)

        await self._database.transact(claim, work)

    async def tool_calls(self, thread_id: ThreadId) -> list[ToolCall]:
        return [_tool_call(row) for row in await self._database.rows("tool_calls", {"thread_id": thread_id})]

    # life ------------------------------------------------------------------------------------------
    def wake(self) -> None:
        self._tails.wake_all()

    async def ping(self) -> None:
        await self._database.ping()

    # inside ----------------------------------------------------------------------------------------
    def _records(self, db: sqlite3.Connection, params: Params) -> list[Record]:
        """Up to the limit, or READ_BYTES."""
        records: list[Record] = []
        size = 0
        with closing(
            db.execute(self._database.statement("read"), params)
        ) as rows:  # left open, it would keep the log's file from being cut back
            for row in rows:
                records.append(Record(*row))
                size += len(records[-1].data)
                if size >= READ_BYTES:
                    break
        return records

    async def _read_one(self, name: str, params: Params) -> sqlite3.Row | None:
        rows = await self._database.rows(name, params)
        return rows[0] if rows else None

    async def _read_run(self, name: str, params: Params) -> Run | None:
        row = await self._read_one(name, params)
        return None if row is None else _run(row)

    def _thread_of(self, db: sqlite3.Connection, new: NewRun) -> ThreadId:
        """The thread that the run is for, opened if that was asked. Raises `NotFound`, or `InvalidRequest` for another agent's."""
        if new.opens is None:
            if not self._database.run(db, "has_thread", {"thread_id": new.thread_id}):
                raise NotFound
            return new.thread_id
        names = {"owner": new.opens.owner, "client_thread_id": new.opens.client_thread_id, "agent": new.agent, "thread_id": new.thread_id}
        self._database.run(db, "insert_thread", names)
        thread = Thread(**self._database.run(db, "get_thread", names)[0])
        if thread.agent != new.agent:
            raise InvalidRequest(f"This conversation belongs to the agent {thread.agent!r}. Start a new one for {new.agent!r}.")
        if new.opens.title and not thread.title:
            self._database.run(db, "set_title", {"thread_id": thread.thread_id, "title": new.opens.title, "only_if_empty": True})
        return thread.thread_id

    def _earlier(self, db: sqlite3.Connection, new: NewRun, thread_id: ThreadId) -> RunId | None:
        """The run that the same request made before. Raises `RunIdConflict` if only the name is the same."""
        ids = {"thread_id": thread_id, "idempotency_key": new.idempotency_key, "client_run_id": new.client_run_id}
        for row in self._database.run(db, "run_of_key", ids):
            if row["input_digest"] != new.input_digest:
                raise RunIdConflict("This Idempotency-Key was used with another input. Use a fresh one for each new turn.")
            return RunId(row["run_id"])
        rows = self._database.run(db, "runs_of_client_id", ids)
        for row in rows:
            if row["input_digest"] == new.input_digest:
                return RunId(row["run_id"])
        if rows and not new.reuses_run_id:
            raise RunIdConflict
        return None

    def _insert(self, db: sqlite3.Connection, run_id: RunId, attempt: int, at: int, *, last_seq: int, encoded: Encoded) -> list[Record]:
        """Write the events so that the last one gets `last_seq`."""
        first = last_seq - len(encoded) + 1
        records = [Record(run_id, first + index, attempt, at, type_, data) for index, (type_, data) in enumerate(encoded)]
        db.executemany(self._database.statement("insert_events"), [(r.run_id, r.seq, r.attempt, r.at, r.type, r.data) for r in records])
        return records

    def _publish(self, records: Sequence[Record]) -> None:
        if records:
            self._tails.publish(records[0].run_id, floor=records[0].seq - 1, records=records)


def _fence(claim: Claim) -> dict[str, Any]:
    return {"run_id": claim.run_id, "attempt": claim.attempt, "token": claim.token}


class Append(Protocol):
    """`SqliteEventLog._append`."""

    def __call__(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None, after: int | None) -> Awaitable[list[Record]]: ...


class SqliteRunWriter:
    """See `RunWriter`. The database's one thread writes in the order in which it is handed what to write."""

    def __init__(self, append: Append, claim: Claim) -> None:
        self._append = append
        self._claim = claim
        self._seq = claim.last_seq

    async def append(self, events: Sequence[Event], *, ending: Ending | None = None) -> list[Record]:
        after, self._seq = self._seq, self._seq + len(events)
        return await self._append(self._claim, events, ending=ending, after=after)


def _listed(row: sqlite3.Row) -> ListedThread:
    fields = dict(row)
    running = bool(fields.pop("running"))
    return ListedThread(Thread(**fields), running)


def _tool_call(row: sqlite3.Row) -> ToolCall:
    return ToolCall(**{**dict(row), "status": ToolCallStatus(row["status"])})


def _run(row: sqlite3.Row) -> Run:
    return Run(**{**dict(row), "status": RunStatus(row["status"])})
