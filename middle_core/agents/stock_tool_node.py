"""LangGraph's own `ToolNode` beside tools of the page.

A ToolNode answers each call of the last message, also those that are the browser's to answer: with an error, "not a valid tool". And the
edge behind it leads to the model, which must not run before the browser has answered. In the copy of a graph made here a ToolNode
leaves the page's calls open, and while one is open nothing behind that node runs: the run ends, and the page's tool does its work.
`agents.dispatch` does the same for graphs that use it. Uses LangGraph's inside, which tests pin.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._runnable import RunnableCallable
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel._read import ChannelRead, PregelNode

from middle_core.agents.frontend import part
from middle_core.node_api.context import run_context

Graph = CompiledStateGraph[Any, Any, Any, Any]


def leaving_page_calls(graph: Graph) -> Graph:
    """The graph with its ToolNodes, those of its subgraphs too, leaving the page's calls open. The same object where it has none."""
    nodes = {name: _leaving(node) for name, node in graph.nodes.items()}
    if all(node is graph.nodes[name] for name, node in nodes.items()):
        return graph
    made = copy.copy(graph)
    made.nodes = nodes
    return made


def _leaving(node: PregelNode) -> PregelNode:
    bound: Runnable[Any, Any]
    if isinstance(node.bound, ToolNode):
        bound, subgraphs = _only_ours(node.bound), list(node.subgraphs)
    elif isinstance(node.bound, CompiledStateGraph) and (inner := leaving_page_calls(node.bound)) is not node.bound:
        bound, subgraphs = inner, [inner]
    else:
        return node
    # The first writer puts what the node returned into the state; the others are the edges.
    writers = [*node.writers[:1], *(_unless_the_page_is_asked(edge) for edge in node.writers[1:])]
    return node.copy({"bound": bound, "writers": writers, "subgraphs": subgraphs})


def _only_ours(tools: ToolNode) -> Runnable[Any, Any]:
    """The node without the page's calls."""

    async def run(given: Any, config: RunnableConfig) -> Any:
        if (left := _without_page_calls(given)) is None:
            return [] if isinstance(given, list) and not _is_call(given[-1]) else {"messages": []}
        return await tools.ainvoke(left, config)

    return RunnableCallable(None, run, name=tools.name, trace=False)


def _unless_the_page_is_asked(edge: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The edge, taken where no call of the page is open in the state."""

    async def follow(value: Any, config: RunnableConfig) -> Any:
        messages = ChannelRead.do_read(config, select="messages", fresh=True) if run_context().page_tools else None
        return value if isinstance(messages, list) and page_calls_open(messages) else await edge.ainvoke(value, config)

    return RunnableCallable(None, follow, name="edge", trace=False)


def page_calls_open(messages: Sequence[BaseMessage]) -> bool:
    """Whether the newest assistant message has a call of the page's that nobody has answered."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return any(call["name"] in run_context().page_tools and call["id"] not in answered for call in message.tool_calls)
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
    return False


def _without_page_calls(given: Any) -> Any:
    """A ToolNode's input, in each form that it takes, without the page's calls; None where none is left."""
    names = run_context().page_tools
    if isinstance(given, dict) and given.get("__type") == "tool_call_with_context":
        return None if given["tool_call"]["name"] in names else given
    if isinstance(given, list) and given and _is_call(given[-1]):
        return [call for call in given if call["name"] not in names] or None
    messages = given if isinstance(given, list) else part(given, "messages") or []
    at = next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], AIMessage)), None)
    if at is None:
        return given
    ours = [call for call in messages[at].tool_calls if call["name"] not in names]
    if len(ours) == len(messages[at].tool_calls):
        return given
    changed = messages[at].model_copy(update={"tool_calls": ours})
    return _with_messages(given, [*messages[:at], changed, *messages[at + 1 :]]) if ours else None


def _with_messages(given: Any, messages: list[BaseMessage]) -> Any:
    """The input, a list of messages or a state of any kind, with these messages."""
    if isinstance(given, list):
        return messages
    if isinstance(given, dict):
        return {**given, "messages": messages}
    made = copy.copy(given)
    made.messages = messages
    return made


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "tool_call"
