"""An agent whose process dies at a chosen moment, once: it writes into files what it did."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph

from middle_core.agents.dispatch import add_tools
from middle_core.agents.frontend import FrontendState
from middle_core.agents.guard import repeatable
from tests.fakes.graphs import Graph, one_node

MOMENTS: Final = {
    "in the first node": ["plan", "plan", "act", "look", "report"],
    "in a tool that acts": ["plan", "act", "look", "report"],
    "in a tool that only reads": ["plan", "act", "look", "look", "report"],
    "in the last node": ["plan", "act", "look", "report", "report"],
}
"""The moments at which the process dies, and what is done in all, the attempt before and the one after it together."""


WORK: Final = Path(os.environ.get("ADOPTED_WORK", "/dev/null"))  # noqa: TID251 - how the test tells its server's process
MOMENT: Final = os.environ.get("ADOPTED_MOMENT", "")  # noqa: TID251 - as above
_DYING: Final = {
    "in the first node": "plan",
    "in a tool that acts": "act",
    "in a tool that only reads": "look",
    "in the last node": "report",
}


def did(what: str) -> None:
    """Write it down; die if it is the moment, the first time."""
    with (WORK / "done").open("a") as file:
        file.write(f"{what}\n")
        file.flush()
        os.fsync(file.fileno())
    if _DYING[MOMENT] == what and not (WORK / "died").exists():
        (WORK / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)


def done(work: Path) -> list[str]:
    """What was done, in order."""
    return (work / "done").read_text().split()


@tool
async def act() -> str:
    """Act."""
    did("act")
    return "acted"


@tool
async def look() -> str:
    """Look."""
    did("look")
    return "looked"


def build() -> Graph:
    """plan -> act -> look -> report."""

    async def plan(state: Any) -> Any:
        results = [one for one in state["messages"] if one.type == "tool"]
        if not results:
            did("plan")
            return {"messages": [_call("act")]}
        if len(results) == 1:
            return {"messages": [_call("look")]}
        did("report")
        return {"messages": [AIMessage("All done.")]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(FrontendState)
    graph.add_node("plan", plan)
    graph.add_edge(START, "plan")
    add_tools(graph, [act, repeatable(look)], agent="plan")
    return graph.compile()


def build_that_kills() -> Graph:
    """A node that ends its process each time."""

    def kills(_state: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    return one_node(kills)


def _call(name: str) -> AIMessage:
    return AIMessage("", id=f"m-{name}", tool_calls=[{"name": name, "args": {}, "id": name}])
