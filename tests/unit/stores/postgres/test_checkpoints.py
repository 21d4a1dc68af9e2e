"""The fenced saver on Postgres with real graphs: every value of a state comes back, and a superseded writer changes nothing."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from middle_core.errors import StoreUnavailable, Superseded, Unclaimed
from middle_core.eventlog.records import Claim
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import adopt, start
from tests.fakes.claims import CLAIM


class State(TypedDict, total=False):
    """Values of every kind at its top level, which is where jsonb meets them."""

    value: Any
    other: int


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url, claim=CLAIM.get) as store:
        yield store


def graph_of(saver: BaseCheckpointSaver[str], *values: Any) -> Any:
    """A node for each value, which sets it, and a last one that sets something else."""

    def last(_: Any) -> Any:
        return {"other": 1}

    builder: Any = StateGraph(State)
    before = START
    for number, value in enumerate(values):
        builder.add_node(f"n{number}", lambda _, value=value: {"value": value})
        builder.add_edge(before, before := f"n{number}")
    builder.add_node("last", last)
    builder.add_edge(before, "last")
    builder.add_edge("last", END)
    return builder.compile(checkpointer=saver)


async def run(graph: Any, claim: Claim) -> None:
    """As the engine does: in a task of its own, under the claim."""

    async def work() -> None:
        CLAIM.set(claim)
        await graph.ainvoke({"value": "first"}, {"configurable": {"thread_id": claim.thread_id}}, durability="sync")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(outcome(work()))
    if (error := running.result()) is not None:
        raise error


async def outcome(work: Awaitable[None]) -> Exception | None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - it is what the test asks for
        return error
    return None


async def values_of(graph: Any, claim: Claim) -> Any:
    return (await graph.aget_state({"configurable": {"thread_id": claim.thread_id}})).values


@pytest.mark.parametrize(
    "value", ["a\x00b", "\x00", "\ud800 alone", "\ud83d\ude00", "😀", "", 0, False, None, 1e300, 1.0, 2**62, {"a": "\x00"}]
)
async def test_every_value_of_a_state_comes_back(store: Store, value: Any) -> None:
    claim = (await start(store.log)).claim
    graph = graph_of(store.saver, value)
    await run(graph, claim)
    found = await values_of(graph, claim)
    assert (found["value"], type(found["value"]), found["other"]) == (value, type(value), 1)


async def test_not_a_number_and_infinity(store: Store) -> None:
    claim = (await start(store.log)).claim
    graph = graph_of(store.saver, math.nan, -math.inf)
    await run(graph, claim)
    assert (await values_of(graph, claim))["value"] == -math.inf
    history = [one async for one in graph.aget_state_history({"configurable": {"thread_id": claim.thread_id}})]
    assert any(isinstance(one.values.get("value"), float) and math.isnan(one.values["value"]) for one in history)


async def test_a_value_goes_from_bytes_to_json_and_back(store: Store) -> None:
    claim = (await start(store.log)).claim
    graph = graph_of(store.saver, "\x00", "plain", "\x00 again")
    await run(graph, claim)
    history = [one.values.get("value") async for one in graph.aget_state_history({"configurable": {"thread_id": claim.thread_id}})]
    assert [one for one in history if one is not None] == ["\x00 again", "\x00 again", "plain", "\x00", "first"]


async def test_a_superseded_attempt_writes_nothing(store: Store) -> None:
    claim = (await start(store.log)).claim
    graph = graph_of(store.saver, "late")
    await adopt(store.log, claim)
    with pytest.raises(Superseded):
        await run(graph, claim)
    assert await values_of(graph, claim) == {}


async def test_outside_of_a_run_nothing_is_written(store: Store) -> None:
    with pytest.raises(Unclaimed):
        await graph_of(store.saver).ainvoke({"value": 1}, {"configurable": {"thread_id": "t"}})


async def test_after_the_store_is_closed_it_is_unavailable(url: str) -> None:
    async with open_store(url, claim=CLAIM.get) as store:
        saver = store.saver
    with pytest.raises(StoreUnavailable):
        await saver.aget_tuple({"configurable": {"thread_id": "t"}})
