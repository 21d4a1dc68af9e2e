"""The fenced saver with real graphs: a superseded writer changes nothing, and a cancelled one leaves a whole state."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from pathlib import Path
from threading import Event as ThreadEvent
from typing import Annotated, Any, TypedDict

import aiosqlite
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from middle_core.errors import Superseded, Unclaimed
from middle_core.eventlog.port import EventLog
from middle_core.eventlog.records import Claim, Started
from middle_core.events import ThreadId
from middle_core.stores.sqlite.checkpoints import open_saver
from middle_core.stores.sqlite.database import SqliteDatabase
from middle_core.stores.sqlite.log import SqliteEventLog
from middle_core.stores.tail import Tails
from tests.contracts.eventlog_contract import adopt, end, start, text
from tests.fakes.claims import CLAIM


class State(TypedDict):
    """A chat."""

    messages: Annotated[list[AnyMessage], add_messages]


Graph = CompiledStateGraph[State, None, State, State]
Node = Any  # LangGraph's own type for a node wants the parameter's name


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    async with SqliteDatabase.open(f"sqlite:///{tmp_path}/log.db") as database:
        yield database


@pytest.fixture
def log(database: SqliteDatabase) -> EventLog:
    return SqliteEventLog(database, Tails())


@pytest.fixture
async def saver(database: SqliteDatabase) -> AsyncIterator[BaseCheckpointSaver[str]]:
    async with open_saver(database, CLAIM.get) as saver:
        yield saver


@pytest.fixture
async def run(log: EventLog) -> Started:
    return await start(log)


def graph_of(node: Node, saver: BaseCheckpointSaver[str]) -> Graph:
    """One node between start and end."""
    graph = StateGraph(State)
    graph.add_node("n", node)
    graph.add_edge(START, "n")
    graph.add_edge("n", END)
    return graph.compile(checkpointer=saver)


def place(claim: Claim) -> RunnableConfig:
    """Where LangGraph finds the run's thread."""
    return {"configurable": {"thread_id": claim.thread_id}}


async def attempt(graph: Graph, claim: Claim | None, said: Any) -> Any:
    """Run the graph as the engine does: in a task of its own, under its claim."""
    CLAIM.set(claim)
    config = place(claim) if claim is not None else RunnableConfig(configurable={"thread_id": "t"})
    return await graph.ainvoke(said, config)


async def contents(graph: Graph, claim: Claim) -> list[Any]:
    """What the thread says."""
    state = await graph.aget_state(place(claim))
    return [message.content for message in state.values.get("messages", [])]


def says(words: str) -> Node:
    """A node that answers at once."""

    async def node(_: State) -> dict[str, Any]:
        return {"messages": [AIMessage(words)]}

    return node


def hello() -> dict[str, Any]:
    """A new message."""
    return {"messages": [HumanMessage("hi")]}


async def test_a_superseded_attempt_cannot_overwrite_its_successor(log: EventLog, saver: BaseCheckpointSaver[str], run: Started) -> None:
    reached, release = asyncio.Event(), asyncio.Event()

    async def slow(_: State) -> dict[str, Any]:
        reached.set()
        await release.wait()
        return {"messages": [AIMessage("ZOMBIE")]}

    adopted = graph_of(says("ADOPTED"), saver)
    async with asyncio.TaskGroup() as group:
        zombie = group.create_task(_outcome(attempt(graph_of(slow, saver), run.claim, hello())))
        await reached.wait()
        claim = await adopt(log, run.claim)
        await group.create_task(attempt(adopted, claim, None))
        release.set()
    assert isinstance(zombie.result(), Superseded)
    assert await contents(adopted, claim) == ["hi", "ADOPTED"]


async def test_a_stopped_thread_is_settled_under_the_claim_until_the_ending(
    log: EventLog, saver: BaseCheckpointSaver[str], run: Started
) -> None:
    reached = asyncio.Event()

    async def endless(_: State) -> dict[str, Any]:
        reached.set()
        await asyncio.Event().wait()
        return {}

    graph = graph_of(endless, saver)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(attempt(graph, run.claim, hello()))
        await reached.wait()
        task.cancel()
    CLAIM.set(run.claim)
    await graph.aupdate_state(place(run.claim), {"messages": [AIMessage("partial")]}, as_node="n")
    await end(log, run.claim)
    with pytest.raises(Superseded):
        await graph.aupdate_state(place(run.claim), {"messages": [AIMessage("too late")]}, as_node="n")
    assert await contents(graph, run.claim) == ["hi", "partial"]


async def test_every_write_needs_the_claim_of_its_own_thread(log: EventLog, saver: BaseCheckpointSaver[str], run: Started) -> None:
    other = (await start(log)).claim
    config: RunnableConfig = {"configurable": {"thread_id": run.claim.thread_id, "checkpoint_ns": ""}}
    checkpoint = empty_checkpoint()
    written = {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    def writes() -> list[Awaitable[Any]]:
        return [
            saver.aput(config, checkpoint, {}, {}),
            saver.aput_writes(RunnableConfig(configurable=written["configurable"]), [("messages", "x")], "task"),
            saver.adelete_thread(run.claim.thread_id),
        ]

    stale = replace(run.claim, token="another")
    for claim, refusal in [(None, Unclaimed), (other, Unclaimed), (stale, Superseded), (replace(run.claim, attempt=2), Superseded)]:
        CLAIM.set(claim)
        for write in writes():
            with pytest.raises(refusal):
                await write
    assert [found async for found in saver.alist(config)] == []

    CLAIM.set(run.claim)
    put, put_writes, delete = writes()
    assert await put == written
    await put_writes
    [found] = [found async for found in saver.alist(config)]
    assert found.pending_writes == [("task", "messages", "x")]
    await delete
    assert [found async for found in saver.alist(config)] == []


async def test_a_graph_outside_of_a_run_is_refused_in_words(saver: BaseCheckpointSaver[str]) -> None:
    with pytest.raises(Unclaimed, match="holds its thread's claim"):
        await attempt(graph_of(says("x"), saver), None, hello())


async def test_sync_nodes_and_the_sync_saver_write_under_the_claim_too(saver: BaseCheckpointSaver[str], run: Started) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": run.claim.thread_id, "checkpoint_ns": ""}}
    with pytest.raises(Unclaimed):
        await asyncio.to_thread(saver.put, config, empty_checkpoint(), {}, {})
    CLAIM.set(run.claim)
    await asyncio.to_thread(saver.put, config, empty_checkpoint(), {}, {})
    assert await saver.aget_tuple(config) is not None


async def test_its_own_connection_cannot_write(saver: BaseCheckpointSaver[str]) -> None:
    assert isinstance(saver, AsyncSqliteSaver)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await saver.conn.execute("DELETE FROM checkpoints")


async def test_it_stores_what_the_stock_saver_stores(tmp_path: Path, log: EventLog, saver: BaseCheckpointSaver[str], run: Started) -> None:
    def ask(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{len(state['messages'])}: {interrupt('sure?')}")]}

    async def history(saver: BaseCheckpointSaver[str]) -> list[Any]:
        graph = StateGraph(State)
        graph.add_node("n", ask)
        graph.add_edge(START, "n")
        compiled = graph.compile(checkpointer=saver)
        async with asyncio.TaskGroup() as group:
            await group.create_task(attempt(compiled, run.claim, hello()))
            await group.create_task(attempt(compiled, run.claim, Command(resume="yes")))
        return [
            (
                [(message.type, message.content) for message in found.checkpoint["channel_values"].get("messages", [])],
                {key: value for key, value in found.metadata.items() if key != "run_id"},
                [(channel, getattr(value, "value", None)) for _, channel, value in found.pending_writes or []],
                found.parent_config is None,
            )
            async for found in saver.alist(place(run.claim))
        ]

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "stock.db")) as stock:
        expected = await history(stock)
    assert len(expected) >= 3
    assert await history(saver) == expected


async def test_a_write_cancelled_in_the_middle_leaves_a_working_saver(
    database: SqliteDatabase, log: EventLog, saver: BaseCheckpointSaver[str], run: Started
) -> None:
    CLAIM.set(run.claim)
    config: RunnableConfig = {"configurable": {"thread_id": run.claim.thread_id, "checkpoint_ns": ""}}
    inside, go_on = ThreadEvent(), ThreadEvent()

    def hold(_: sqlite3.Connection) -> bool:
        inside.set()
        return go_on.wait(10)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        holding = group.create_task(database.transact(run.claim, hold))
        assert await asyncio.to_thread(inside.wait, 10)
        queued = group.create_task(saver.aput(config, empty_checkpoint(), {}, {}))
        await asyncio.to_thread(lambda: None)
        queued.cancel()
        go_on.set()
        assert await holding
    await saver.aput(config, empty_checkpoint(), {}, {})
    assert await saver.aget_tuple(config) is not None
    assert await log.append(run.claim, [text("a")])


@pytest.mark.parametrize("turns", range(12))
async def test_reads_and_writes_cancelled_anywhere_leave_a_working_saver(
    log: EventLog, saver: BaseCheckpointSaver[str], run: Started, turns: int
) -> None:
    graph = graph_of(says("answer"), saver)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for _ in range(3):
            tasks: list[asyncio.Task[Any]] = [group.create_task(attempt(graph, run.claim, hello())) for _ in range(2)]
            tasks += [group.create_task(contents(graph, run.claim)) for _ in range(2)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(attempt(graph, run.claim, hello()))
    assert (await contents(graph, run.claim))[-2:] == ["hi", "answer"]
    await end(log, run.claim)


async def test_graphs_and_appends_never_lock_each_other_out(log: EventLog, saver: BaseCheckpointSaver[str]) -> None:
    graph = StateGraph(State)
    names = [f"n{n}" for n in range(10)]
    for name in names:
        graph.add_node(name, says(name * 200))
    graph.add_edge(START, names[0])
    for before, after in itertools.pairwise(names):
        graph.add_edge(before, after)
    compiled = graph.compile(checkpointer=saver)
    runs = [await start(log) for _ in range(8)]

    async def write(claim: Claim) -> None:
        for n in range(100):
            await log.append(claim, [text(str(n))])

    async with asyncio.TaskGroup() as group:
        for run in runs:
            group.create_task(attempt(compiled, run.claim, hello()))
            group.create_task(write(run.claim))
    for run in runs:
        assert len(await contents(compiled, run.claim)) == 11
        assert len(await log.read(run.run.run_id, after=0, limit=1000)) == 101


async def test_a_caller_may_read_and_write_while_it_lists(saver: BaseCheckpointSaver[str], run: Started) -> None:
    CLAIM.set(run.claim)
    config: RunnableConfig = {"configurable": {"thread_id": run.claim.thread_id, "checkpoint_ns": ""}}
    written = [(await saver.aput(config, empty_checkpoint(), {"step": step}, {}))["configurable"]["checkpoint_id"] for step in range(45)]
    seen = []
    async with asyncio.timeout(10):
        async for found in saver.alist(config):
            assert await saver.aget_tuple(found.config) == found
            seen.append(found.config["configurable"]["checkpoint_id"])
    assert seen == written[::-1]
    for limit in (0, 1, 20, 21, 40, 45, 100):
        assert len([found async for found in saver.alist(config, limit=limit)]) == min(limit, 45)
    assert [found.metadata async for found in saver.alist(config, filter={"step": 7})] == [{"step": 7}]


async def test_deleting_the_thread_deletes_its_checkpoints(
    database: SqliteDatabase, log: EventLog, saver: BaseCheckpointSaver[str], run: Started
) -> None:
    graph, other = graph_of(says("answer"), saver), await start(log)
    async with asyncio.TaskGroup() as group:
        group.create_task(attempt(graph, run.claim, hello()))
        group.create_task(attempt(graph, other.claim, hello()))
    await end(log, run.claim)
    await log.delete_thread(ThreadId(run.claim.thread_id))
    assert await contents(graph, run.claim) == []
    assert await contents(graph, other.claim) == ["hi", "answer"]
    async with aiosqlite.connect(database.path) as db:
        for table in ("checkpoints", "writes"):
            [row] = await db.execute_fetchall(f"SELECT count(*) FROM {table} WHERE thread_id = ?", (run.claim.thread_id,))
            assert tuple(row) == (0,)


async def _outcome(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except Superseded as refusal:
        return refusal
