"""What an adapter gives: the log, the questions, the replicas and LangGraph's saver of one database, and in which words it refuses a database.

Nothing above `stores` knows more of a database than this. Knows no database itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from langgraph.checkpoint.base import BaseCheckpointSaver

from middle_core.eventlog.port import EventLog, InterruptLog, Replicas


class DatabaseRefused(Exception):
    """The database cannot be opened as it is. The text says what to do, and never repeats the URL: it may hold a password."""


@dataclass(frozen=True, slots=True)
class Store:
    """One open database.

    Args:
        saver: writes under the claim of the run in whose task it is called, in the database of the log.
        shared: whether several replicas may use the database at the same time.
    """

    log: EventLog
    questions: InterruptLog
    saver: BaseCheckpointSaver[str]
    replicas: Replicas
    shared: bool
