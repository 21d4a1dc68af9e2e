"""A pause that was set when a graph was compiled: `compile(interrupt_before=[...])` and `interrupt_after`.

Such a pause asks nothing: the run just ends before a node. Here it becomes a question of its own, whether to go on, so that it is told,
answered and withdrawn like one of the graph's. Knows LangGraph's snapshots, and no run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StateSnapshot

from middle_core.runs.graph.introspection import Graph


def pauses_statically(graph: Graph) -> bool:
    """Whether the graph or one within it was compiled with such pauses."""
    inner = [level for _, level in graph.get_subgraphs(recurse=True) if isinstance(level, Pregel)]
    return any(level.interrupt_before_nodes or level.interrupt_after_nodes for level in (graph, *inner))


def pause(snapshot: StateSnapshot) -> Interrupt | None:
    """The question whether to go on, where a thread stands before a node and nothing else asks.

    A run that died before the same node leaves the same checkpoint. Only the question's row tells them apart: a pause has one.

    Args:
        snapshot: of the thread, read with its subgraphs.
    """
    nodes, place = _stands_at(snapshot)
    if not nodes:
        return None
    names = ", ".join(f"“{name}”" for name in nodes)
    question = {
        "message": f"The agent paused before {names}. Go on?",
        "options": [{"label": "Go on", "value": True}, {"label": "Stop here", "value": False}],
    }
    return Interrupt(question, id=hashlib.sha256(place.encode()).hexdigest()[:32])


def goes_on(payload: Any, *, cancelled: bool) -> bool:
    """Whether an answer means to go on: any but a cancellation, `false`, and `{"approved": false}`."""
    answer = payload.get("approved", True) if isinstance(payload, Mapping) else payload
    return not cancelled and answer is not False


def _stands_at(snapshot: StateSnapshot) -> tuple[tuple[str, ...], str]:
    """The names of the innermost nodes that are next, and the ids of the checkpoints on the way to them."""
    if any(task.interrupts for task in snapshot.tasks):
        return (), ""
    place = str(snapshot.config["configurable"].get("checkpoint_id"))
    inner = [_stands_at(task.state) for task in snapshot.tasks if isinstance(task.state, StateSnapshot)]
    found = [one for one in inner if one[0]]
    if not found:
        return tuple(snapshot.next), place
    return tuple(name for names, _ in found for name in names), "/".join([place, *(deeper for _, deeper in found)])
