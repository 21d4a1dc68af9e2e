"""Small real graphs, one for each shape that teams bring. Each takes its models and tools from the test.

All are compiled with an in-memory checkpointer unless the test hands in another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from copilotkit import CopilotKitState
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt

Graph = CompiledStateGraph[Any, Any, Any, Any]
Saver = BaseCheckpointSaver[Any]


class ChatState(TypedDict):
    """The plain state of a chat: messages only."""

    messages: Annotated[list[AnyMessage], add_messages]


class WorkState(CopilotKitState):
    """A chat with state of its own, as a shared-state page uses it."""

    plan: str
    steps: list[str]


def build(builder: StateGraph[Any, Any, Any, Any], saver: Saver | None = None, **options: Any) -> Graph:
    """Compile with a checkpointer."""
    return builder.compile(checkpointer=saver or InMemorySaver(), **options)


def one_node(
    node: Callable[..., Any], *, state: Any = CopilotKitState, name: str = "node", saver: Saver | None = None, **options: Any
) -> Graph:
    """START -> node -> END."""
    builder = StateGraph(state, **options)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return build(builder, saver)


def chat(model: BaseChatModel, *, state: Any = CopilotKitState, saver: Saver | None = None) -> Graph:
    """One model node, called `model`."""

    async def call_model(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return one_node(call_model, state=state, name="model", saver=saver)


def tools_chat(model: BaseChatModel, tools: Sequence[BaseTool], *, saver: Saver | None = None) -> Graph:
    """A model and LangGraph's own ToolNode in a loop, as teams bring it."""
    bound = model.bind_tools(tools)

    async def call_model(state: Any) -> Any:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    builder = StateGraph(CopilotKitState)
    builder.add_node("model", call_model)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END])
    builder.add_edge("tools", "model")
    return build(builder, saver)


def sent_tools(model: BaseChatModel, tools: Sequence[BaseTool], *, saver: Saver | None = None) -> Graph:
    """As `tools_chat`, but one task for each tool call."""
    bound = model.bind_tools(tools)

    async def call_model(state: Any) -> Any:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    def route(state: Any) -> Any:
        return [Send("tool", [one]) for one in state["messages"][-1].tool_calls] or END

    builder = StateGraph(CopilotKitState)
    builder.add_node("model", call_model)
    builder.add_node("tool", ToolNode(tools))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", route, ["tool", END])
    builder.add_edge("tool", "model")
    return build(builder, saver)


def parallel(models: Mapping[str, BaseChatModel], *, saver: Saver | None = None) -> Graph:
    """One node per model, all started at once."""

    def node(model: BaseChatModel) -> Callable[..., Any]:
        async def call_model(state: Any) -> Any:
            return {"messages": [await model.ainvoke(state["messages"])]}

        return call_model

    builder = StateGraph(CopilotKitState)
    for name, model in models.items():
        builder.add_node(name, node(model))
        builder.add_edge(START, name)
    return build(builder, saver)


def ask(value: Any, *, saver: Saver | None = None, answers: list[Any] | None = None) -> Graph:
    """A node that asks a person and says what it was told. `answers` collects the raw answers."""

    async def question(state: Any) -> Any:
        answer = interrupt(value)
        if answers is not None:
            answers.append(answer)
        return {"messages": [AIMessage(f"told: {answer!r}")]}

    return one_node(question, name="question", saver=saver)


def ask_two(*, saver: Saver | None = None, answers: dict[str, Any] | None = None) -> Graph:
    """Two questions open at the same time, in two tasks."""
    told: dict[str, Any] = answers if answers is not None else {}

    def node(name: str) -> Callable[..., Any]:
        async def question(state: Any) -> Any:
            told[name] = interrupt({"message": f"{name}?"})
            return {"messages": [AIMessage(f"{name}: {told[name]!r}")]}

        return question

    builder = StateGraph(CopilotKitState)
    for name in ("left", "right"):
        builder.add_node(name, node(name))
        builder.add_edge(START, name)
    return build(builder, saver)


def nested(model: BaseChatModel, *, saver: Saver | None = None) -> Graph:
    """A subgraph `inner` -> `speak` inside the node `outer`."""

    async def speak(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    inner = StateGraph(CopilotKitState)
    inner.add_node("speak", speak)
    inner.add_edge(START, "speak")
    builder = StateGraph(CopilotKitState)
    builder.add_node("outer", inner.compile())
    builder.add_edge(START, "outer")
    return build(builder, saver)


def fails(error: Exception, *, beside: asyncio.Event | None = None, saver: Saver | None = None) -> Graph:
    """A node that raises; with `beside`, next to one that waits for that event."""

    async def broken(state: Any) -> Any:
        raise error

    async def waiting(state: Any, config: RunnableConfig) -> Any:
        assert beside is not None
        await beside.wait()
        return {"messages": [AIMessage("never said")]}

    builder = StateGraph(CopilotKitState)
    builder.add_node("broken", broken)
    builder.add_edge(START, "broken")
    if beside is not None:
        builder.add_node("waiting", waiting)
        builder.add_edge(START, "waiting")
    return build(builder, saver)


class Numbers(TypedDict):
    """A state without messages."""

    number: int


def no_messages(*, saver: Saver | None = None) -> Graph:
    """A graph that counts and never speaks."""

    async def count(state: Any) -> Any:
        return {"number": state.get("number", 0) + 1}

    return one_node(count, state=Numbers, name="count", saver=saver)


def says(*messages: AIMessage | ToolMessage, saver: Saver | None = None) -> Graph:
    """A node that returns these messages without any model."""

    async def speak(state: Any) -> Any:
        return {"messages": [one.model_copy(deep=True) for one in messages]}

    return one_node(speak, name="speak", saver=saver)


def calls(model: BaseChatModel) -> Callable[..., Any]:
    """A node that lets the model answer the messages."""

    async def call_model(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return call_model


def sequence(*, state: Any = CopilotKitState, saver: Saver | None = None, **nodes: Callable[..., Any]) -> Graph:
    """Nodes one after the other, by their names."""
    builder = StateGraph(state)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return build(builder, saver)
