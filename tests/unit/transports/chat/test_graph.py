"""Which nodes a turn reports as skipped."""

from __future__ import annotations

from typing import Any

import pytest

from middle_core.transports.chat.graph import skipped
from tests.fakes.chat_records import drawing

LOOP = drawing("^>agent", "agent?tools", "agent?$", "tools>agent")
FORK = drawing("^>router", "router?left", "router?right", "left>join", "right>join", "join>$")
NESTED = drawing("^>outer:one", "outer:one?outer:two", "outer:one?last", "outer:two>last", "last>$")
LOOSE = drawing("^>start", "start>$", "island>$")


@pytest.mark.parametrize(
    ("graph", "visited", "waiting", "fresh", "expected"),
    [
        (LOOP, ["agent"], [], True, ["tools"]),
        (LOOP, ["agent", "tools"], [], True, []),
        (FORK, ["router", "left", "join"], [], True, ["right"]),
        (FORK, ["router", "left"], ["left"], True, ["right"]),
        (FORK, ["router"], ["router"], True, []),
        (FORK, ["left", "join"], [], False, []),
        (FORK, [], [], True, ["router", "left", "right", "join"]),
        (FORK, [], [], False, []),
        (NESTED, ["outer", "outer:one", "last"], [], True, ["outer:two"]),
        (NESTED, ["last"], [], False, []),
        (NESTED, ["outer", "outer:one", "last"], [], False, ["outer:two"]),
        (LOOSE, ["start"], [], True, ["island"]),
        (LOOSE, ["start"], [], False, []),
        (LOOSE, ["start"], ["start"], True, []),  # the answer may jump there
    ],
)
def test_a_node_is_skipped_if_it_could_have_been_come_to_and_cannot_any_more(
    graph: dict[str, Any], visited: list[str], waiting: list[str], fresh: bool, expected: list[str]
) -> None:
    assert skipped(graph["value"], visited=visited, waiting=waiting, fresh=fresh) == expected


def test_the_subgraph_of_a_node_that_can_be_reached_can_be_reached() -> None:
    graph = drawing("^>router", "router?ask", "router?sub:a", "ask>sub:a", "sub:a>$")
    assert skipped(graph["value"], visited=["router", "ask"], waiting=["ask"], fresh=True) == []
    assert skipped(graph["value"], visited=["router", "ask"], waiting=[], fresh=True) == ["sub", "sub:a"]
