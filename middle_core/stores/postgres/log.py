"""The event log in Postgres: for as many replicas as there are.

Every replica may read, follow and stop any run; the one that holds a run's claim writes it. A replica serves the followers of its own
runs from memory (`stores.tail`); for the runs of others it reads the database, woken by their hints (`hints`). It knows no LangGraph.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final, Protocol, Self

import uuid_utils
from psycopg.rows import DictRow

from middle_core.errors import NotFound, Superseded, ThreadBusy
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
    Started,
    Thread,
    ToolCall,
    ToolCallStatus,
)
from middle_core.events import ClientRunId, ClientThreadId, Event, Owner, Record, RunId, ThreadId
from middle_core.stores.encoding import ATTEMPT_GAP, READ_BYTES, Encoded, encode, encode_first, usage_text, waits_for_disk
from middle_core.stores.postgres import starts
from middle_core.stores.postgres.appends import Appends, insert_events, records_of
from middle_core.stores.postgres.database import Connection, PostgresDatabase, fence
from middle_core.stores.postgres.hints import Hints
from middle_core.stores.postgres.values import plain, storable, uuid_or_none
from middle_core.stores.tail import Tails

LAST_ID: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""Stands for an id in a page's cursor that is no uuid."""
LOOK_S: Final = 2.0
"""How often a follower of another replica's run looks at the database by itself: so late it is where every hint is lost."""


class PostgresEventLog:
    """The `EventLog` of one replica. Use as an async context manager: leaving it writes what waits."""

    def __init__(self, database: PostgresDatabase, tails: Tails, hints: Hints) -> None:
        self._database = database
        self._appends = Appends(database, self.publish)
        self._tails = tails
        self._hints = hints

    async def __aenter__(self) -> Self:
        await self._appends.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._appends.__aexit__(*exc_info)

    # threads ---------------------------------------------------------------------------------------
    async def open_thread(self, owner: Owner, client_thread_id: ClientThreadId, agent: str) -> Thread:
        if (known := await self.get_thread(owner, client_thread_id)) is not None:
            return known
        params = {"owner": owner, "client_thread_id": client_thread_id, "agent": agent, "thread_id": str(uuid_utils.uuid7())}

        async def work(db: Connection) -> Thread:
            await self._database.run(db, "insert_thread", params)
            return Thread(**plain((await self._database.run(db, "get_thread", params))[0]))

        return await self._database.write(work)

    async def get_thread(self, owner: Owner, client_thread_id: ClientThreadId) -> Thread | None:
        rows = await self._database.rows("get_thread", {"owner": owner, "client_thread_id": client_thread_id})
        return Thread(**plain(rows[0])) if rows else None

    async def list_threads(self, owner: Owner, *, limit: int, before: tuple[int, ThreadId] | None = None) -> list[ListedThread]:
        if before is None:
            rows = await self._database.rows("list_threads", {"owner": owner, "limit": limit})
        else:
            thread_id = before[1] if uuid_or_none(before[1]) else LAST_ID
            params = {"owner": owner, "limit": limit, "updated_at": before[0], "thread_id": thread_id}
            rows = await self._database.rows("list_threads_before", params)
        return [_listed(row) for row in rows]

    async def set_title(self, thread_id: ThreadId, title: str, *, only_if_empty: bool) -> None:
        await self._database.rows("set_title", {"thread_id": thread_id, "title": storable(title), "only_if_empty": only_if_empty})

    async def delete_thread(self, thread_id: ThreadId) -> None:
        if uuid_or_none(thread_id) is None:
            return
        params = {"thread_id": thread_id}

        async def work(db: Connection) -> list[RunId]:
            await self._database.run(db, "lock_thread", params)
            if await self._database.run(db, "active_run", params):
                raise ThreadBusy
            gone = [RunId(str(row["run_id"])) for row in await self._database.run(db, "run_ids", params)]
            for statement in (
                "delete_checkpoints",
                "delete_checkpoint_blobs",
                "delete_checkpoint_writes",
                "delete_events",
                "delete_thread",
            ):
                await self._database.run(db, statement, params)
            return gone

        for run_id in await self._database.write(work):
            self._tails.forget(run_id)
            self._hints.gone(run_id)

    # runs ------------------------------------------------------------------------------------------
    async def create_run(self, new: NewRun, first: Sequence[Event]) -> Started | Existing:
        started, records = await starts.create(self._database, new, encode_first(first))
        if isinstance(started, Started):
            self.publish(records)
        return started

    async def get_run(self, run_id: RunId) -> Run | None:
        return None if uuid_or_none(run_id) is None else await self._read_run("get_run", {"run_id": run_id})

    async def find_run(self, thread_id: ThreadId, client_run_id: ClientRunId) -> Run | None:
        return await self._read_run("find_run", {"thread_id": thread_id, "client_run_id": client_run_id})

    async def active_run(self, thread_id: ThreadId) -> Run | None:
        return await self._read_run("active_run", {"thread_id": thread_id})

    async def last_run(self, thread_id: ThreadId) -> Run | None:
        return await self._read_run("last_run", {"thread_id": thread_id})

    async def running_on(self, replica: str) -> list[Run]:
        return [starts.run_of(row) for row in await self._database.rows("running_on", {"replica": replica})]

    async def run_input(self, run_id: RunId) -> bytes | None:
        rows = [] if uuid_or_none(run_id) is None else await self._database.rows("run_input", {"run_id": run_id})
        return bytes(rows[0]["input"]) if rows else None

    async def orphans(self, replica: str, *, for_s: float) -> list[Run]:
        params = {"replica": replica, "for_ms": round(for_s * 1000), "leases_end": self._database.calm()}
        return [starts.run_of(row) for row in await self._database.rows("orphans", params)]

    async def claim(self, run_id: RunId, *, attempt: int, replica: str, lease_s: float) -> Claim:
        if uuid_or_none(run_id) is None:
            raise NotFound
        token = secrets.token_urlsafe(16)
        lease = {"replica": replica, "token": token, "lease_ms": round(lease_s * 1000)}
        params = {"run_id": run_id, "attempt": attempt, "gap": ATTEMPT_GAP - 1, "leases_end": self._database.calm(), **lease}

        async def work(db: Connection) -> Claim:
            if rows := await self._database.run(db, "claim", params):
                return Claim(run_id, ThreadId(str(rows[0]["thread_id"])), rows[0]["attempt"], rows[0]["last_seq"], token)
            found = await self._database.run(db, "get_run", params)
            raise Superseded if found and starts.run_of(found[0]).status.active else NotFound

        claim = await self._database.write(work)
        self._tails.forget(run_id)  # what another attempt wrote is not in it
        return claim

    async def release(self, claim: Claim) -> None:
        if not await self._database.rows("release", fence(claim)):
            raise Superseded
        self._tails.forget(claim.run_id)
        self._appends.forget(claim.run_id)

    async def beat(self, claims: Sequence[Claim], *, lease_s: float) -> Beat:
        if not claims:
            return Beat(frozenset(), frozenset())
        params = {
            "run_ids": [claim.run_id for claim in claims],
            "attempts": [claim.attempt for claim in claims],
            "tokens": [claim.token for claim in claims],
            "lease_ms": round(lease_s * 1000),
        }

        async def work(db: Connection) -> Beat:
            await self._database.run(db, "beat", params)
            rows = [plain(row) for row in await self._database.run(db, "beaten", params)]
            superseded = frozenset(row["run_id"] for row in rows if row["superseded"])
            return Beat(superseded, frozenset(row["run_id"] for row in rows if row["cancel_requested"]) - superseded)

        beat = await self._database.write(work)
        for run_id in beat.superseded:
            self._tails.forget(run_id)
            self._appends.forget(run_id)
        return beat

    async def append(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None = None) -> list[Record]:
        return await self._append(claim, events, ending=ending, after=None)

    def writer(self, claim: Claim) -> RunWriter:
        return PostgresRunWriter(self._append, claim)

    async def _append(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None, after: int | None) -> list[Record]:
        """after: the seq that the log must end with; None means any."""
        encoded = encode(events, ending)
        try:
            if ending is None:
                return await self._appends.append(claim, encoded, after=after, to_disk=waits_for_disk(encoded, ending))
            await self._appends.settled(claim.run_id)
            records = await self._appends.mended(
                claim, after, lambda: self._database.write(lambda db: self._end(db, claim, encoded, ending, after))
            )
            self._appends.forget(claim.run_id)
        except Superseded:
            self._tails.forget(claim.run_id)
            self._appends.forget(claim.run_id)
            raise
        except BaseException:
            if ending is not None:  # whether it was committed is unknown here, so the database is asked from now on
                self._tails.forget(claim.run_id)
            raise
        self.publish(records)
        return records

    async def request_cancel(self, run_id: RunId, reason: str) -> bool:
        if uuid_or_none(run_id) is None:
            return False
        found = bool(await self._database.rows("request_cancel", {"run_id": run_id, "reason": storable(reason)}))
        if found:
            self._hints.asked_to_stop(run_id)
        return found

    # events ----------------------------------------------------------------------------------------
    async def read(self, run_id: RunId, *, after: int, limit: int) -> list[Record]:
        if uuid_or_none(run_id) is None:
            return []
        records = self._tails.read(run_id, after=after, limit=limit)
        return await self._records(run_id, after=after, limit=limit) if records is None else records

    async def changed(self, run_id: RunId, *, after: int, within_s: float) -> bool:
        # Watch first and look second: what is committed in between wakes the watch.
        watch = self._tails.watch(run_id)
        loop = asyncio.get_running_loop()
        due = loop.time() + within_s
        try:
            while True:
                head = self._tails.head(run_id)
                mine = head is not None
                if head is None and uuid_or_none(run_id) is None:
                    head = 0
                elif head is None:
                    self._hints.follow(run_id)
                    [row] = await self._database.rows("head", {"run_id": run_id})
                    head = row["seq"]
                if head > after:
                    return True
                left = due - loop.time()
                if left <= 0:
                    return False
                done, _ = await asyncio.wait([watch], timeout=left if mine else min(left, LOOK_S))
                if done:
                    return True
        finally:
            self._tails.unwatch(run_id, watch)

    # tool ledger -----------------------------------------------------------------------------------
    async def tool_begin(self, claim: Claim, tool_call_id: str, name: str) -> ToolCall | None:
        params = {"thread_id": claim.thread_id, "tool_call_id": tool_call_id, "run_id": claim.run_id, "name": storable(name)}

        async def work(db: Connection) -> ToolCall | None:
            if not (earlier := await self._database.run(db, "get_tool_call", params)):
                await self._database.run(db, "insert_tool_call", params)
                return None
            line = _tool_call(earlier[0])
            if line.status is ToolCallStatus.PAUSED:
                await self._database.run(db, "resume_tool_call", params)
            return line

        return await self._database.transact(claim, work, alone=True)

    async def tool_end(self, claim: Claim, tool_call_id: str, *, status: ToolCallStatus, result: str, outcome: str | None = None) -> None:
        params = {
            "thread_id": claim.thread_id,
            "tool_call_id": tool_call_id,
            "status": status.value,
            "result": result.encode("utf-8", "surrogatepass"),
            "outcome": outcome,
        }

        async def work(db: Connection) -> None:
            if not (rows := await self._database.run(db, "get_tool_call", params)):
                raise NotFound("This tool call was never begun.")
            check_tool_move(_tool_call(rows[0]).status, status)
            await self._database.run(db, "end_tool_call", params)

        await self._database.transact(claim, work, alone=True)

    async def tool_calls(self, thread_id: ThreadId) -> list[ToolCall]:
        return [_tool_call(row) for row in await self._database.rows("tool_calls", {"thread_id": thread_id})]

    # life ------------------------------------------------------------------------------------------
    def wake(self) -> None:
        self._tails.wake_all()

    async def ping(self) -> None:
        await self._database.ping()

    # inside ----------------------------------------------------------------------------------------
    async def _records(self, run_id: RunId, *, after: int, limit: int) -> list[Record]:
        """Up to the limit, or READ_BYTES."""
        rows = await self._database.rows("read", {"run_id": run_id, "after": after, "limit": limit, "bytes": READ_BYTES})
        return [Record(run_id, row["seq"], row["attempt"], row["at"], row["type"], bytes(row["event"])) for row in rows]

    async def _read_run(self, name: str, params: Mapping[str, Any]) -> Run | None:
        rows = await self._database.rows(name, params)
        return starts.run_of(rows[0]) if rows else None

    async def _end(self, db: Connection, claim: Claim, encoded: Encoded, ending: Ending, after: int | None) -> list[Record]:
        params = {
            **fence(claim),
            "count": len(encoded),
            "after": after,
            "status": ending.status.value,
            "error_code": ending.error_code,
            "usage": usage_text(ending),
        }
        rows = await self._database.run(db, "end_run", params)
        if not rows:
            raise Superseded
        at, floor = rows[0]["at"], rows[0]["last_seq"] - len(encoded)
        await self._database.run(db, "touch_thread", {"thread_id": claim.thread_id, "at": at})
        await insert_events(self._database, db, claim, encoded, floor=floor, at=at, run_started_at=rows[0]["started_at"])
        return records_of(claim, encoded, floor=floor, at=at)

    def publish(self, records: Sequence[Record]) -> None:
        """Show committed records to the followers here, and tell the other replicas of them."""
        if records:
            self._tails.publish(records[0].run_id, floor=records[0].seq - 1, records=records)
            self._hints.wrote(records[0].run_id)


class Append(Protocol):
    """`PostgresEventLog._append`."""

    def __call__(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None, after: int | None) -> Awaitable[list[Record]]: ...


class PostgresRunWriter:
    """See `RunWriter`. `appends` keeps the order of a run's appends; the end of the run waits for those before it."""

    def __init__(self, append: Append, claim: Claim) -> None:
        self._append = append
        self._claim = claim
        self._seq = claim.last_seq

    async def append(self, events: Sequence[Event], *, ending: Ending | None = None) -> list[Record]:
        after, self._seq = self._seq, self._seq + len(events)
        return await self._append(self._claim, events, ending=ending, after=after)


def _listed(row: DictRow) -> ListedThread:
    fields = plain(row)
    running = fields.pop("running")
    return ListedThread(Thread(**fields), running)


def _tool_call(row: DictRow) -> ToolCall:
    result = row["result"]
    text = None if result is None else bytes(result).decode("utf-8", "surrogatepass")
    return ToolCall(**{**plain(row), "status": ToolCallStatus(row["status"]), "result": text})
