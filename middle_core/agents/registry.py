"""The agents of a server: the import paths of the settings become graphs that are bound to the server's checkpointer.

A path is `package.module:attribute`. The attribute is one of

    a compiled graph, an uncompiled StateGraph, an AgentSpec,
    or a function, sync or async, that returns one of these. It may take one argument, the AgentDeps.

A team that embeds the server may give such an object itself instead of a path.

A graph loses its own checkpointer and gets the server's. A client cannot write the state of a bare graph; an AgentSpec can allow
single keys. This module imports what it is told to import, and runs no agent.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables.base import Runnable
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from middle_core.agents.dispatch import ToolsNode
from middle_core.agents.faults import explained
from middle_core.agents.stock_tool_node import leaving_page_calls
from middle_core.backend.client import BackendClient
from middle_core.errors import MiddleCoreError

SETTING = "MIDDLE_CORE_AGENTS"

Graph = CompiledStateGraph[Any, Any, Any, Any]
T = TypeVar("T")


class AgentNotLoaded(MiddleCoreError):
    """An entry of MIDDLE_CORE_AGENTS does not lead to a graph. The text names the entry and says what is wrong with it."""

    title = "Agent not loaded"


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """What a factory may use.

    Args:
        checkpointer: the server's. The graph gets it in any case, so a factory seldom needs it.
        model: the chat model of the settings.
        backend: a client of backend-core that sends the caller's token.
    """

    checkpointer: BaseCheckpointSaver[Any]
    model: BaseChatModel
    backend: BackendClient


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A graph and what the server has to know of it beyond the graph.

    Args:
        graph: compiled or not.
        description: what the agent is for, in words for people.
        client_writable: keys of the state that a browser may set.
        tools: the server's own tools, which no tool of a browser may replace. Tools in a ToolNode or in `dispatch.tools_node` are
            found without being named here.
        legacy_interrupts: for a page with CopilotKit's older `useLangGraphInterrupt`, which knows no AG-UI 1.0 outcome.
    """

    graph: Graph | StateGraph[Any, Any, Any, Any]
    description: str = ""
    client_writable: frozenset[str] = frozenset()
    tools: Sequence[BaseTool] = ()
    legacy_interrupts: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, ready to run.

    Args:
        name: its name in the settings and in addresses.
        description: see `AgentSpec`.
        graph: compiled, with the server's checkpointer.
        client_writable: see `AgentSpec`.
        server_tools: names of the server's own tools.
        drawn: the graph as its team wrote it, for drawings: LangGraph does not find the edges behind the ToolNodes of `graph`.
        stock_tool_nodes: paths of the nodes that are LangGraph's ToolNode. They run, but without the ledger: a resume runs finished
            calls again, and a tool's error may end the run.
        legacy_interrupts: see `AgentSpec`.
        recorded_tools: names of the tools whose calls are written to the ledger.
        repeatable_tools: names of those of them that are `guard.repeatable`.
    """

    name: str
    description: str
    graph: Graph
    drawn: Graph
    client_writable: frozenset[str]
    server_tools: frozenset[str]
    stock_tool_nodes: frozenset[str] = frozenset()
    legacy_interrupts: bool = False
    recorded_tools: frozenset[str] = frozenset()
    repeatable_tools: frozenset[str] = frozenset()


async def load(
    specs: Mapping[str, Any], deps: AgentDeps, *, client_writable: Mapping[str, frozenset[str]] = MappingProxyType({})
) -> dict[str, Agent]:
    """The agents by name.

    Args:
        specs: an import path, or the object itself, by name.
        deps: what factories may use.
        client_writable: keys that browsers may write, by agent, beside those of its `AgentSpec`.

    Raises:
        AgentNotLoaded: an entry does not lead to a graph, or names a key or an agent that there is not.
    """
    if unknown := client_writable.keys() - specs.keys():
        raise AgentNotLoaded(f"MIDDLE_CORE_CLIENT_WRITABLE names {', '.join(sorted(unknown))}, and there is no such agent.")
    return {name: await _load(name, spec, deps, client_writable.get(name, frozenset())) for name, spec in specs.items()}


async def _load(name: str, given: Any, deps: AgentDeps, opened: frozenset[str]) -> Agent:
    entry = f"{SETTING}: {name}={given}" if isinstance(given, str) else f"agent {name}"
    made = await _call(_attribute(given, entry) if isinstance(given, str) else given, deps, entry)
    spec = made if isinstance(made, AgentSpec) else AgentSpec(graph=made)
    graph = _bound(spec.graph, deps.checkpointer, entry)
    writable = spec.client_writable | opened
    if unknown := writable - graph.channels.keys():
        raise AgentNotLoaded(f"{entry}: client_writable names {', '.join(sorted(unknown))}, which the graph's state does not have.")
    stock = dict(_tool_nodes(graph, ToolNode))
    ours = dict(_tool_nodes(graph, ToolsNode))
    found = (*(node.tools_by_name.keys() for node in stock.values()), *(node.names for node in ours.values()))
    return Agent(
        name=name,
        description=spec.description,
        graph=leaving_page_calls(graph),
        drawn=graph,
        client_writable=writable,
        server_tools=frozenset(tool.name for tool in spec.tools).union(*found),
        stock_tool_nodes=frozenset(stock),
        legacy_interrupts=spec.legacy_interrupts,
        recorded_tools=frozenset[str]().union(*(node.names for node in ours.values())),
        repeatable_tools=frozenset[str]().union(*(node.repeatable for node in ours.values())),
    )


def _attribute(path: str, entry: str) -> Any:
    module_name, colon, attribute = path.partition(":")
    if not (colon and module_name and attribute):
        raise AgentNotLoaded(f"{entry}: write it as package.module:attribute.")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise AgentNotLoaded(f"{entry}: there is no module {error.name!r}. Is the package installed, and is the path right?") from error
    except Exception as error:
        raise AgentNotLoaded(f"{entry}: the import of {module_name!r} failed: {explained(error, module_name)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise AgentNotLoaded(f"{entry}: the module {module_name!r} has no attribute {attribute!r}.")
        found = getattr(found, part)
    return found


async def _call(found: Any, deps: AgentDeps, entry: str) -> Any:
    """The attribute itself, or what it returns if it is a factory."""
    if isinstance(found, AgentSpec | StateGraph | Runnable) or not callable(found):
        return found
    ready = _ready(found, deps, entry)
    try:
        made = ready()
        return await made if inspect.isawaitable(made) else made
    except Exception as error:
        module = getattr(found, "__module__", None) or type(found).__module__
        raise AgentNotLoaded(f"{entry}: the factory failed: {explained(error, module)}") from error


def _ready(factory: Callable[..., Any], deps: AgentDeps, entry: str) -> Callable[[], Any]:
    """The factory with `deps` as its one argument, if it takes one."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError as error:
        raise AgentNotLoaded(f"{entry}: this is {factory!r}, not a graph and not a function that returns one.") from error
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = [p for p in named if p.default is p.empty]
    if len(needed) > 1:
        names = ", ".join(p.name for p in needed)
        raise AgentNotLoaded(f"{entry}: the factory needs {names}; it may take one argument, the AgentDeps, or none.")
    place = next(iter(needed or [p for p in named if p.name == "deps"]), None)
    if place is None:
        return factory
    return partial(factory, deps) if place.kind is place.POSITIONAL_ONLY else partial(factory, **{place.name: deps})


def _bound(graph: Any, checkpointer: BaseCheckpointSaver[Any], entry: str) -> Graph:
    if isinstance(graph, StateGraph):
        try:
            return graph.compile(checkpointer=checkpointer)
        except ValueError as error:
            raise AgentNotLoaded(f"{entry}: the graph does not compile: {error}") from error
    if isinstance(graph, CompiledStateGraph):
        return graph.copy(update={"checkpointer": checkpointer})
    raise AgentNotLoaded(
        f"{entry}: this is {type(graph).__name__}, not a graph, a StateGraph, an AgentSpec or a function that returns one."
    )


def _tool_nodes(graph: Graph, kind: type[T]) -> Iterator[tuple[str, T]]:
    """The nodes of that kind with their paths, subgraphs included."""
    inner = graph.get_subgraphs(recurse=True)
    for path, level in (("", graph), *((f"{path}|", level) for path, level in inner if isinstance(level, Pregel))):
        for name, node in level.nodes.items():
            for runnable in (node.bound, *getattr(node.bound, "steps", ())):
                found = runnable if isinstance(runnable, kind) else getattr(runnable, "afunc", None)
                if isinstance(found, kind):
                    yield f"{path}{name}", found
