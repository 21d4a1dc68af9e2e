"""How the tools of a graph are called: one task per call, each run once, none of them able to crash the run.

    graph.add_node("agent", agent)
    add_tools(graph, TOOLS)        # the node "tools", the edges agent -> tools and tools -> agent

LangGraph's shared ToolNode runs finished calls again whenever one of them interrupts
(langchain-ai/langgraph#6626). Here every call is a task of its own (`Send`), and the ledger of the thread
(`middle_core.node_api.tool_ledger`) is asked before and told after: a resume or a retry gets the recorded result of a
finished call. A call that began and never ended (a crash) is told to the model as such and not run again,
unless the tool is `repeatable`. Where no ledger is set, a graph runs all the same, without that memory.

What a tool does, and what becomes of it:

    returns anything            a tool message: text or JSON, bounded (`agents.tool_text`)
    returns a Command           goes to the graph; its tool message gets the same treatment
    raises                      an error message in words for the model; the cause goes to the server's log
    raises FailRun              the run fails with its words
    interrupts                  the run pauses; the resume runs the tool, its finished neighbours not
    is cancelled                an async tool sees CancelledError, a synchronous one `sync_tools.stop_requested()`
    wrong arguments, no such tool   not run; an error message that names the fields
    is the browser's            not run; the run ends when the server's own calls are done, the browser answers

This module knows no particular tool or agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_async_callback_manager_for_config
from langchain_core.tools import BaseTool
from langgraph.graph import END, StateGraph
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Send

from middle_core.agents.calls import REFUSED, Call, open_calls
from middle_core.agents.frontend import frontend_tool_names, part
from middle_core.agents.guard import GuardedTool, invalid_arguments, tool_result
from middle_core.agents.sync_tools import SyncToolPool
from middle_core.agents.tool_text import MAX_RESULT_CHARS, bounded, storable
from middle_core.contract.outcomes import OutcomeCode
from middle_core.events import ToolOutcome
from middle_core.node_api.outcomes import ToolResult, result


def add_tools(graph: StateGraph[Any, Any, Any, Any], tools: Sequence[BaseTool], *, agent: str = "agent", node: str = "tools") -> None:
    """Wire the tools between the agent node and itself; the graph ends where no call, or only the browser's, is open."""
    graph.add_node(node, tools_node(tools))
    graph.add_conditional_edges(agent, route_tools(tools, node=node), [node, END])
    graph.add_conditional_edges(node, after_tools(tools, agent=agent), [agent, END])


def tools_node(tools: Sequence[BaseTool], *, max_result_chars: int = MAX_RESULT_CHARS, pool: SyncToolPool | None = None) -> ToolsNode:
    """The node that runs one call, for `graph.add_node("tools", tools_node(TOOLS))`."""
    return ToolsNode(tools, max_result_chars, pool or SyncToolPool())


def route_tools(tools: Sequence[BaseTool], *, node: str = "tools") -> Callable[[Any], list[Send] | str]:
    """The edge from the agent: a task for each open call of its last message that is not the browser's, or the end.

    A call of the browser's that cannot be run is answered here as well: the browser would run it with arguments that are incomplete.
    """
    server = {tool.name for tool in tools}

    def route(state: Any) -> list[Send] | str:
        client = frontend_tool_names(state) - server
        calls = open_calls(part(state, "messages"))
        mine = [call for call in calls if call.name not in client]
        unfit = [
            replace(call, refused=call.refused or OutcomeCode.INVALID_ARGUMENTS.value)
            for call in calls
            if call.name in client and not call.sound
        ]
        return [Send(node, asdict(call)) for call in (*mine, *unfit)] or END

    return route


def after_tools(tools: Sequence[BaseTool], *, agent: str = "agent") -> Callable[[Any], str]:
    """The edge back: to the agent, or to the end where calls of the last message are the browser's to answer.

    It is evaluated in each call's task, which does not see its neighbours' results: only names decide.
    """
    server = {tool.name for tool in tools}

    def back(state: Any) -> str:
        client = frontend_tool_names(state) - server
        return END if any(call.name in client and call.sound for call in open_calls(part(state, "messages"))) else agent

    return back


class ToolsNode:
    """Runs one tool call: the payload of a `Send` from `route_tools`."""

    def __init__(self, tools: Sequence[BaseTool], max_result_chars: int, pool: SyncToolPool) -> None:
        names = [tool.name for tool in tools]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"Two tools have the same name: {', '.join(twice)}. Rename one: the model could not tell them apart.")
        self.names: frozenset[str] = frozenset(names)
        self._tools: Mapping[str, GuardedTool] = {tool.name: GuardedTool(tool, max_result_chars, pool) for tool in tools}
        self.repeatable: frozenset[str] = frozenset(name for name, tool in self._tools.items() if tool.repeatable)

    async def __call__(self, state: Any, config: RunnableConfig) -> Any:
        if not (isinstance(state, dict) and "key" in state):
            raise TypeError("The tools node takes one call. Lead to it with route_tools(...) or add_tools(...), not with a plain edge.")
        call = Call(**state)  # a Send's payload, not the graph's state
        tool = self._tools.get(call.name)
        if tool is None:
            return await _answer(call, REFUSED[call.refused] if call.refused else self._no_such_tool(call), config)
        if fault := tool.fault(call):
            return await _answer(call, fault, config)
        try:
            return await tool.run(call, config)
        except ToolInvocationError as error:  # the tool's own checks are stricter than its schema
            return await _answer(call, invalid_arguments(call, error.source), config)

    def _no_such_tool(self, call: Call) -> ToolResult:
        known = ", ".join(sorted(self.names)) or "none"
        text = f"There is no tool {call.name!r}, so nothing was run. The tools are: {known}."
        message = f"There is no tool called “{call.name}”, so nothing was run."
        return result(bounded(storable(text)), ToolOutcome.NOT_RUN, OutcomeCode.UNKNOWN_TOOL, message)


async def _answer(call: Call, answer: ToolResult, config: RunnableConfig) -> dict[str, Any]:
    """The result of a call that is not run, announced to callbacks like any other, so that streams show it."""
    message = tool_result(call, answer)
    manager = get_async_callback_manager_for_config(config)
    shown = await manager.on_tool_start({"name": call.name}, call.raw, name=call.name, inputs=call.args or {}, tool_call_id=call.id)
    await shown.on_tool_end(message, name=call.name)
    return {"messages": [message]}
