"""The contract on SQLite: with the tail in memory, and with a tail so small that most reads miss it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from middle_core.eventlog.port import EventLog
from middle_core.stores.sqlite.log import SqliteEventLog
from middle_core.stores.tail import TailBounds
from tests.contracts.eventlog_contract import EventLogContract
from tests.contracts.eventlog_laws import EventLogLaws
from tests.contracts.interrupts_contract import InterruptLogContract

TINY = TailBounds(records=4, bytes=2_000, total_bytes=3_000)


class TestSqlite(EventLogContract, EventLogLaws, InterruptLogContract):
    """As it ships."""

    def open(self, home: Path) -> AbstractAsyncContextManager[EventLog]:
        return SqliteEventLog.open(f"sqlite:///{home}/log.db")


class TestSqliteWithATinyTail(EventLogContract, EventLogLaws, InterruptLogContract):
    """Nearly everything comes from the database."""

    def open(self, home: Path) -> AbstractAsyncContextManager[EventLog]:
        return SqliteEventLog.open(f"sqlite:///{home}/log.db", bounds=TINY)
