"""Model runs that are a graph's own business: structured output, routers, what its author hides."""

from __future__ import annotations

from typing import Any

from copilotkit.langgraph import copilotkit_customize_config
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from tests.corpus.case import Script, case, say
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish


class Route(BaseModel):
    """Where to go."""

    to: str


def routed(first: Any, *, router: list[Any]) -> Script:
    """A node that asks a hidden model first. first: how it does that."""
    hidden, answering = ScriptedModel(turns=[router]), ScriptedModel(turns=[["The ", "answer.", finish()]])

    async def route(state: Any, config: RunnableConfig) -> Any:
        await first(hidden, config)
        return {}

    return Script(graphs.sequence(route=route, answer=graphs.calls(answering)), [say("go")], [hidden, answering])


ROUTE = [call("Route"), args('{"to":"answer"}'), finish("tool_calls")]


@case("ag-ui-protocol/ag-ui#1543", why="The router's structured output is shown as a tool call.", http=True)
def structured_output() -> Script:
    """Structured output is no tool call that a person sees."""
    return routed(lambda model, _: model.with_structured_output(Route).ainvoke("x"), router=ROUTE)


@case("ag-ui-protocol/ag-ui#1543", why="The router's answer is shown until the snapshot takes it away.")
def tagged_nostream() -> Script:
    """A run that is tagged as internal is not shown."""
    return routed(lambda model, _: model.ainvoke("x", {"tags": ["langsmith:nostream"]}), router=["secret", finish()])


@case("ag-ui-protocol/ag-ui#2326")
def emit_messages_false() -> Script:
    """A run whose text CopilotKit's config hides; the answer after it is whole."""
    return routed(
        lambda model, config: model.ainvoke("x", copilotkit_customize_config(config, emit_messages=False)), router=["secret", finish()]
    )


@case()
def answer_that_is_not_streamed() -> Script:
    """An answer that its author does not want streamed comes whole, with the thread."""
    model = ScriptedModel(turns=[["not shown while it is said", finish()]])

    async def node(state: Any, config: RunnableConfig) -> Any:
        return {"messages": [await model.ainvoke("x", copilotkit_customize_config(config, emit_messages=False))]}

    return Script(graphs.one_node(node), [say("go")], [model])


@case(why="A list of names hides nothing: every call is shown.")
def some_calls_only() -> Script:
    """Of two calls only the one that the author names is streamed."""
    both = [call("keep", call_id="a"), args('{"q":1}'), call("drop", call_id="b", index=1), args('{"q":2}', index=1), finish()]
    return routed(lambda model, config: model.ainvoke("x", copilotkit_customize_config(config, emit_tool_calls=["keep"])), router=both)


@case("ag-ui-protocol/ag-ui#1543", why="It shows both texts, and the first stays until the last snapshot.", beside=["ids"])
def thinking_aloud() -> Script:
    """A model whose answer no thread keeps: what was shown is taken back by a snapshot."""
    model = ScriptedModel(turns=[["thinking aloud", finish()]])

    async def node(state: Any) -> Any:
        await model.ainvoke("x")
        return {"messages": [AIMessage("The answer.", id="a1")]}

    return Script(graphs.one_node(node), [say("go")], [model])


@case("ag-ui-protocol/ag-ui#2244", why="System messages go to the browser in its snapshots.")
def prompt_in_the_state() -> Script:
    """A prompt that a graph keeps in its messages is not for the browser."""
    model = ScriptedModel(turns=[["ok", finish()]])

    async def prompt(state: Any) -> Any:
        return {"messages": [SystemMessage("SECRET PROMPT", id="s1")]}

    return Script(graphs.sequence(prompt=prompt, model=graphs.calls(model)), [say("go")], [model])
