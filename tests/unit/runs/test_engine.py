"""The moments around a run's end, with a log that the test can pause: a stop, and a page that opens the thread."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from middle_core.auth.principal import Credential, Principal
from middle_core.errors import NotFound
from middle_core.eventlog.records import Claim, Ending, RunStatus
from middle_core.events import ClientThreadId, Custom, Event, Record, RunId
from middle_core.node_api.context import current_claim
from middle_core.runs.adoption import Adoption
from middle_core.runs.engine import Engine, StopCause
from middle_core.runs.follower import Follower, SentAway
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.request import start_request
from middle_core.runs.intake.turn import AgentRules
from middle_core.runs.service import RunService
from middle_core.runs.supervisor import Supervisor
from middle_core.stores.alone import Alone
from middle_core.stores.sqlite.checkpoints import open_saver
from middle_core.stores.sqlite.database import SqliteDatabase
from middle_core.stores.sqlite.interrupts import SqliteInterrupts
from middle_core.stores.sqlite.log import SqliteEventLog
from middle_core.stores.tail import Tails
from tests.fakes.graphs import Graph, chat, one_node
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import run_input, user
from tests.fakes.until import until

ALICE = Principal("i", "alice", "Alice", None, math.inf, {}, Credential("t", math.inf))


class HeldLog(SqliteEventLog):
    """Waits, before it writes an event of the type `held`, until the test lets it go on."""

    held = ""
    watched = False

    async def changed(self, run_id: RunId, *, after: int, within_s: float) -> bool:
        self.watched = True
        return await super().changed(run_id, after=after, within_s=within_s)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.holding = asyncio.Event()
        self.go_on = asyncio.Event()
        self.in_order = asyncio.Lock()

    async def _append(self, claim: Claim, events: Sequence[Event], *, ending: Ending | None, after: int | None) -> list[Record]:
        async with self.in_order:  # later appends wait behind the held one, as in the database
            if any(event["type"] == self.held for event in events):
                self.holding.set()
                await self.go_on.wait()
            return await super()._append(claim, events, ending=ending, after=after)


@dataclass
class Parts:
    log: HeldLog
    service: RunService
    supervisor: Supervisor
    source: GraphSource


@asynccontextmanager
async def parts(home: Path, graph: Callable[[BaseCheckpointSaver[str]], Graph]) -> AsyncIterator[Parts]:
    async with SqliteDatabase.open(f"sqlite:///{home / 'log.db'}") as database, open_saver(database, current_claim) as saver:
        log, questions = HeldLog(database, Tails()), SqliteInterrupts(database)
        source = GraphSource("a", graph(saver), AgentRules(client_writable=frozenset(), server_tools=frozenset()))
        engine = Engine(log, questions, {"a": source}, max_event_bytes=1_000_000, approval_ttl_s=60)
        async with Supervisor(
            log, questions, Alone(), engine, replica="r", beat_s=60, lease_s=120, orphan_timeout_s=600, grace_s=5
        ) as supervisor:
            service = RunService(log, questions, supervisor, Adoption(log, engine, supervisor), {"a": source}, stop_wait_s=10)
            yield Parts(log, service, supervisor, source)


def says(*turn: Any) -> Callable[[BaseCheckpointSaver[str]], Graph]:
    """A chat whose model says this."""
    return lambda saver: chat(ScriptedModel(turns=[turn]), saver=saver)


def asked(text: str) -> Any:
    return start_request(RunAgentInput.model_validate(run_input(user(text))), text)


async def records(follower: Follower | None) -> AsyncGenerator[Record, None]:
    """What it reads."""
    assert follower is not None
    async with aclosing(follower.records(tick_s=10)) as items:
        async for item in items:
            assert not isinstance(item, SentAway)
            for record in item:
                yield record


async def test_a_stop_that_comes_while_the_end_is_being_written_loses_nothing(tmp_path: Path) -> None:
    async with parts(tmp_path, says("all of it", finish())) as at:
        at.log.held = "TEXT_MESSAGE_END"
        follower = await at.service.start(ALICE, "a", asked("hi"))
        await at.log.holding.wait()
        await until(lambda: _graph_is_done(follower.run.run_id))
        await at.service.stop_thread(ALICE, ClientThreadId("t1"), None)
        at.log.go_on.set()
        async with asyncio.timeout(10):
            types = [record.type async for record in records(follower)]
        assert types[-1] == "RUN_FINISHED"
        ended = await at.log.get_run(follower.run.run_id)
        assert ended is not None
        assert ended.status in {RunStatus.FINISHED, RunStatus.CANCELLED}


async def test_a_page_that_opens_the_thread_then_sees_no_message_twice(tmp_path: Path) -> None:
    """If no model streams an answer, the checkpoint may have it before the log. A page must get it from one of them only."""
    speak = asyncio.Event()

    async def node(state: Any) -> dict[str, Any]:
        await speak.wait()
        return {"messages": [AIMessage("all of it", id="m")]}

    async with parts(tmp_path, lambda saver: one_node(node, saver=saver)) as at:
        at.log.held = "TEXT_MESSAGE_START"
        follower = await at.service.start(ALICE, "a", asked("hi"))
        async with aclosing(records(follower)) as read:
            async for record in read:
                if record.event.get("name") == Custom.TURN:
                    break
        speak.set()
        await at.log.holding.wait()
        await until(lambda: _graph_is_done(follower.run.run_id))
        body = RunAgentInput.model_validate(run_input())
        connection = await at.service.connect(ALICE, ClientThreadId("t1"), "a", body)
        at.log.go_on.set()
        [shown] = [event["messages"] for event in connection.opening.before if event["type"] == "MESSAGES_SNAPSHOT"]
        async with asyncio.timeout(10):
            rest = [record.event async for record in records(connection.follower)]
        started = {event["messageId"] for event in rest if event["type"] == "TEXT_MESSAGE_START"}
        assert [message["content"] for message in shown] == ["hi"]
        assert len(started) == 1
        assert started.isdisjoint(message["id"] for message in shown)


async def test_a_page_that_opens_a_thread_which_is_deleted_just_then_is_told(tmp_path: Path) -> None:
    """The run is deleted before its `middle_core.turn` event, so no such event will come."""
    async with parts(tmp_path, says("all of it", finish())) as at:
        at.log.held = "CUSTOM"
        await at.service.start(ALICE, "a", asked("hi"))
        await at.log.holding.wait()
        async with asyncio.TaskGroup() as group:
            opening = group.create_task(_refusal(at.service.connect(ALICE, ClientThreadId("t1"), "a", RunAgentInput(**run_input()))))
            await until(lambda: at.log.watched)
            with closing(sqlite3.connect(tmp_path / "log.db")) as db, db:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("DELETE FROM threads")
        assert isinstance(opening.result(), NotFound)
        at.log.go_on.set()


@pytest.mark.parametrize("held", ["CUSTOM", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"])
@pytest.mark.parametrize("asked_to_stop", [True, False], ids=["stopped", "alone"])
def test_a_loop_that_is_closed_over_a_run_ends(held: str, asked_to_stop: bool, tmp_path: Path) -> None:
    """The loop cancels the run, its writer and the task that would stop the run, all at once. None of them may wait for another."""

    async def main() -> None:
        underway = asyncio.Event()

        async def server() -> None:
            async with parts(tmp_path, says("all of it", finish())) as at:
                at.log.held = held
                follower = await at.service.start(ALICE, "a", asked("hi"))
                await at.log.holding.wait()
                underway.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    if asked_to_stop:  # in the same step in which the loop cancels everything
                        at.supervisor.cancel(follower.run.run_id, by=StopCause.SHUTDOWN, reason="the server is stopping")

        serving = asyncio.create_task(server())  # noqa: TID251 - left alive, for the loop to end
        async with asyncio.timeout(10):
            await underway.wait()
        assert not serving.done()

    closing_loop = threading.Thread(target=asyncio.run, args=[main()], daemon=True)
    closing_loop.start()
    closing_loop.join(20)
    assert not closing_loop.is_alive(), "the loop waits for a task that is gone"


async def _refusal(call: Coroutine[Any, Any, Any]) -> BaseException | None:
    async with asyncio.timeout(10):
        try:
            await call
        except NotFound as error:
            return error
    return None


def _graph_is_done(run_id: str) -> bool:
    """Whether nothing of the run is left but its own task and its writer."""
    names = {task.get_name() for task in asyncio.all_tasks()}
    return f"run {run_id}" in names and not any("_pump" in repr(task.get_coro()) for task in asyncio.all_tasks())
