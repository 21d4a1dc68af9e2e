"""The start of a run: its thread, its row and its first events in one transaction, or the run that the same request made before."""

from __future__ import annotations

import secrets

from psycopg.rows import DictRow

from middle_core.errors import InvalidRequest, NotFound, RunIdConflict, ThreadBusy
from middle_core.eventlog.records import Claim, Existing, NewRun, Run, RunStatus, Started
from middle_core.events import Record, RunId, ThreadId
from middle_core.stores.encoding import Encoded, run_row
from middle_core.stores.postgres.appends import insert_events, records_of
from middle_core.stores.postgres.database import Connection, PostgresDatabase
from middle_core.stores.postgres.values import plain, storable, uuid_or_none


async def create(database: PostgresDatabase, new: NewRun, encoded: Encoded) -> tuple[Started | Existing, list[Record]]:
    """See `EventLog.create_run`. Returns the records of the first events beside it; none for an existing run."""
    token = secrets.token_urlsafe(16)

    async def work(db: Connection) -> tuple[Started | Existing, list[Record]]:
        thread_id = await _thread_of(database, db, new)
        if (earlier := await _earlier(database, db, new, thread_id)) is not None:
            return Existing(run_of((await database.run(db, "get_run", {"run_id": earlier}))[0])), []
        if await database.run(db, "active_run", {"thread_id": thread_id}):
            raise ThreadBusy
        params = run_row(new, thread_id=thread_id, token=token, last_seq=len(encoded))
        [row] = await database.run(db, "insert_run", params)
        at = row["started_at"]
        await database.run(db, "touch_thread", {"thread_id": thread_id, "at": at})
        claim = Claim(new.run_id, thread_id, 1, len(encoded), token)
        await insert_events(database, db, claim, encoded, floor=0, at=at, run_started_at=at)
        run = run_of((await database.run(db, "get_run", params))[0])
        return Started(run, claim), records_of(claim, encoded, floor=0, at=at)

    return await database.write(work)


def run_of(row: DictRow) -> Run:
    """The run in a row of `get_run` and its like."""
    return Run(**{**plain(row), "status": RunStatus(row["status"])})


async def _thread_of(database: PostgresDatabase, db: Connection, new: NewRun) -> ThreadId:
    """The thread that the run is for, opened if that was asked, locked until the transaction ends.

    Raises:
        NotFound: there is no such thread.
        InvalidRequest: it is another agent's.
    """
    thread_id: str = new.thread_id
    if new.opens is not None:
        names = {
            "owner": new.opens.owner,
            "client_thread_id": new.opens.client_thread_id,
            "agent": new.agent,
            "thread_id": new.thread_id,
        }
        await database.run(db, "insert_thread", names)
        thread_id = str((await database.run(db, "get_thread", names))[0]["thread_id"])
    rows = [] if uuid_or_none(thread_id) is None else await database.run(db, "lock_thread", {"thread_id": thread_id})
    if not rows:
        raise NotFound
    if new.opens is not None:
        if rows[0]["agent"] != new.agent:
            raise InvalidRequest(f"This conversation belongs to the agent {rows[0]['agent']!r}. Start a new one for {new.agent!r}.")
        if new.opens.title and not rows[0]["title"]:
            title = {"thread_id": thread_id, "title": storable(new.opens.title), "only_if_empty": True}
            await database.run(db, "set_title", title)
    return ThreadId(thread_id)


async def _earlier(database: PostgresDatabase, db: Connection, new: NewRun, thread_id: ThreadId) -> RunId | None:
    """The run that the same request made before. Raises `RunIdConflict` if only the name is the same."""
    ids = {"thread_id": thread_id, "idempotency_key": new.idempotency_key, "client_run_id": new.client_run_id}
    for row in await database.run(db, "run_of_key", ids):
        if row["input_digest"] != new.input_digest:
            raise RunIdConflict("This Idempotency-Key was used with another input. Use a fresh one for each new turn.")
        return RunId(str(row["run_id"]))
    rows = await database.run(db, "runs_of_client_id", ids)
    for row in rows:
        if row["input_digest"] == new.input_digest:
            return RunId(str(row["run_id"]))
    if rows and not new.reuses_run_id:
        raise RunIdConflict
    return None
