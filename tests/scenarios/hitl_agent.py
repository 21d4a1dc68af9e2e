"""An agent for servers in another process: it deletes what it is told to, after an approval, and can be made to hang on the way.

Each effect is a line in the file `HITL_FILE`. A service that honours keys writes no second line for the same key. `HITL_FAULT` names
the place where a call hangs for ever, so that the server can be killed there: `approved` (answered, not begun), `begun` (begun, not
done), `done` (done, not recorded). `done:x` applies only to things whose name begins with x. Each call that reaches the place writes a
line to `HITL_FILE`.arrived.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.graph import END, START, StateGraph

from middle_core.agents.approval import Card, needs_approval
from middle_core.agents.dispatch import after_tools, route_tools, tools_node
from middle_core.agents.knowledge_copilot.state import State
from middle_core.node_api.approvals import idempotency_key
from middle_core.node_api.context import run_context
from tests.fakes.models import call

FILE = Path(os.environ.get("HITL_FILE", "/dev/null"))  # noqa: TID251 - how the test tells its server's process
FAULT, _, ONLY = os.environ.get("HITL_FAULT", "").partition(":")  # noqa: TID251 - as above


class Obedient(BaseChatModel):
    """Calls `delete` (or `erase`) for "delete X", and repeats what the tool said."""

    @property
    def _llm_type(self) -> str:
        return "obedient"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise TypeError("this model only streams")

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        last = messages[-1]
        if isinstance(last, HumanMessage) and last.text.split()[0] in {"delete", "erase"}:
            name, *things = last.text.split()
            for index, thing in enumerate(things):
                yield ChatGenerationChunk(message=call(name, {"thing": thing}, call_id=f"{len(messages)}-{thing}", index=index))
        else:
            yield ChatGenerationChunk(message=AIMessageChunk(content=last.text))


def _write(file: Path, line: str) -> None:
    with file.open("a") as opened:
        opened.write(line)


async def _stand_still(place: str, thing: str) -> None:
    if place == FAULT and thing.startswith(ONLY):
        _write(FILE.with_suffix(".arrived"), f"{thing}\n")
        await asyncio.Event().wait()


async def _describe(args: Mapping[str, Any]) -> Card:
    return Card(f"Delete {args['thing']}?", {"Name": args["thing"]})


def tools() -> list[BaseTool]:
    @needs_approval(describe=_describe, idempotent=True)
    @tool
    async def delete(thing: str) -> str:
        """Delete a thing of a service that honours keys."""
        await _stand_still("begun", thing)
        line = f"{thing} {idempotency_key()}\n"
        if not FILE.exists() or line not in FILE.read_text():
            _write(FILE, line)
        await _stand_still("done", thing)
        return f"deleted {thing}"

    @needs_approval(describe=_describe)
    @tool
    async def erase(thing: str) -> str:
        """Delete a thing of a service that knows no keys."""
        await _stand_still("begun", thing)
        _write(FILE, f"{thing}\n")
        await _stand_still("done", thing)
        return f"erased {thing}"

    return [delete, erase]


def build() -> StateGraph[Any, Any, Any, Any]:
    """The graph."""
    model, guarded = Obedient(), tools()
    node = tools_node(guarded)

    async def agent(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def run(state: Any, config: RunnableConfig) -> Any:
        approvals = run_context().approvals
        assert approvals is not None
        asked = await approvals.of_call(state["key"])
        if asked is not None and asked.status == "approved":
            await _stand_still("approved", state["args"]["thing"])
        return await node(state, config)

    graph = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_node("tools", run)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route_tools(guarded), ["tools", END])
    graph.add_conditional_edges("tools", after_tools(guarded), ["agent", END])
    return graph
