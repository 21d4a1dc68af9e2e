"""`InterruptLog` on SQLite: rows and audit in one transaction with the claim that they are written under.

Knows nothing of runs but their claims.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson

from middle_core.errors import InterruptUnknown
from middle_core.eventlog.interrupts import (
    Answer,
    Answered,
    AnswerRecord,
    Channel,
    Interrupt,
    InterruptKind,
    InterruptStatus,
    NewInterrupt,
    Verdict,
)
from middle_core.eventlog.lifecycle import check_interrupt_move
from middle_core.eventlog.records import Claim
from middle_core.events import ThreadId
from middle_core.stores.sqlite.database import SqliteDatabase


class SqliteInterrupts:
    """See `InterruptLog`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def open(self, claim: Claim, new: Sequence[NewInterrupt]) -> list[Interrupt]:
        def work(db: sqlite3.Connection) -> list[Interrupt]:
            return [self._open(db, claim, one) for one in new]

        return await self._database.transact(claim, work)

    def _open(self, db: sqlite3.Connection, claim: Claim, new: NewInterrupt) -> Interrupt:
        known = self._get(db, claim.thread_id, new.interrupt_id)
        if known is not None:
            if not known.pending:
                check_interrupt_move(known.status, InterruptStatus.PENDING)
            return known
        params = {
            "thread_id": claim.thread_id,
            "run_id": claim.run_id,
            "interrupt_id": new.interrupt_id,
            "kind": new.kind,
            "channel": new.channel,
            "tool_call_id": new.tool_call_id,
            "call_key": new.call_key,
            "tool": new.tool,
            "payload": _text(new.payload),
            "args_digest": new.args_digest,
            "roles": _text(new.roles),
            "root_id": new.root_id,
            "ttl_ms": None if new.ttl_s is None else round(new.ttl_s * 1000),
        }
        self._database.run(db, "insert_interrupt", params)
        return self._there(db, claim.thread_id, new.interrupt_id)

    async def of_thread(self, thread_id: ThreadId) -> list[Interrupt]:
        return [_interrupt(row) for row in await self._database.rows("interrupts", {"thread_id": thread_id})]

    async def answer(self, claim: Claim, answer: Answer) -> Answered:
        def work(db: sqlite3.Connection) -> Answered:
            ids = {"thread_id": claim.thread_id, "interrupt_id": answer.interrupt_id, "run_id": claim.run_id, "by": answer.by}
            known = self._there(db, claim.thread_id, answer.interrupt_id)
            if known.pending and known.late:
                self._database.run(db, "move_interrupt", {**ids, "status": InterruptStatus.EXPIRED, "outcome": None})
                verdict = Verdict.EXPIRED
            elif known.pending:
                check_interrupt_move(known.status, answer.decision)
                outcome = None if answer.outcome is None else _text(answer.outcome)
                change = {"status": answer.decision, "answer": _text(answer.payload), "digest": answer.digest, "outcome": outcome}
                self._database.run(db, "answer_interrupt", {**ids, **change})
                verdict = Verdict.REFUSED if answer.refused else Verdict.TAKEN
            else:
                verdict = Verdict.LATE
            line = {"channel": answer.channel, "decision": answer.decision, "payload": _text(answer.payload), "digest": answer.digest}
            self._database.run(db, "insert_answer", {**ids, **line, "verdict": verdict})
            return Answered(self._there(db, claim.thread_id, answer.interrupt_id), verdict in {Verdict.TAKEN, Verdict.REFUSED})

        return await self._database.transact(claim, work)

    async def begin(self, claim: Claim, interrupt_id: str, *, digest: str) -> bool:
        params = {"thread_id": claim.thread_id, "interrupt_id": interrupt_id, "digest": digest}
        return bool(await self._database.transact(claim, lambda db: self._database.run(db, "begin_interrupt", params)))

    async def end(self, claim: Claim, interrupt_id: str, *, status: InterruptStatus, outcome: Mapping[str, Any]) -> None:
        def work(db: sqlite3.Connection) -> None:
            known = self._there(db, claim.thread_id, interrupt_id)
            if known.status is not InterruptStatus.EXECUTING:
                check_interrupt_move(known.status, InterruptStatus.EXECUTED)
            self._move(db, known, status, outcome)

        await self._database.transact(claim, work)

    async def close(
        self,
        claim: Claim,
        moves: Mapping[InterruptStatus, InterruptStatus],
        *,
        outcome: Mapping[str, Any],
        only: Collection[str] | None = None,
    ) -> list[Interrupt]:
        def work(db: sqlite3.Connection) -> list[Interrupt]:
            rows = [_interrupt(row) for row in self._database.run(db, "interrupts", {"thread_id": claim.thread_id})]
            meant = [one for one in rows if one.status in moves and (only is None or one.interrupt_id in only)]
            return [self._move(db, one, moves[one.status], outcome) for one in meant]

        return await self._database.transact(claim, work)

    async def expire(self) -> int:
        if not await self._database.rows("has_expired", {}):
            return 0  # the usual case costs no commit
        return len(await self._database.write(lambda db: self._database.run(db, "expire_interrupts", {})))

    async def audit(self, thread_id: ThreadId) -> list[AnswerRecord]:
        rows = await self._database.rows("interrupt_answers", {"thread_id": thread_id})
        return [_answer_record(row) for row in rows]

    # inside ----------------------------------------------------------------------------------------
    def _move(self, db: sqlite3.Connection, known: Interrupt, status: InterruptStatus, outcome: Mapping[str, Any]) -> Interrupt:
        check_interrupt_move(known.status, status)
        params = {"thread_id": known.thread_id, "interrupt_id": known.interrupt_id, "status": status, "outcome": _text(outcome)}
        self._database.run(db, "move_interrupt", params)
        return self._there(db, known.thread_id, known.interrupt_id)

    def _get(self, db: sqlite3.Connection, thread_id: ThreadId, interrupt_id: str) -> Interrupt | None:
        rows = self._database.run(db, "get_interrupt", {"thread_id": thread_id, "interrupt_id": interrupt_id})
        return _interrupt(rows[0]) if rows else None

    def _there(self, db: sqlite3.Connection, thread_id: ThreadId, interrupt_id: str) -> Interrupt:
        found = self._get(db, thread_id, interrupt_id)
        if found is None:
            raise InterruptUnknown
        return found


def _interrupt(row: sqlite3.Row) -> Interrupt:
    return Interrupt(
        **{
            **dict(row),
            "late": bool(row["late"]),
            "kind": InterruptKind(row["kind"]),
            "channel": Channel(row["channel"]),
            "status": InterruptStatus(row["status"]),
            "payload": orjson.loads(row["payload"]),
            "roles": tuple(orjson.loads(row["roles"])),
            "answer": None if row["answer"] is None else orjson.loads(row["answer"]),
            "outcome": None if row["outcome"] is None else orjson.loads(row["outcome"]),
        }
    )


def _answer_record(row: sqlite3.Row) -> AnswerRecord:
    return AnswerRecord(
        **{
            **dict(row),
            "channel": Channel(row["channel"]),
            "decision": InterruptStatus(row["decision"]),
            "verdict": Verdict(row["verdict"]),
            "payload": orjson.loads(row["payload"]),
        }
    )


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
