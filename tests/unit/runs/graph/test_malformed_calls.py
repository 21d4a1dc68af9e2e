"""A tool call whose arguments are no JSON object is refused under its own id, however the model cuts it and however the node joins it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from middle_core.agents.answer import answer
from middle_core.agents.dispatch import add_tools
from middle_core.agents.frontend import FrontendState
from middle_core.runs.graph.source import GraphSource
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish
from tests.fakes.play import Played, play, says
from tests.unit.runs.graph.test_source import source

CUT = '{"q": "X12'


@tool
async def look_up(q: str) -> str:
    """Look it up."""
    return f"ran with {q}"


def last(arguments: str, **fields: Any) -> AIMessageChunk:
    """The whole call in the chunk that also ends the stream."""
    chunk = call("look_up", arguments, **fields)
    return AIMessageChunk(content="", tool_call_chunks=chunk.tool_call_chunks, chunk_position="last")


async def joined(model: Any, messages: Any, how: str) -> AIMessage:
    if how == "answer":
        return await answer(model, messages)
    if how in ("ainvoke", "invoke"):
        found: AIMessage = await model.ainvoke(messages) if how == "ainvoke" else model.invoke(messages)
        return found
    first, *rest = [chunk async for chunk in model.astream(messages)]
    assert isinstance(first, AIMessageChunk)
    return add_ai_message_chunks(first, *rest)


def agent_that(how: str, chunks: list[Any]) -> GraphSource:
    model = ScriptedModel(turns=[chunks, ["Done."]]).bind_tools([look_up])

    async def agent(state: FrontendState) -> dict[str, Any]:
        return {"messages": [await joined(model, state["messages"], how)]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(FrontendState)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    add_tools(graph, [look_up])
    return source(graphs.build(graph))


SHAPES = {
    "one chunk": [call("look_up", CUT)],
    "one chunk that is the last": [last(CUT)],
    "one chunk without an id": [call("look_up", CUT, call_id=None)],
    "the last chunk without an id": [last(CUT, call_id=None)],
    "one chunk without an index": [call("look_up", CUT, index=None)],
    "the last chunk without an index": [last(CUT, index=None)],
    "a list": [last("[1]")],
    "a text within a text": [last('{"q": "a \\"b')],
    "one chunk and an end": [call("look_up", CUT), finish("tool_calls")],
    "many chunks": [call("look_up", '{"q"'), args(': "X12'), finish("tool_calls")],
}


@pytest.mark.parametrize("how", ["answer", "ainvoke", "invoke", "astream"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_it_is_refused_and_nothing_else_is_called(shape: str, how: str) -> None:
    played = await play(agent_that(how, SHAPES[shape]), says("hi"))
    [(call_id, (name, _))] = played.calls().items()
    [(answered, words)] = played.results()
    assert (name, answered) == ("look_up", call_id)
    assert "look_up are not valid" in words


@pytest.mark.parametrize("how", ["answer", "ainvoke", "invoke", "astream"])
async def test_a_good_call_beside_it_runs(how: str) -> None:
    both = AIMessageChunk(
        content="",
        tool_call_chunks=[*call("look_up", CUT).tool_call_chunks, *call("look_up", {"q": "a"}, call_id="call_2", index=1).tool_call_chunks],
        chunk_position="last",
    )
    played = await play(agent_that(how, [both]), says("hi"))
    assert list(played.calls()) == ["call_1", "call_2"]
    results = dict(played.results())
    assert results["call_2"] == "ran with a"
    assert "look_up are not valid" in results["call_1"]


class SameAnswer(BaseChatModel):
    """A model without streaming that gives the same object at each call."""

    message: AIMessage

    @property
    def _llm_type(self) -> str:
        return "same"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.message)])


async def test_a_models_own_message_is_left_as_it_is() -> None:
    message = AIMessage("Hello.", tool_calls=[{"name": "look_up", "args": {}, "id": ""}])
    model = SameAnswer(message=message)

    async def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    graph.add_node("say", say)
    graph.add_node("say_again", say)
    graph.add_edge(START, "say")
    graph.add_edge("say", "say_again")
    played: Played = await play(source(graphs.build(graph)), says("hi"))
    assert list(played.texts().values()) == ["Hello.", "Hello."]
    assert len(played.calls()) == 2
    assert message.tool_calls[0]["id"] == ""
