"""Hints between replicas: a run has new records, somebody asked a run to stop, somebody elsewhere follows a run.

Rows are the truth. A hint only shortens a wait, so that a lost one costs latency and never an event. Postgres carries them with NOTIFY,
in transactions of their own (inside an append NOTIFY would make commits wait for each other), and only for runs that another replica
follows. One connection listens. When that breaks, it is made again, and every waiter looks at the database once: hints sent in
between are lost. It knows no table.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final, Self

import psycopg
from uuid_utils import uuid4

from middle_core.errors import StoreUnavailable
from middle_core.events import RunId
from middle_core.stores.postgres.database import PostgresDatabase
from middle_core.stores.tail import Tails

logger = logging.getLogger(__name__)

CHANNEL: Final = "middle_core"
FOLLOWED_S: Final = 60.0
"""How long a run counts as followed elsewhere after a follower said so. Followers say it again at half of that."""
PROBE_S: Final = 30.0
"""How often a silent connection is asked whether it is still there."""
FIRST_TRY_S: Final = 5.0
"""How long the opening of the store waits for the first try to listen. A hint that comes before it would be lost."""
RETRY_S: Final = (0.2, 5.0)
"""The first and the longest pause before the next try to listen."""
PER_NOTIFY: Final = 64
"""Hints in one statement, at most."""


class Kind(StrEnum):
    """What a hint says of a run."""

    WROTE = "wrote"
    STOP = "stop"
    GONE = "gone"
    FOLLOW = "follow"


class Hints:
    """The hints of one replica. Use as an async context manager.

    Args:
        database: carries what this replica says.
        conninfo: a direct connection to Postgres, to listen on. None where there is only a PgBouncer, which carries no notification:
            then nothing is heard, and followers look at the database by themselves.
        tails: whose waiters are woken.
    """

    def __init__(self, database: PostgresDatabase, conninfo: str | None, tails: Tails) -> None:
        self._database = database
        self._conninfo = conninfo
        self._tails = tails
        self.on_stop: Callable[[RunId], None] | None = None
        """Called with each run that somebody asked to stop, once there is somebody who can stop runs."""
        self._me = str(uuid4())
        self._said: dict[tuple[Kind, RunId], None] = {}
        self._to_say = asyncio.Event()
        self._tried = asyncio.Event()
        """Set after the first try to listen."""
        self._followed: dict[RunId, float] = {}
        self._following: dict[RunId, float] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        # Owned here: both end in `__aexit__`.
        self._tasks.append(asyncio.create_task(self._speak(), name="hints: speak"))  # noqa: TID251
        if self._conninfo is not None:
            self._tasks.append(asyncio.create_task(self._listen(self._conninfo), name="hints: listen"))  # noqa: TID251
            await self._first_try()
        return self

    async def _first_try(self) -> None:
        try:
            with suppress(TimeoutError):  # it goes on trying; until then followers look by themselves
                async with asyncio.timeout(FIRST_TRY_S):
                    await self._tried.wait()
        except BaseException:
            await self.__aexit__()
            raise

    async def __aexit__(self, *exc_info: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    def wrote(self, run_id: RunId) -> None:
        """The run has new records. Said only where another replica follows it."""
        until = self._followed.get(run_id)
        if until is None:
            return
        if until < asyncio.get_running_loop().time():
            del self._followed[run_id]
            return
        self._say(Kind.WROTE, run_id)

    def asked_to_stop(self, run_id: RunId) -> None:
        """Somebody asked the run to stop."""
        self._say(Kind.STOP, run_id)

    def gone(self, run_id: RunId) -> None:
        """The run was deleted."""
        self._say(Kind.GONE, run_id)

    def follow(self, run_id: RunId) -> None:
        """This replica follows the run, which another one writes."""
        now = asyncio.get_running_loop().time()
        if self._following.get(run_id, 0.0) > now:
            return
        self._following = {one: until for one, until in self._following.items() if until > now}
        self._following[run_id] = now + FOLLOWED_S / 2
        self._say(Kind.FOLLOW, run_id)

    def _say(self, kind: Kind, run_id: RunId) -> None:
        self._said[kind, run_id] = None
        self._to_say.set()

    async def _speak(self) -> None:
        while True:
            await self._to_say.wait()
            self._to_say.clear()
            while self._said:
                batch = [self._said_first() for _ in range(min(PER_NOTIFY, len(self._said)))]
                payloads = [f"{self._me} {kind.value} {run_id}" for kind, run_id in batch]
                try:
                    await self._database.rows("notify", {"channel": CHANNEL, "payloads": payloads})
                except (StoreUnavailable, psycopg.Error) as error:
                    logger.debug("hints were lost; followers look by themselves", exc_info=error)

    def _said_first(self) -> tuple[Kind, RunId]:
        first = next(iter(self._said))
        del self._said[first]
        return first

    async def _listen(self, conninfo: str) -> None:
        pause = RETRY_S[0]
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    conninfo, autocommit=True, keepalives=1, keepalives_idle=10, keepalives_interval=5, keepalives_count=3
                ) as db:
                    await db.execute(f"LISTEN {CHANNEL}")
                    pause = RETRY_S[0]
                    self._tried.set()
                    self._tails.wake_all()  # hints of the time without a connection are lost
                    while True:
                        async for notice in db.notifies(timeout=PROBE_S):
                            self._heard(notice.payload)
                        await db.execute("SELECT 1")
            except psycopg.Error as error:
                self._tried.set()
                self._database.trouble(error)
                logger.warning("the connection for hints broke; it is made again", exc_info=error)
            # Spread out: every replica loses its connection in the same moment.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            pause = min(pause * 2, RETRY_S[1])

    def _heard(self, payload: str) -> None:
        parts = payload.split(" ")
        if len(parts) != 3 or parts[0] == self._me or parts[1] not in set(Kind):
            return
        run_id = RunId(parts[2])
        match Kind(parts[1]):
            case Kind.FOLLOW:
                self._followed[run_id] = asyncio.get_running_loop().time() + FOLLOWED_S
                self._tails.wake(run_id)
            case Kind.STOP:
                if self.on_stop is not None:
                    self.on_stop(run_id)
            case Kind.WROTE | Kind.GONE:
                # Another replica writes the run, so what this one remembers of it is not the log's end any more.
                self._tails.forget(run_id)
