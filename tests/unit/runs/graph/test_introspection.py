"""What compiled graphs say of themselves."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from middle_core.runs.graph.introspection import context_for, input_keys, joins_messages, output_keys, topology
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel

OFFERED = {"thread_id": "t", "copilotkit": {"actions": []}}


@dataclass
class Data:
    thread_id: str
    tenant: str = "x"
    more: list[int] = field(default_factory=list)
    derived: str = field(init=False)


class Model(BaseModel):
    copilotkit: dict[str, Any]
    tenant: str = "x"


class Typed(TypedDict):
    tenant: str


@pytest.mark.parametrize(
    ("schema", "given"),
    [(None, OFFERED), (Data, {"thread_id": "t"}), (Model, {"copilotkit": {"actions": []}}), (Typed, OFFERED)],
)
def test_a_context_gets_the_fields_it_has(schema: Any, given: dict[str, Any]) -> None:
    assert context_for(schema, OFFERED) == given


def test_a_field_that_nobody_gives_needs_a_default() -> None:
    class Needs(BaseModel):
        tenant: str

    with pytest.raises(ValueError, match="Needs needs tenant"):
        context_for(Needs, OFFERED)


class Narrow(TypedDict):
    number: int


class Wide(Narrow):
    inner: int


def test_keys_are_those_of_the_input_and_output_schemas() -> None:
    builder = StateGraph(Wide, input_schema=Narrow, output_schema=Narrow)
    builder.add_node("n", lambda state: {})
    builder.add_edge(START, "n")
    graph = graphs.build(builder)
    assert input_keys(graph) == {"number"}
    assert output_keys(graph) == {"number"}
    assert input_keys(graphs.no_messages()) == {"number"}


class Replaced(TypedDict):
    messages: list[Any]


class Added(TypedDict):
    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize(("state", "joins"), [(graphs.ChatState, True), (Added, True), (Replaced, False), (graphs.Numbers, False)])
def test_how_messages_are_joined(state: Any, joins: bool) -> None:
    assert joins_messages(graphs.one_node(lambda state: state, state=state)) is joins


def test_the_drawing_shows_subgraphs_with_their_parent_and_labels() -> None:
    drawn = topology(graphs.nested(ScriptedModel(turns=[])))
    assert {one["id"]: one.get("parent") for one in drawn["nodes"]} == {
        "__start__": None,
        "outer": None,
        "outer:speak": "outer",
        "__end__": None,
    }
    builder = StateGraph(graphs.Numbers)
    builder.add_node("a", lambda state: {})
    builder.add_node("b", lambda state: {})
    builder.add_conditional_edges(START, lambda state: "x", {"x": "a", "y": "b"})
    edges = {
        (one["target"], one["conditional"], one.get("label"))
        for one in topology(graphs.build(builder))["edges"]
        if one["source"] == "__start__"
    }
    assert edges == {("a", True, "x"), ("b", True, "y")}
