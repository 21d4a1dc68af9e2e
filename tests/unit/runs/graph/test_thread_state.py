"""Checkpoints: finalised, fitted for the next input, and rewritten, for states of every kind."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, StateGraph

from middle_core.errors import InvalidRequest
from middle_core.events import ThreadId
from middle_core.node_api.outcomes import ToolResult, outcome_of
from middle_core.runs.graph.repair import NO_RESULT, WITHDRAWN
from middle_core.runs.graph.thread_state import ThreadStates, completed, fitted, open_calls, starts_with
from tests.fakes import graphs
from tests.fakes.models import complaints

THREAD = ThreadId("t")
HI, ANSWER = HumanMessage("hi", id="h1"), AIMessage("hello", id="a1")
CALLING = AIMessage("", id="a2", tool_calls=[{"name": "s", "args": {}, "id": "c1"}])


class Added(TypedDict):
    messages: Annotated[list[Any], operator.add]


class Replaced(TypedDict):
    messages: list[Any]


@pytest.mark.parametrize("state", [graphs.ChatState, Added, Replaced])
async def test_messages_are_appended_replaced_and_left_alone(state: Any) -> None:
    graph = graphs.one_node(lambda state: {}, state=state)
    threads = ThreadStates(graph)
    assert await threads.write(await threads.read(THREAD), [HI, ANSWER])
    before = await threads.read(THREAD)
    assert not await threads.write(before, before.messages)
    assert await threads.write(before, [*before.messages, AIMessage("more", id="a3")])
    assert [one.content for one in (await threads.read(THREAD)).messages] == ["hi", "hello", "more"]
    longer = await threads.read(THREAD)
    assert await threads.write(longer, longer.messages[1:])
    left = await threads.read(THREAD)
    assert [one.content for one in left.messages] == ["hello", "more"]
    assert left.snapshot.tasks == ()


async def test_writing_runs_no_node_and_no_nodes_routing() -> None:
    ran: list[str] = []

    def node(state: Any) -> Any:
        ran.append("node")
        return {}

    def route(state: Any) -> str:
        ran.append("route")
        return END

    builder = StateGraph(graphs.ChatState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", route, [END])
    threads = ThreadStates(graphs.build(builder))
    await threads.write(await threads.read(THREAD), [HI])
    assert ran == []
    assert (await threads.read(THREAD)).snapshot.tasks == ()


async def test_an_unknown_thread_is_empty() -> None:
    one = await ThreadStates(graphs.one_node(lambda state: {})).read(THREAD)
    assert (one.messages, one.holds_messages, one.snapshot.tasks) == ([], True, ())
    assert not (await ThreadStates(graphs.no_messages()).read(THREAD)).holds_messages


def test_new_words_need_no_writing() -> None:
    new = HumanMessage("new", id="h2")
    base, fresh = fitted([HI, ANSWER], [new], restart_at=None, why=NO_RESULT)
    assert (base, fresh) == ([HI, ANSWER], [new])
    assert base[0] is HI


def test_a_restart_drops_everything_from_there() -> None:
    new = HumanMessage("edited", id="h1")
    assert fitted([HI, ANSWER], [new], restart_at="h1", why=NO_RESULT) == ([], [new])
    assert fitted([HI, ANSWER], [HumanMessage("x", id="h9")], restart_at="h9", why=NO_RESULT)[0] == [HI, ANSWER]


def test_a_dangling_call_is_answered_in_the_thread() -> None:
    base, fresh = fitted([HI, CALLING], [HumanMessage("new", id="h2")], restart_at=None, why=WITHDRAWN)
    assert [str(one.content) for one in base] == ["hi", "", WITHDRAWN.text]
    assert [one.id for one in fresh] == ["h2"]


def test_a_result_that_comes_in_time_is_input_and_a_late_one_goes_into_the_thread() -> None:
    result = ToolMessage("r", tool_call_id="c1", id="t1")
    assert fitted([HI, CALLING], [result], restart_at=None, why=NO_RESULT) == ([HI, CALLING], [result])
    between = HumanMessage("between", id="h2")
    base, fresh = fitted([HI, CALLING, between], [result, HumanMessage("new", id="h3")], restart_at=None, why=NO_RESULT)
    assert ([one.id for one in base], [one.id for one in fresh]) == (["h1", "a2", "t1", "h2"], ["h3"])


@pytest.mark.parametrize("taken", ["a1", "s1"])
def test_a_foreign_id_is_refused(taken: str) -> None:
    with pytest.raises(InvalidRequest):
        fitted([SystemMessage("prompt", id="s1"), HI, ANSWER], [HumanMessage("x", id=taken)], restart_at=None, why=NO_RESULT)


def test_known_results_are_put_in_with_their_outcome_and_the_rest_is_worded() -> None:
    two = AIMessage("", id="a", tool_calls=[{"name": "s", "args": {}, "id": one} for one in ("c1", "c2", "c3")])
    valid = completed([HI, two, ToolMessage("kept", tool_call_id="c3", id="t3")], {"c1": ToolResult("known"), "c3": NO_RESULT})
    assert [str(one.content) for one in valid if isinstance(one, ToolMessage)] == ["known", NO_RESULT.text, "kept"]
    assert [outcome_of(one).outcome for one in valid if isinstance(one, ToolMessage)] == ["done", "not_run", "done"]
    assert complaints(valid) == []


def test_a_changed_beginning_is_seen() -> None:
    assert starts_with([HI, ANSWER], [HI])
    assert starts_with([HumanMessage("hi", id="h1")], [HI])
    assert not starts_with([HumanMessage("ho", id="h1")], [HI])
    assert not starts_with([], [HI])
    assert not starts_with([AIMessage("", id="a2")], [CALLING])


def test_open_calls_are_those_of_the_last_answer_that_have_no_result() -> None:
    two = AIMessage("", id="a", tool_calls=[{"name": name, "args": {}, "id": name} for name in ("mine", "theirs", "done")])
    done = ToolMessage("r", tool_call_id="done", id="t")
    assert open_calls([HI, two, done], but={"theirs"}) == {"mine"}
    assert open_calls([HI, two, done, HumanMessage("next", id="h2")], but=()) == frozenset()
    assert open_calls([], but=()) == frozenset()
