"""Which nodes of a graph a turn skipped: the routes that it did not take. Pure.

A node is skipped if the turn could have reached it, did not, and cannot any more. A turn that began at the graph's start could
have reached every node. A turn that went on after an answer could have reached only the nodes behind those that it visited. A
paused turn can still reach the nodes behind those that wait, and nodes without an incoming edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

ENDS: Final = frozenset({"__start__", "__end__"})


def skipped(topology: Mapping[str, Any], *, visited: Collection[str], waiting: Iterable[str], fresh: bool) -> list[str]:
    """Ids of the skipped nodes, in the topology's order.

    Args:
        topology: the value of CUSTOM `middle_core.topology`.
        visited: ids of nodes, which are paths joined by ":".
        waiting: ids of the nodes that wait for an answer.
        fresh: whether the turn began at the graph's start.
    """
    ids = [str(one["id"]) for one in topology["nodes"]]
    following: dict[str, set[str]] = {}
    for edge in topology["edges"]:
        following.setdefault(str(edge["source"]), set()).add(str(edge["target"]))
    could = set(ids) if fresh else _behind(visited, following)
    waiting = list(waiting)
    can_still = _behind(waiting, following)
    if waiting:  # any node may jump to a node without an incoming edge (`Command(goto=...)`)
        can_still |= set(ids) - _behind(ENDS, following)
    return [one for one in ids if one.rpartition(":")[2] not in ENDS and one in could and one not in visited and one not in can_still]


def _behind(starts: Iterable[str], following: Mapping[str, Collection[str]]) -> set[str]:
    """The nodes that can be reached from these, and the subgraphs that hold them."""
    todo = list(starts)
    reached: set[str] = set()
    while todo:
        for target in following.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    for one in list(reached):
        parts = one.split(":")
        reached.update(":".join(parts[:depth]) for depth in range(1, len(parts)))
    return reached
