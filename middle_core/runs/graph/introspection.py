"""What a compiled graph says of itself: its drawing, its context schema, how it joins messages.

Knows LangGraph's compiled graphs, and neither runs nor threads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

Graph = CompiledStateGraph[Any, Any, Any, Any]

OFFERED = frozenset({"thread_id", "copilotkit"})
"""What a graph's context may take: the thread's id, and CopilotKit's {actions, context}."""


def context_for(schema: Any, offered: Mapping[str, Any]) -> Any:
    """What of `offered` a graph's context_schema takes: the fields of a dataclass or pydantic model, else all of it.

    Raises ValueError where it needs what nobody gives.
    """
    if schema is None:
        return dict(offered)
    needed: set[str] = set()
    if dataclasses.is_dataclass(schema):
        names = {one.name for one in dataclasses.fields(schema) if one.init}
        needed = {one.name for one in dataclasses.fields(schema) if one.init and _no_default(one)}
    elif isinstance(schema, type) and issubclass(schema, BaseModel):
        names = set(schema.model_fields)
        needed = {name for name, one in schema.model_fields.items() if one.is_required()}
    else:
        return dict(offered)  # a TypedDict takes anything; an empty one would reach the nodes as None
    if missing := needed - OFFERED:
        raise ValueError(f"{getattr(schema, '__name__', schema)} needs {', '.join(sorted(missing))}, which nobody gives: add a default.")
    return {key: value for key, value in offered.items() if key in names}


def _no_default(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def input_keys(graph: Graph) -> frozenset[str]:
    """The state keys that an input may bring. Read from the graph itself: a JSON schema cannot be had of every state."""
    schemas = graph.builder.schemas
    return frozenset(schemas.get(graph.builder.input_schema, {})) & frozenset(graph.channels)


def output_keys(graph: Graph) -> frozenset[str]:
    """The state keys that the graph gives out."""
    found = graph.output_channels
    return frozenset([found] if isinstance(found, str) else found)


def joins_messages(graph: Graph) -> bool:
    """Whether the messages channel joins updates (`add_messages`, `operator.add`) instead of being replaced by them.

    Only such a channel understands `Overwrite`; another one would store the wrapper.
    """
    channel = graph.channels.get("messages")
    return hasattr(channel, "operator") or hasattr(channel, "reducer")


def topology(graph: Graph) -> dict[str, Any]:
    """{"nodes": [{id, name, parent?}], "edges": [{source, target, conditional, label?}]}. Ids are paths joined by ":"."""
    drawn = graph.get_graph(xray=True)
    nodes: dict[str, dict[str, Any]] = {}
    for node_id in drawn.nodes:
        parts = str(node_id).split(":")
        for depth in range(1, len(parts) + 1):
            one = {"id": ":".join(parts[:depth]), "name": parts[depth - 1]}
            if depth > 1:
                one["parent"] = ":".join(parts[: depth - 1])
            nodes.setdefault(one["id"], one)
    edges = []
    for drawn_edge in drawn.edges:
        edge: dict[str, Any] = {
            "source": str(drawn_edge.source),
            "target": str(drawn_edge.target),
            "conditional": bool(drawn_edge.conditional),
        }
        if drawn_edge.data is not None:
            edge["label"] = str(drawn_edge.data)
        edges.append(edge)
    return {"nodes": list(nodes.values()), "edges": edges}
