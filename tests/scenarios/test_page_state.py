"""State that a page writes: taken where it may, told where it may not, and the setting that opens a bare graph."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from tests.fakes import graphs
from tests.fakes.stack import Reader, Stack, run_input, stack, user


def bare() -> Any:
    """A graph with a plan, and nothing said about pages."""

    async def node(state: Any) -> Any:
        return {"steps": [*state.get("steps", []), str(state.get("plan"))]}

    builder = StateGraph(graphs.WorkState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder


async def run(server: Stack, state: dict[str, Any]) -> Reader:
    async with server.stream("POST", "/copilotkit", body=run_input(user("go"), state=state)) as reader:
        return await reader.rest()


def ignored(reader: Reader) -> list[str]:
    return [event["value"]["key"] for event in reader.events if event.get("name") == "middle_core.state_ignored"]


def state(reader: Reader) -> Any:
    return [event["snapshot"] for event in reader.events if event["type"] == "STATE_SNAPSHOT"][-1]


async def test_a_dropped_key_is_told_once_in_the_log_and_in_each_stream(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with stack(tmp_path, agents={"default": bare}) as server:
            first = await run(server, {"unheard": 1, "plan": "mine", "steps": ["x"], "messages": []})
            assert ignored(first) == ["plan"], "the first that the graph has"
            assert state(first) == {"steps": ["None"]}
            again = await run(server, {**state(first), "plan": "mine"})
            assert ignored(again) == ["plan"]
            assert ignored(await run(server, state(again))) == [], "what the page was shown and sends back is no wish"
    told = [record.getMessage() for record in caplog.records if "MIDDLE_CORE_CLIENT_WRITABLE" in record.getMessage()]
    assert len(told) == 1
    assert "'plan' of the state of default" in told[0]


async def test_the_setting_opens_a_key_of_a_bare_graph(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": bare}, client_writable={"default": frozenset({"plan"})}) as server:
        reader = await run(server, {"plan": "mine", "steps": ["x"]})
    assert state(reader) == {"plan": "mine", "steps": ["mine"]}
    assert ignored(reader) == ["steps"]
