"""A graph for the graph page's tests. Its nodes wait at gates that the test opens.

plan -> left, right (in parallel) -> choose -> write, or escalate -> write
"""

from __future__ import annotations

import asyncio
from typing import Any

from copilotkit import CopilotKitState
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from middle_core.node_api.emit import emit_token, new_message_id

NODES = ("plan", "left", "right", "choose", "escalate", "write")
WORDS = [f"{stem}{place} " for place, stem in enumerate(("word", "naïve", "词语", "🌍", "straße", "слово") * 10, 1)]
TEXT = "".join(WORDS).rstrip()
SECRET = "postgres://app:hunter2@db.internal/prod"
BREAK = "break"


class Pipeline:
    """The graph and its gates. A node that is held runs until its gate opens."""

    def __init__(self) -> None:
        self._gates = {name: asyncio.Event() for name in NODES}
        self.let_go()

    def hold(self, *names: str) -> None:
        for name in names:
            self._gates[name].clear()

    def let_go(self, *names: str) -> None:
        """Open the gates of these nodes, or of all."""
        for name in names or NODES:
            self._gates[name].set()

    def graph(self) -> StateGraph[Any, Any, Any, Any]:
        made = StateGraph(CopilotKitState)
        for name in NODES[:-1]:
            made.add_node(name, self._node(name))
        made.add_node("write", self._write)
        made.add_edge(START, "plan")
        made.add_edge("plan", "left")
        made.add_edge("plan", "right")
        made.add_edge("left", "choose")
        made.add_edge("right", "choose")
        made.add_conditional_edges("choose", lambda _: "clear", {"clear": "write", "unclear": "escalate"})
        made.add_edge("escalate", "write")
        made.add_edge("write", END)
        return made

    def _node(self, name: str) -> Any:
        async def node(state: Any) -> dict[str, Any]:
            await self._gates[name].wait()
            if name == "plan" and state["messages"][-1].content == BREAK:
                raise ValueError(f"cannot connect to {SECRET}")
            return {}

        return node

    async def _write(self, state: Any, config: RunnableConfig) -> dict[str, Any]:
        """Half of the words, then the gate, then the rest."""
        message_id = new_message_id()
        for place, word in enumerate(WORDS):
            if place == len(WORDS) // 2:
                await self._gates["write"].wait()
            await emit_token(word if place + 1 < len(WORDS) else word.rstrip(), message_id=message_id, config=config)
        return {"messages": [AIMessage(TEXT, id=message_id)]}
