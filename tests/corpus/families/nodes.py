"""Nodes and subgraphs: a step for each task with its true start and end, texts of parallel nodes apart, graphs of every kind."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, Send
from pydantic import BaseModel

from tests.corpus.case import Script, case, say, text_of
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish


class Signal(asyncio.Event):
    """In a script: lets another model go on, and waits for nothing."""

    def __init__(self, other: asyncio.Event) -> None:
        super().__init__()
        self._other = other

    async def wait(self) -> Any:
        """Not at all."""
        self._other.set()
        return True


def in_turns(left: list[Any], right: list[Any]) -> Script:
    """Two nodes that speak in turns, piece by piece; the left one ends when the right one has."""
    scripts: dict[str, list[Any]] = {"left": [], "right": []}
    pieces = [(piece, name) for pair in zip(left, right, strict=True) for piece, name in zip(pair, scripts, strict=True)]
    due = [asyncio.Event() for _ in pieces]
    due[0].set()
    for at, (piece, name) in enumerate(pieces):
        scripts[name] += [due[at], piece]
        if at + 1 < len(pieces):
            scripts[name].append(Signal(due[at + 1]))
    ended = asyncio.Event()
    scripts["left"].append(ended)
    first, second = (ScriptedModel(turns=[script]) for script in scripts.values())

    async def last(state: Any) -> Any:
        answer = await second.ainvoke(state["messages"])
        ended.set()
        return {"messages": [answer]}

    builder = StateGraph(graphs.WorkState)
    for name, node in (("left", graphs.calls(first)), ("right", last)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return Script(graphs.build(builder), [say("go")])


@case("CopilotKit/CopilotKit#2275", "ag-ui-protocol/ag-ui#1016", why="Both texts land in one message.", http=True)
def parallel_texts() -> Script:
    """Two nodes that speak at the same time are two messages."""
    return in_turns(["left0 ", "left1 "], ["right0 ", "right1 "])


@case(why="A step is opened and closed again at each token of two nodes that speak in turns.", beside=["steps"])
def parallel_steps() -> Script:
    """Two nodes that speak in turns are two steps."""
    return in_turns(["left0 ", "left1 ", "left2 "], ["right0 ", "right1 ", "right2 "])


@case(why="Runs of one node in a row are one step, and what they say is one message.", beside=["steps"])
def loop() -> Script:
    """A node that runs again is a step of another name: the browser refuses a name that is open."""

    model = ScriptedModel(turns=[["one", finish()], ["two", finish()]])

    async def count(state: Any) -> Any:
        goto = "count" if len(state["messages"]) < 2 else "__end__"
        return Command(goto=goto, update={"messages": [await model.ainvoke(state["messages"])]})

    return Script(graphs.one_node(count, name="count"), [say("go")], [model])


@case(why="Tasks of one node that run at once are one step.", beside=["steps"])
def one_node_several_times_at_once() -> Script:
    """A fan-out to one node: a step for each task."""
    builder = StateGraph(Fan)

    async def work(one: Any) -> Any:
        return {"done": [one["at"]]}

    node: Callable[..., Any] = work
    builder.add_node("work", node)
    builder.add_conditional_edges(START, lambda _: [Send("work", {"at": at}) for at in range(3)], ["work"])
    return Script(graphs.build(builder), [say("go")])


class Fan(graphs.WorkState):
    """What parallel tasks have done."""

    done: Annotated[list[int], operator.add]


@case(why="The step of the outer node is closed while its subgraph is at work, and opened again.", beside=["steps"])
def subgraph() -> Script:
    """A node of a subgraph has a step of its own, inside its parent's."""
    model = ScriptedModel(turns=[["deep", finish()]])
    return Script(graphs.nested(model), [say("go")], [model])


@case(beside=["steps"])
def command_to_the_parent() -> Script:
    """A node that leaves its subgraph for the parent graph has not failed."""

    model = ScriptedModel(turns=[["I leave.", finish()], ["Arrived.", finish()]])

    async def leave(state: Any) -> Any:
        return Command(graph=Command.PARENT, goto="after", update={"messages": [await model.ainvoke(state["messages"])]})

    inner = StateGraph(graphs.WorkState)
    inner.add_node("leave", leave)
    inner.add_edge(START, "leave")
    builder = StateGraph(graphs.WorkState)
    builder.add_node("inner", inner.compile(), destinations=("after",))
    builder.add_node("after", graphs.calls(model))
    builder.add_edge(START, "inner")
    return Script(graphs.build(builder), [say("go")])


@case(why="Both tries are one step.", beside=["steps"])
def retried_node() -> Script:
    """A node that is tried again is two steps, the first one failed."""
    model = ScriptedModel(turns=[[ConnectionError("again")], ["Now.", finish()]])
    builder = StateGraph(graphs.WorkState)
    builder.add_node("flaky", graphs.calls(model), retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    builder.add_edge(START, "flaky")
    return Script(graphs.build(builder), [say("go")], [model])


@case("ggozad/haiku.rag#214", why="It leaves the steps of failed and cancelled nodes open.", beside=["steps"])
def failed_node_and_its_sibling() -> Script:
    """A failed node is ended as failed, the one beside it as cancelled."""
    return Script(graphs.fails(RuntimeError("no"), beside=asyncio.Event()), [say("go")])


@case("CopilotKit/CopilotKit#5812", why="A stopped run ends without a terminal event, its steps and texts open.", beside=["steps"])
def stopped_nodes() -> Script:
    """A stop ends every open node as cancelled, the innermost first, and every open text."""
    model = ScriptedModel(turns=[["par", "tial", asyncio.Event()]])
    return Script(graphs.nested(model), [say("go", stop=text_of("tial"))], [model])


@dataclass
class Tenant:
    """A context_schema as teams write it."""

    name: str = "acme"


@case(why="It passes keys into a dataclass that does not take them: TypeError.")
def dataclass_context() -> Script:
    """A graph with a dataclass for a context_schema runs."""
    model = ScriptedModel(turns=[["ok", finish()]])
    return Script(graphs.one_node(graphs.calls(model), context_schema=Tenant), [say("go")])


class Settings(BaseModel):
    """A context_schema as a pydantic model."""

    name: str = "acme"


@case()
def pydantic_context() -> Script:
    """A graph with a pydantic context_schema runs."""
    model = ScriptedModel(turns=[["ok", finish()]])
    return Script(graphs.one_node(graphs.calls(model), context_schema=Settings), [say("go")])


@case(why="Its schema of a plain TypedDict state fails on Python 3.11: PydanticUserError.")
def plain_typed_dict_state() -> Script:
    """A graph whose state is a plain TypedDict runs."""
    model = ScriptedModel(turns=[["ok", finish()]])
    return Script(graphs.chat(model, state=graphs.ChatState), [say("go")])


@case(why="Its schema of a plain TypedDict state fails on Python 3.11: PydanticUserError.")
def no_messages() -> Script:
    """A graph without messages runs."""
    return Script(graphs.no_messages(), [say("go")])


@case("ag-ui-protocol/ag-ui#1016", why="It keeps one call in progress for the whole graph.")
def interleaved_calls_of_parallel_nodes() -> Script:
    """Tool calls of two nodes at once: each has its own arguments, under its own message."""
    pieces = [[call("search", call_id=f"c-{q}"), args('{"q":'), args(f'"{q}"}}')] for q in ("left", "right")]
    return in_turns(*pieces)
