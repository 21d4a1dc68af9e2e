"""What was shown stays: in subgraphs that ask, in nodes that emit and do not return, through answers, messages, edits and stops.

`play` checks at each turn that the client's screen and the thread, as a reload shows it, are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from copilotkit.langgraph import copilotkit_emit_message, copilotkit_emit_tool_call
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy, interrupt

from middle_core.agui.fold import fold
from middle_core.contract.outcomes import OutcomeCode
from middle_core.events import Custom, Event, RunId, ThreadId, custom
from middle_core.node_api.emit import emit_message, emit_token
from middle_core.runs.graph.asides import Aside, decoded, encoded, merged, of_ended_nodes
from middle_core.runs.graph.cut_calls import Cut
from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules, Resume, Turn
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.play import Played, play, says, underway, user

THREAD = ThreadId("t")
OFFERS = "These are the offers: A, B and C."
RULES = AgentRules(server_tools=frozenset({"look"}))


async def ask(state: Any) -> Any:
    return {"messages": [AIMessage(f"You took {interrupt('Which one?')}.")]}


def returns() -> list[Callable[..., Any]]:
    """A node that returns its words."""

    async def say(state: Any) -> Any:
        return {"messages": [AIMessage(OFFERS)]}

    return [say]


def streams() -> list[Callable[..., Any]]:
    """A node whose model streams the words."""
    model = ScriptedModel(turns=[[OFFERS[:9], OFFERS[9:], finish()]])

    async def say(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return [say]


def thinks() -> list[Callable[..., Any]]:
    """A node whose model thinks before it speaks."""
    thought = AIMessageChunk(content="", additional_kwargs={"reasoning_content": "Let me see."})
    model = ScriptedModel(turns=[[thought, OFFERS, finish()]])

    async def say(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return [say]


def calls_a_tool() -> list[Callable[..., Any]]:
    """A node that calls a tool, one that answers the call, and one that speaks."""
    model = ScriptedModel(turns=[[call("look", {"for": "offers"}), finish("tool_calls")]])

    async def calls(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def looks(state: Any) -> Any:
        return {"messages": [ToolMessage("A, B, C", tool_call_id="call_1")]}

    return [calls, looks, *returns()]


def emits() -> list[Callable[..., Any]]:
    """A node that emits its words and returns nothing."""

    async def say(state: Any) -> Any:
        await emit_message(OFFERS)
        return {}

    return [say]


SAYING = {one.__name__: one for one in (returns, streams, thinks, calls_a_tool)}


def chain(*nodes: Any, state: Any = graphs.ChatState) -> Any:
    """Nodes one after the other, not compiled. The name of each is its place."""
    builder = StateGraph(state)
    for at, node in enumerate(nodes):
        builder.add_node(f"n{at}", node)
        builder.add_edge(START if at == 0 else f"n{at - 1}", f"n{at}")
    return builder


def inside(*nodes: Any) -> Any:
    return chain(chain(*nodes).compile())


def twice_inside(*nodes: Any) -> Any:
    return chain(chain(chain(*nodes).compile()).compile())


def called(*nodes: Any) -> Any:
    """A node that calls the inner graph itself and takes over its last message only."""
    inner = chain(*nodes).compile()

    async def node(state: Any) -> Any:
        return {"messages": [(await inner.ainvoke({"messages": state["messages"]}))["messages"][-1]]}

    return chain(node)


SHAPES = {one.__name__: one for one in (inside, twice_inside, called)}


class Person:
    """Somebody in front of a page, and what a reload of that page shows."""

    def __init__(self, builder: Any) -> None:
        self.agent = GraphSource("agent", graphs.build(builder), RULES)
        self.question = ""

    async def does(self, turn: Turn) -> Played:
        played = await play(self.agent, turn)
        self.question = played.interrupts[0]["id"] if played.interrupts else ""
        return played

    async def answers(self, payload: Any = "B", **more: Any) -> Played:
        return await self.does(Turn(resume=(Resume(self.question, payload),), **more))

    async def stops(self) -> None:
        await self.agent.settle(THREAD, [], Cut(OutcomeCode.STOPPED))

    async def screen(self) -> list[str]:
        """What each message says, after a reload."""
        view = await self.agent.view(THREAD)
        return [str(one.get("content") or one["toolCalls"][0]["function"]["name"]) for one in view.messages]

    async def model_sees(self) -> list[str]:
        snapshot = await self.agent.graph.aget_state({"configurable": {"thread_id": THREAD}})
        assert all(isinstance(one, HumanMessage | AIMessage | ToolMessage) for one in snapshot.values["messages"])
        return [str(one.content or one.tool_calls[0]["name"]) for one in snapshot.values["messages"]]


WORDS = {
    "returns": [OFFERS],
    "streams": [OFFERS],
    "thinks": ["Let me see.", OFFERS],
    "calls_a_tool": ["look", "A, B, C", OFFERS],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("say", SAYING)
async def test_what_a_subgraph_said_stays_while_it_asks_and_after_the_answer(say: str, shape: str) -> None:
    person = Person(SHAPES[shape](*SAYING[say](), ask))
    asked = await person.does(says("go"))
    assert not asked.of("MESSAGES_SNAPSHOT"), "the screen is right as it is"
    assert await person.screen() == ["go", *WORDS[say]]
    told = await person.answers()
    assert list(told.texts().values()) == ["You took B."], "nothing is said twice"
    assert await person.screen() == ["go", *WORDS[say], "You took B."]
    assert len({one["id"] for one in (await person.agent.view(THREAD)).messages}) == len(WORDS[say]) + 2


@pytest.mark.parametrize("end", ["message", "stop", "cancelled", "message and cancelled"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("say", SAYING)
async def test_what_a_subgraph_said_goes_into_the_thread_when_the_question_is_dropped(say: str, shape: str, end: str) -> None:
    first = [True]

    async def ask_once(state: Any) -> Any:
        return {"messages": [AIMessage(f"You took {interrupt('Which one?')}.")]}

    async def once(state: Any) -> str:
        return "deep" if first.pop() else "plain"

    model = ScriptedModel(turns=[["Fine.", finish()]], strict=True)
    builder = StateGraph(graphs.ChatState)
    builder.add_node("deep", SHAPES[shape](*SAYING[say](), ask_once).compile())
    builder.add_node("plain", graphs.calls(model))
    builder.add_conditional_edges(START, once, ["deep", "plain"])
    person = Person(builder)
    await person.does(says("go"))
    first.append(False)
    cancelled = (Resume(person.question, cancelled=True),)
    if end == "stop":
        await person.stops()
        assert await person.screen() == ["go", *WORDS[say]]
        await person.does(says("never mind"))
    elif end == "cancelled":  # this graph takes the cancellation for an answer
        await person.does(Turn(resume=cancelled))
        assert (await person.screen())[: len(WORDS[say]) + 1] == ["go", *WORDS[say]]
        return
    else:
        await person.does(says("never mind", resume=cancelled if end == "message and cancelled" else ()))
    assert await person.screen() == ["go", *WORDS[say], "never mind", "Fine."]
    spoken = [one for one in WORDS[say] if one != "Let me see."]
    assert await person.model_sees() == ["go", *spoken, "never mind", "Fine."]
    assert [str(one.content) for one in model.seen[0] if one.content] == ["go", *[one for one in spoken if one != "look"], "never mind"]


async def test_a_stop_after_the_answer_keeps_what_was_said_before_it() -> None:
    model = ScriptedModel(turns=[["You to", asyncio.Event()]])

    async def answers(state: Any) -> Any:
        interrupt("Which one?")
        return {"messages": [await model.ainvoke("x")]}

    person = Person(inside(*returns(), answers))
    await person.does(says("go"))
    async with underway(person.agent, Turn(resume=(Resume(person.question, "B"),))) as run:
        await run.said("You to")
        await person.agent.settle(THREAD, fold(await run.stop()), Cut(OutcomeCode.STOPPED))
    assert await person.screen() == ["go", OFFERS, "You to"]
    assert await person.model_sees() == ["go", OFFERS, "You to"]


@pytest.mark.parametrize("says_more", [True, False])
async def test_a_stop_keeps_what_the_model_thought(says_more: bool) -> None:
    thoughts = [AIMessageChunk(content="", additional_kwargs={"reasoning_content": one}) for one in ("Let me ", "see.")]
    model = ScriptedModel(turns=[[*thoughts, *(["Well"] if says_more else []), asyncio.Event()], ["Fine.", finish()]], strict=True)
    person = Person(inside(graphs.calls(model)))
    async with underway(person.agent, says("go")) as run:
        await run.said("Well" if says_more else "see.")
        await person.agent.settle(THREAD, fold(await run.stop()), Cut(OutcomeCode.STOPPED))
    shown = ["go", "Let me see.", *(["Well"] if says_more else [])]
    assert await person.screen() == shown
    await person.does(says("and now?"))
    assert await person.screen() == [*shown, "and now?", "Fine."]


async def test_subgraphs_side_by_side_keep_what_both_said() -> None:
    def branch(name: str) -> Any:
        async def say(state: Any) -> Any:
            return {"messages": [AIMessage(f"{name} says")]}

        async def asks(state: Any) -> Any:
            return {"messages": [AIMessage(f"{name} took {interrupt(name)}")]}

        return chain(say, asks).compile()

    builder = StateGraph(graphs.ChatState)
    for name in ("left", "right"):
        builder.add_node(name, branch(name))
        builder.add_edge(START, name)
    person = Person(builder)
    asked = await person.does(says("go"))
    assert sorted(await person.screen()) == ["go", "left says", "right says"]
    for question in asked.interrupts:
        await person.does(Turn(resume=(Resume(question["id"], 1),)))
    assert sorted(await person.screen()) == ["go", "left says", "left took 1", "right says", "right took 1"]


async def test_a_second_question_of_the_subgraph_keeps_all_before_it() -> None:
    person = Person(inside(*returns(), ask, ask))
    await person.does(says("go"))
    await person.answers("A")
    assert await person.screen() == ["go", OFFERS, "You took A."]
    await person.answers("B")
    assert await person.screen() == ["go", OFFERS, "You took A.", "You took B."]
    assert await person.model_sees() == ["go", OFFERS, "You took A.", "You took B."]


async def test_words_with_an_answer_that_leads_to_another_question() -> None:
    person = Person(inside(*returns(), ask, ask))
    await person.does(says("go"))
    played = await person.answers("A", messages=(user("and now?", "h2"),))
    assert played.interrupts, "the graph began anew with the words, and asks"
    assert await person.screen() == ["go", OFFERS, "You took A.", "and now?", OFFERS]
    assert (await person.model_sees())[:3] == ["go", OFFERS, "You took A."]


@pytest.mark.parametrize("how", ["message", "tokens", "copilotkit"])
async def test_what_a_node_emits_and_does_not_return_stays_and_is_not_for_the_model(how: str) -> None:
    turns: list[str] = []

    async def node(state: Any, config: RunnableConfig) -> Any:
        turns.append(how)
        text = f"working on {len(turns)}"
        if how == "message":
            await emit_message(text)
        elif how == "tokens":
            await emit_token("working ", message_id=f"m{len(turns)}")
            await emit_token(f"on {len(turns)}", message_id=f"m{len(turns)}")
        else:
            await copilotkit_emit_message(config, text)
        return {"messages": [AIMessage(f"done {len(turns)}")]}

    person = Person(chain(node))
    played = await person.does(says("one"))
    assert not played.of("MESSAGES_SNAPSHOT")
    await person.does(says("two"))
    assert await person.screen() == ["one", "working on 1", "done 1", "two", "working on 2", "done 2"]
    assert await person.model_sees() == ["one", "done 1", "two", "done 2"]


@pytest.mark.parametrize("place", [0, 1])
async def test_an_edit_drops_what_was_emitted_from_there_on(place: int) -> None:
    async def node(state: Any) -> Any:
        await emit_message(f"about {state['messages'][-1].content}")
        return {}

    person = Person(chain(node))
    await person.does(says("one", "h1"))
    await person.does(says("two", "h2"))
    await person.does(Turn(messages=(user("new", ["h1", "h2"][place]),), restart_at=["h1", "h2"][place]))
    assert await person.screen() == ["one", "about one", "new", "about new"][2 - 2 * place :]


async def test_an_edit_while_it_asks_drops_what_was_said_after_it() -> None:
    person = Person(inside(*returns(), ask))
    await person.does(says("one", "h1"))
    await person.does(Turn(messages=(user("new", "h1"),), restart_at="h1"))
    assert await person.screen() == ["new", OFFERS]
    await person.answers()
    assert await person.screen() == ["new", OFFERS, "You took B."]
    assert await person.model_sees() == ["new", OFFERS, "You took B."]


async def test_words_that_a_node_returns_under_another_id_are_shown_once() -> None:
    async def node(state: Any) -> Any:
        await emit_message("the same")
        return {"messages": [AIMessage("the same")]}

    person = Person(chain(node))
    await person.does(says("go"))
    assert await person.screen() == ["go", "the same"]


@pytest.mark.parametrize("returned", [True, False])
async def test_a_node_that_emits_and_asks_says_it_once(returned: bool) -> None:
    # Once answered, a node runs again from its start.
    async def node(state: Any) -> Any:
        message_id = await emit_message(OFFERS)
        answer = interrupt("Which one?")
        said = [AIMessage(OFFERS, id=message_id)] if returned else []
        return {"messages": [*said, AIMessage(f"You took {answer}.")]}

    person = Person(chain(node))
    await person.does(says("go"))
    assert await person.screen() == ["go", OFFERS]
    told = await person.answers()
    assert list(told.texts().values()) == ["You took B."]
    assert await person.screen() == ["go", OFFERS, "You took B."]
    assert await person.model_sees() == ["go", *([OFFERS] if returned else []), "You took B."]


async def test_what_a_model_said_in_the_node_that_asks_stays() -> None:
    model = ScriptedModel(turns=[["First.", finish()], ["Second.", finish()]])

    async def node(state: Any) -> Any:
        answer = await model.ainvoke("x")
        interrupt("Good?")
        return {"messages": [answer]}

    person = Person(chain(node))
    await person.does(says("go"))
    assert await person.screen() == ["go", "First."]
    await person.answers()
    assert await person.screen() == ["go", "First.", "Second."]
    assert await person.model_sees() == ["go", "Second."]


async def test_a_result_beside_a_tool_that_asks_stays_and_comes_once() -> None:
    @tool
    async def look(q: str) -> str:
        """Look."""
        return f"found {q}"

    @tool
    async def confirm(q: str) -> str:
        """Ask."""
        return str(interrupt("Sure?"))

    both = [call("look", {"q": "A"}, call_id="c1", index=0), call("confirm", {"q": "B"}, call_id="c2", index=1), finish("tool_calls")]
    model = ScriptedModel(turns=[both], strict=True)
    tools = [look, confirm]
    person = Person(inside(graphs.calls(model), ToolNode(tools)))
    asked = await person.does(says("go"))
    assert asked.results() == [("c1", "found A")]
    assert await person.screen() == ["go", "look", "found A"]
    told = await person.answers("yes")
    assert told.results() == [("c2", "yes")]
    assert await person.screen() == ["go", "look", "found A", "yes"]


async def test_a_first_try_that_failed_is_taken_back() -> None:
    tries: list[int] = []

    async def node(state: Any) -> Any:
        tries.append(1)
        await emit_message(f"try {len(tries)}")
        if len(tries) == 1:
            raise ConnectionError
        return {}

    builder = StateGraph(graphs.ChatState)
    builder.add_node("node", node, retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    builder.add_edge(START, "node")
    person = Person(builder)
    await person.does(says("go"))
    assert await person.screen() == ["go", "try 2"]


async def test_an_emitted_call_of_a_tool_that_the_page_runs_is_taken_back() -> None:
    # Left in the thread, the page would run it after the run, and start the agent again with its result, without an end.
    async def node(state: Any, config: RunnableConfig) -> Any:
        await copilotkit_emit_tool_call(config, name="draw", args={"a": 1}, tool_call_id="x")
        await copilotkit_emit_tool_call(config, name="card", args={"a": 1}, tool_call_id="y")
        return {}

    person = Person(chain(node))
    await person.does(says("go", tools=({"name": "draw", "description": "", "parameters": {}},)))
    assert await person.screen() == ["go", "card"]


async def test_a_graph_without_messages_keeps_what_it_emits() -> None:
    async def node(state: Any) -> Any:
        await emit_message("counted")
        return {"number": 1}

    agent = GraphSource("agent", graphs.one_node(node, state=graphs.Numbers), RULES)
    events = [one async for one in GraphRun(agent, says("go", "h1"), thread_id=THREAD, run_id=RunId("r")).events()]
    assert [one["content"] for one in events[-1]["messages"]] == ["counted"]
    assert [one["content"] for one in (await agent.view(THREAD)).messages] == ["counted"]


def test_asides_are_stored_as_they_are() -> None:
    asides = (Aside("a", None, ({"id": "a", "role": "assistant", "content": "\ud800 \x00 é"},), pending=True), Aside("b", "a", ()))
    assert decoded(encoded(asides)) == asides
    assert encoded(asides).isascii()


def test_an_aside_whose_place_is_gone_is_not_shown() -> None:
    said = {"id": "a", "role": "assistant", "content": "aside"}
    assert merged([{"id": "h", "role": "user", "content": "x"}], [Aside("a", "gone", (said,))]) == [
        {"id": "h", "role": "user", "content": "x"}
    ]


def node(kind: str, task: str, *path: str, **more: Any) -> Event:
    return custom(Custom(f"middle_core.node_{kind}"), node=path[-1], path=list(path), taskId=task, startedAt=0, **more)


def text(message_id: str) -> list[Event]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": message_id},
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    ]


def test_of_a_dead_attempt_only_nodes_that_had_ended_have_said_their_words_for_good() -> None:
    events = [
        node("started", "o", "outer"),
        node("started", "a", "outer", "a"),
        *text("said by a"),
        node("completed", "a", "outer", "a", outcome="ok"),
        node("started", "b", "outer", "b"),
        *text("said by b, which still works"),
        node("started", "c", "outer", "c"),
        *text("said by b or c"),
        node("completed", "c", "outer", "c", outcome="ok"),
    ]
    shown, ended = of_ended_nodes(events)
    assert ended == {"said by a"}
    assert [one["id"] for one in shown] == ["said by a", "said by b, which still works", "said by b or c"]
    again = custom(Custom.ATTEMPT, attempt=2, reason="", discardAfterSeq=1)
    assert of_ended_nodes([*events, again]) == ([], set()), "the second attempt took it over"
