"""LangGraph's `get_stream_writer()`, called at once.

In LangGraph's stream mode "custom" what a node writes travels through a queue of its own and comes behind tokens that the node streams
later. A writer that is handed to the graph in its configuration is called as the node writes, in subgraphs too, where the mode's would
be silent. Uses private names of LangGraph, which a test pins. Knows no event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Private: the keys by which a graph hands its writer to its subgraphs. There is no public way to hand one in from outside.
from langgraph._internal._constants import CONFIG_KEY_RUNTIME, CONFIG_KEY_STREAM
from langgraph.pregel.protocol import StreamProtocol
from langgraph.runtime import Runtime

from middle_core.runs.graph.introspection import Graph


def writing_to(write: Callable[[Any], None], graph: Graph) -> dict[str, Any]:
    """What to put under `configurable` so that `write` gets everything that nodes write. It is called in the node's own thread.

    Example: `graph.astream(given, {"configurable": {"thread_id": thread_id, **writing_to(print, graph)}})`.
    """
    nowhere = StreamProtocol(lambda _chunk: None, set())  # a graph takes the writer only beside a stream that it could feed
    return {CONFIG_KEY_RUNTIME: Runtime(stream_writer=write, store=graph.store), CONFIG_KEY_STREAM: nowhere}
