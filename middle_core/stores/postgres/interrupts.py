"""`InterruptLog` on Postgres: rows and audit in one transaction with the claim that they are written under.

Knows nothing of runs but their claims.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from psycopg.rows import DictRow

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
from middle_core.stores.postgres.database import Connection, PostgresDatabase
from middle_core.stores.postgres.values import plain, uuid_or_none


class PostgresInterrupts:
    """See `InterruptLog`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def open(self, claim: Claim, new: Sequence[NewInterrupt]) -> list[Interrupt]:
        async def work(db: Connection) -> list[Interrupt]:
            return [await self._open(db, claim, one) for one in new]

        return await self._database.transact(claim, work, alone=True)

    async def _open(self, db: Connection, claim: Claim, new: NewInterrupt) -> Interrupt:
        known = await self._get(db, claim.thread_id, new.interrupt_id)
        if known is not None:
            if not known.pending:
                check_interrupt_move(known.status, InterruptStatus.PENDING)
            return known
        params = {
            "thread_id": claim.thread_id,
            "run_id": claim.run_id,
            "interrupt_id": new.interrupt_id,
            "kind": new.kind.value,
            "channel": new.channel.value,
            "tool_call_id": new.tool_call_id,
            "call_key": new.call_key,
            "tool": new.tool,
            "payload": _text(new.payload),
            "args_digest": new.args_digest,
            "roles": _text(new.roles),
            "root_id": new.root_id,
            "ttl_ms": None if new.ttl_s is None else round(new.ttl_s * 1000),
        }
        await self._database.run(db, "insert_interrupt", params)
        return await self._existing(db, claim.thread_id, new.interrupt_id)

    async def of_thread(self, thread_id: ThreadId) -> list[Interrupt]:
        if uuid_or_none(thread_id) is None:
            return []
        return [_interrupt(row) for row in await self._database.rows("interrupts", {"thread_id": thread_id})]

    async def answer(self, claim: Claim, answer: Answer) -> Answered:
        async def work(db: Connection) -> Answered:
            ids = {"thread_id": claim.thread_id, "interrupt_id": answer.interrupt_id, "run_id": claim.run_id, "by": answer.by}
            known = await self._existing(db, claim.thread_id, answer.interrupt_id)
            payload = _text(answer.payload)
            if known.pending and known.late:
                await self._database.run(db, "move_interrupt", {**ids, "status": InterruptStatus.EXPIRED.value, "outcome": None})
                verdict = Verdict.EXPIRED
            elif known.pending:
                check_interrupt_move(known.status, answer.decision)
                outcome = None if answer.outcome is None else _text(answer.outcome)
                change = {"status": answer.decision.value, "answer": payload, "digest": answer.digest, "outcome": outcome}
                await self._database.run(db, "answer_interrupt", {**ids, **change})
                verdict = Verdict.REFUSED if answer.refused else Verdict.TAKEN
            else:
                verdict = Verdict.LATE
            line = {"channel": answer.channel.value, "decision": answer.decision.value, "payload": payload, "digest": answer.digest}
            await self._database.run(db, "insert_answer", {**ids, **line, "verdict": verdict.value})
            taken = verdict in {Verdict.TAKEN, Verdict.REFUSED}
            return Answered(await self._existing(db, claim.thread_id, answer.interrupt_id), taken)

        return await self._database.transact(claim, work, alone=True)

    async def begin(self, claim: Claim, interrupt_id: str, *, digest: str) -> bool:
        params = {"thread_id": claim.thread_id, "interrupt_id": interrupt_id, "digest": digest}
        return bool(await self._database.transact(claim, lambda db: self._database.run(db, "begin_interrupt", params)))

    async def end(self, claim: Claim, interrupt_id: str, *, status: InterruptStatus, outcome: Mapping[str, Any]) -> None:
        async def work(db: Connection) -> None:
            known = await self._existing(db, claim.thread_id, interrupt_id)
            if known.status is not InterruptStatus.EXECUTING:
                check_interrupt_move(known.status, InterruptStatus.EXECUTED)
            await self._move(db, known, status, outcome)

        await self._database.transact(claim, work, alone=True)

    async def close(
        self,
        claim: Claim,
        moves: Mapping[InterruptStatus, InterruptStatus],
        *,
        outcome: Mapping[str, Any],
        only: Collection[str] | None = None,
    ) -> list[Interrupt]:
        async def work(db: Connection) -> list[Interrupt]:
            rows = [_interrupt(row) for row in await self._database.run(db, "interrupts", {"thread_id": claim.thread_id})]
            meant = [one for one in rows if one.status in moves and (only is None or one.interrupt_id in only)]
            return [await self._move(db, one, moves[one.status], outcome) for one in meant]

        return await self._database.transact(claim, work, alone=True)

    async def expire(self) -> int:
        return len(await self._database.rows("expire_interrupts", {}))

    async def audit(self, thread_id: ThreadId) -> list[AnswerRecord]:
        if uuid_or_none(thread_id) is None:
            return []
        return [_answer_record(row) for row in await self._database.rows("interrupt_answers", {"thread_id": thread_id})]

    # inside ----------------------------------------------------------------------------------------
    async def _move(self, db: Connection, known: Interrupt, status: InterruptStatus, outcome: Mapping[str, Any]) -> Interrupt:
        check_interrupt_move(known.status, status)
        params = {"thread_id": known.thread_id, "interrupt_id": known.interrupt_id, "status": status.value, "outcome": _text(outcome)}
        await self._database.run(db, "move_interrupt", params)
        return await self._existing(db, known.thread_id, known.interrupt_id)

    async def _get(self, db: Connection, thread_id: ThreadId, interrupt_id: str) -> Interrupt | None:
        rows = await self._database.run(db, "get_interrupt", {"thread_id": thread_id, "interrupt_id": interrupt_id})
        return _interrupt(rows[0]) if rows else None

    async def _existing(self, db: Connection, thread_id: ThreadId, interrupt_id: str) -> Interrupt:
        found = await self._get(db, thread_id, interrupt_id)
        if found is None:
            raise InterruptUnknown
        return found


def _interrupt(row: DictRow) -> Interrupt:
    return Interrupt(
        **{
            **plain(row),
            "status": InterruptStatus(row["status"]),
            "kind": InterruptKind(row["kind"]),
            "channel": Channel(row["channel"]),
            "payload": orjson.loads(row["payload"]),
            "roles": tuple(orjson.loads(row["roles"])),
            "answer": None if row["answer"] is None else orjson.loads(row["answer"]),
            "outcome": None if row["outcome"] is None else orjson.loads(row["outcome"]),
        }
    )


def _answer_record(row: DictRow) -> AnswerRecord:
    return AnswerRecord(
        **{
            **plain(row),
            "channel": Channel(row["channel"]),
            "decision": InterruptStatus(row["decision"]),
            "payload": orjson.loads(row["payload"]),
            "verdict": Verdict(row["verdict"]),
        }
    )


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
