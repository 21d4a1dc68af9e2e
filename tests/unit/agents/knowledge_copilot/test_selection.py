"""Selected sources: what a browser may write, what the agent may write, and that a search is limited to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from middle_core.agents.knowledge_copilot.selection import MAX_SELECTED, chosen
from tests.fakes.models import ScriptedModel, call
from tests.unit.agents.graphs import results
from tests.unit.agents.knowledge_copilot.test_graph import CONFIG, ask, caller, copilot

__all__ = ["caller"]  # a fixture


def search(query: str, call_id: str) -> Any:
    return call("search_knowledge", {"query": query}, call_id=call_id)


async def test_a_search_looks_only_in_what_is_selected_until_all_is_selected_again(tmp_path: Path, caller: Callable[[str], None]) -> None:
    model = ScriptedModel(
        turns=[[search("lease stop", "a")], ["x"], [search("lease stop", "b")], ["x"], [search("lease stop", "c")], ["x"]]
    )
    async with copilot(model, tmp_path) as agent:
        await ask(agent, "one", selected_sources=["stop"])
        await ask(agent, "two")
        state = await ask(agent, "three", selected_sources=[])
    found = {key: json.loads(message.text) for key, message in results(state).items()}
    assert [{one["source"] for one in found[key]["passages"]} for key in "abc"] == [{"stop"}, {"stop"}, {"stop", "leases"}]
    assert [found[key].get("limited_to") for key in "abc"] == [["stop"], ["stop"], None]
    assert all(0 <= one["score"] <= 1 for one in found["c"]["passages"])


async def test_the_agent_selects_by_name_and_the_selection_is_in_the_state(tmp_path: Path, caller: Callable[[str], None]) -> None:
    calls = [("a", ["stopp"]), ("b", ["STOPPING", "leases"]), ("c", ["otters"]), ("d", [])]
    turns = [turn for key, names in calls for turn in ([call("select_sources", {"names": names}, call_id=key)], ["x"])]
    async with copilot(ScriptedModel(turns=turns), tmp_path) as agent:
        selected = [(await ask(agent, "go"))["selected_sources"] for _ in calls]
        texts = {key: message.text for key, message in results((await agent.graph.aget_state(CONFIG)).values).items()}
    assert selected == [["stop"], ["stop", "leases"], ["stop", "leases"], []]
    assert json.loads(texts["a"]) == {"selected": [{"id": "stop", "name": "Stopping"}]}
    assert "No source is called otters" in texts["c"]


async def test_two_selections_in_one_answer_do_not_fail_the_run(tmp_path: Path, caller: Callable[[str], None]) -> None:
    both = [call("select_sources", {"names": [name]}, call_id=name, index=at) for at, name in enumerate(["leases", "stop"])]
    async with copilot(ScriptedModel(turns=[both, ["x"]]), tmp_path) as agent:
        state = await agent.graph.ainvoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert state["selected_sources"] in (["leases"], ["stop"])


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (["a", "b", "a"], ["a", "b"]),
        ([], []),
        (["a", 7, None, {"x": 1}, "", "y" * 201], ["a"]),
        ([str(n) for n in range(MAX_SELECTED + 50)], [str(n) for n in range(MAX_SELECTED)]),
        ("a", ["before"]),
        (None, ["before"]),
        ({"a": 1}, ["before"]),
    ],
)
def test_what_a_browser_sends_is_cut_to_a_list_of_ids(given: Any, taken: list[str]) -> None:
    assert chosen(["before"], given) == taken
