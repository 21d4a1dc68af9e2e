"""A compiled graph as something to write a thread's state with, without running any of the team's code.

`aupdate_state(values, as_node=...)` runs the routing behind that node; `as_node=START` runs the router at the graph's entry. A router
may raise for messages that no user sent, or have effects. The copy made here has one more node, which no edge leads to or away from:
a write in its name runs no node and no router. Uses two private names of LangGraph, which a test pins. Knows no thread.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

# No public way writes a channel without routing: `as_node="__input__"` does not write `messages`, a node's own name routes.
from langgraph.pregel._read import PregelNode
from langgraph.pregel._write import ChannelWrite, ChannelWriteTupleEntry

from middle_core.runs.graph.introspection import Graph

WRITER: Final = "__middle_core__"
"""The node's name, for `as_node`. Checkpoints show it as the source of the write."""


def with_writer(graph: Graph) -> Graph:
    """A copy of the graph with the node `WRITER`, for writing only: run the graph itself.

    Example: `await with_writer(graph).aupdate_state(config, {"messages": [message]}, as_node=WRITER)`.
    """
    writing = copy.copy(graph)
    write = ChannelWrite([ChannelWriteTupleEntry(mapper=_channels)])
    writing.nodes = {**graph.nodes, WRITER: PregelNode(triggers=[], channels=[], writers=[write])}
    return writing


def _channels(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(values.items())
