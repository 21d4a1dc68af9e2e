"""Every kind of import path, right and wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from middle_core.agents.registry import AgentDeps, AgentNotLoaded, load
from middle_core.backend.client import BackendClient
from middle_core.models.offline.model import OfflineModel
from middle_core.runs.graph.introspection import topology
from tests.unit.agents import sample_graphs
from tests.unit.agents.graphs import CONFIG

HERE = "tests.unit.agents.sample_graphs"


@pytest.fixture
async def deps() -> AsyncIterator[AgentDeps]:
    async with httpx.AsyncClient() as http:
        yield AgentDeps(
            checkpointer=InMemorySaver(), model=OfflineModel(words_per_second=0), backend=BackendClient("http://127.0.0.1:1", http)
        )


@pytest.mark.parametrize(
    "attribute",
    [
        "uncompiled", "compiled", "without_memory", "factory", "async_factory", "with_deps", "async_with_deps",
        "keyword_deps", "optional_deps", "optional_other", "Builder.build",
    ],
)  # fmt: skip
async def test_each_kind_becomes_a_graph_on_the_servers_checkpointer(attribute: str, deps: AgentDeps) -> None:
    agent = (await load({"it": f"{HERE}:{attribute}"}, deps))["it"]
    assert agent.graph.checkpointer is deps.checkpointer
    await agent.graph.ainvoke({"messages": [HumanMessage("hi")]}, CONFIG)
    assert await deps.checkpointer.aget_tuple(CONFIG) is not None
    assert agent.client_writable == ({"messages"} if attribute == "with_deps" else frozenset())
    assert agent.description == ("with deps" if "with_deps" in attribute else "")


async def test_a_compiled_graph_is_copied_with_its_config_and_left_alone(deps: AgentDeps) -> None:
    agent = (await load({"it": f"{HERE}:compiled"}, deps))["it"]
    assert (agent.graph.config or {})["recursion_limit"] == 7
    assert sample_graphs.compiled.checkpointer is sample_graphs.own_saver


async def test_the_servers_tools_are_found_in_nodes_in_inner_graphs_and_in_the_spec(deps: AgentDeps) -> None:
    agents = await load({"nodes": f"{HERE}:with_tools", "spec": f"{HERE}:with_deps", "bare": f"{HERE}:compiled"}, deps)
    assert {name: agent.server_tools for name, agent in agents.items()} == {
        "nodes": {"own_tool", "named_tool"},
        "spec": {"named_tool"},
        "bare": frozenset(),
    }
    assert list(agents) == ["nodes", "spec", "bare"]
    assert {name: agent.stock_tool_nodes for name, agent in agents.items()} == {
        "nodes": {"inner|old_tools"},
        "spec": frozenset(),
        "bare": frozenset(),
    }


async def test_a_graph_is_drawn_as_its_team_wrote_it(deps: AgentDeps) -> None:
    """LangGraph does not find the edges behind a ToolNode in the copy that leaves the page's calls open."""
    agent = (await load({"it": f"{HERE}:looping"}, deps))["it"]
    assert agent.graph.nodes["tools"] is not agent.drawn.nodes["tools"]
    assert [(edge["source"], edge["target"]) for edge in topology(agent.drawn)["edges"]] == [
        ("__start__", "model"),
        ("model", "__end__"),
        ("model", "tools"),
        ("tools", "model"),
    ]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no_colon", "write it as package.module:attribute"),
        (f"{HERE}:", "write it as package.module:attribute"),
        ("no.such.module:build", "there is no module 'no'"),
        ("tests.unit.agents.sample_that_lacks:build", "there is no module 'a_package_that_nobody_installed'"),
        (
            "tests.unit.agents.sample_that_fails:build",
            "the import of 'tests.unit.agents.sample_that_fails' failed: RuntimeError: postgres://***@db (tests/unit/agents/sample_that_fails.py, line 3, in <module>)",
        ),
        (f"{HERE}:no_such_thing", "has no attribute 'no_such_thing'"),
        (f"{HERE}:number", "this is int, not a graph"),
        (f"{HERE}:returns_nothing", "this is NoneType, not a graph"),
        (f"{HERE}:needs_two", "needs deps, colour; it may take one argument"),
        (f"{HERE}:fails", "the factory failed: RuntimeError: postgres://***@db (tests/unit/agents/sample_graphs.py, line "),
        (f"{HERE}:fails_in_words", "the factory failed: BackendUnavailable: The knowledge service cannot be reached"),
        (f"{HERE}:lacks_a_setting", "the factory failed: ValueError: MY_CRM_URL is not set (tests/unit/agents/sample_graphs.py, line "),
        (f"{HERE}:lacks_a_setting", ", in crm_url)"),
        (f"{HERE}:fails_in_a_library", ", in fails_in_a_library)"),
        (f"{HERE}:refuses_a_value", "the factory failed: ValidationError: password: Input should be a valid integer"),
        (f"{HERE}:writes_what_is_not_there", "client_writable names approved"),
        (f"{HERE}:broken_graph", "the graph does not compile"),
        ("builtins:dict", "not a graph"),
    ],
)
async def test_a_wrong_entry_is_named_with_the_setting_and_the_reason(path: str, says: str, deps: AgentDeps) -> None:
    with pytest.raises(AgentNotLoaded) as caught:
        await load({"good": f"{HERE}:factory", "support": path}, deps)
    assert caught.value.detail.startswith(f"MIDDLE_CORE_AGENTS: support={path}: ")
    assert says in caught.value.detail
    assert "hunter2" not in caught.value.detail


async def test_a_setting_opens_keys_and_names_what_there_is_not(deps: AgentDeps) -> None:
    loaded = await load({"a": f"{HERE}:compiled"}, deps, client_writable={"a": frozenset({"messages"})})
    assert loaded["a"].client_writable == {"messages"}
    for opened, words in (
        ({"b": frozenset({"x"})}, "names b, and there is no such agent"),
        ({"a": frozenset({"x"})}, "client_writable names x"),
    ):
        with pytest.raises(AgentNotLoaded, match=words):
            await load({"a": f"{HERE}:compiled"}, deps, client_writable=opened)
