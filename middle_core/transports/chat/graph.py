"""Which nodes of a graph a turn left out: the routes not taken. Pure.

A node is skipped when the turn could have come to it, did not, and cannot any more. A turn that began at the graph's start
could have come to every node; one that went on after an answer only to what lies behind the nodes that it visited. A turn that
is paused can still come to what lies behind the nodes that wait, and to what no edge leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

ENDS: Final = frozenset({"__start__", "__end__"})


def skipped(topology: Mapping[str, Any], *, visited: Collection[str], waiting: Iterable[str], fresh: bool) -> list[str]:
    """Ids of the skipped nodes, in the topology's order.

    topology: the value of CUSTOM `middle_core.topology`. visited, waiting: ids, which are paths joined by ":". fresh: whether
    the turn began at the start.
    """
    ids = [str(one["id"]) for one in topology["nodes"]]
    following: dict[str, set[str]] = {}
    for edge in topology["edges"]:
        following.setdefault(str(edge["source"]), set()).add(str(edge["target"]))
    could = set(ids) if fresh else _behind(visited, following)
    waiting = list(waiting)
    can_still = _behind(waiting, following)
    if waiting:  # a node that no edge leads to is jumped to (`Command(goto=...)`), and nobody knows from where
        can_still |= set(ids) - _behind(ENDS, following)
    return [one for one in ids if one.rpartition(":")[2] not in ENDS and one in could and one not in visited and one not in can_still]


def _behind(starts: Iterable[str], following: Mapping[str, Collection[str]]) -> set[str]:
    """What can be reached from these nodes, and the subgraphs that this lies in."""
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
