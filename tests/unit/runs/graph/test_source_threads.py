"""The source and its threads: stops, failures, questions, edits, and what is in the checkpoint afterwards."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError, NodeCancelledError
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from middle_core.agui.fold import fold
from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import ErrorCode, InterruptUnknown, InvalidRequest
from middle_core.events import Custom, RunId, ThreadId, custom
from middle_core.runs.graph.cut_calls import Cut
from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules, Resume, Turn
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, complaints, finish
from tests.fakes.play import play, says, underway, user

THREAD = ThreadId("t")
STOPPED = Cut(OutcomeCode.STOPPED)
LOST = Cut(ErrorCode.RUN_LOST)
RULES = AgentRules(server_tools=frozenset({"slow", "fast", "delete", "search"}))


def source(graph: graphs.Graph) -> GraphSource:
    return GraphSource("agent", graph, RULES)


async def stored(agent: GraphSource) -> list[Any]:
    snapshot = await agent.graph.aget_state({"configurable": {"thread_id": THREAD}})
    assert snapshot.tasks == ()
    return list(snapshot.values.get("messages", []))


async def contents(agent: GraphSource) -> list[tuple[str, Any]]:
    return [(one["role"], one.get("content", "")) for one in (await agent.view(THREAD)).messages]


# Stopping ----------------------------------------------------------------------------------------------


async def test_one_cancel_reaches_the_model_and_leaves_no_task() -> None:
    # langchain-ai/langgraph#5682: a node that is cancelled through an AnyIO scope runs on to its end.
    model = ScriptedModel(turns=[["par", "tial", asyncio.Event(), "never"]])
    agent = source(graphs.chat(model))
    async with underway(agent, says("hi")) as run:
        await run.said("tial")
        events = await run.stop()
        assert model.ended == ["cancelled"]
        assert len(asyncio.all_tasks()) == 1
    assert [one["value"]["outcome"] for one in events if one.get("name") == Custom.NODE_COMPLETED] == ["cancelled"]


async def test_partial_text_is_kept_and_marked_and_the_next_turn_works() -> None:
    # langchain-ai/langgraph#5672: the partial answer disappears after stop and refresh.
    # CopilotKit/CopilotKit#2972: the next run fails, because the client replays the partial message's id.
    model = ScriptedModel(turns=[["par", "tial", asyncio.Event()], ["fresh"]], strict=True)
    agent = source(graphs.chat(model))
    async with underway(agent, says("hi")) as run:
        await run.said("tial")
        await agent.settle(THREAD, fold(await run.stop()), STOPPED)
    shown = (await agent.view(THREAD)).messages
    assert [(one["content"], one.get("metadata")) for one in shown] == [("hi", None), ("partial", {"stopped": True})]
    assert shown[1]["id"] == next(one["messageId"] for one in run.events if one["type"] == "TEXT_MESSAGE_START")
    await play(agent, says("again"))
    assert [one.content for one in model.seen[1]] == ["hi", "partial", "again"]


async def test_settling_twice_changes_nothing() -> None:
    model = ScriptedModel(turns=[["x", call("slow", '{"q":')], ["y"]])
    agent = source(graphs.chat(model))
    async with underway(agent, says("hi")) as run:
        await run.until(lambda events: any(one["type"] == "TOOL_CALL_ARGS" for one in events))
        events = await run.stop()
    await agent.settle(THREAD, fold(events), STOPPED)
    before = (await agent.graph.aget_state({"configurable": {"thread_id": THREAD}})).config
    await agent.settle(THREAD, fold(events), STOPPED)
    assert (await agent.graph.aget_state({"configurable": {"thread_id": THREAD}})).config == before


async def test_a_stop_during_a_tool_leaves_a_thread_that_a_strict_model_takes() -> None:
    # langchain-ai/open-swe#1604: each later message is a provider 400.
    started = asyncio.Event()
    ended: list[str] = []

    @tool
    async def slow(q: str) -> str:
        """Slow."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "never"

    model = ScriptedModel(turns=[[call("slow", {"q": "x"}), finish("tool_calls")], ["hello"], ["hello again"]], strict=True)
    agent = source(graphs.tools_chat(model, [slow]))
    async with underway(agent, says("hi")) as run:
        async with asyncio.timeout(5):
            await started.wait()
        told = await agent.settle(THREAD, fold(await run.stop()), STOPPED)
    assert ended == ["cancelled"]
    assert [(one["type"], one["toolCallId"]) for one in told] == [("TOOL_CALL_RESULT", "call_1")]
    assert told[0]["messageId"] == (await agent.view(THREAD)).messages[-1]["id"]
    assert complaints(await stored(agent)) == []
    await play(agent, says("hello"))
    await play(agent, says("hello"))
    assert str(model.seen[1][2].content).startswith("This call was stopped while it ran: it may have completed.")


@pytest.mark.parametrize("shape", [graphs.tools_chat, graphs.sent_tools])
async def test_a_finished_result_is_kept_when_its_sibling_is_stopped(shape: Any) -> None:
    # EvoScientist/EvoScientist#489: a tool that finished is reported as not done.
    @tool
    async def fast(q: str) -> str:
        """Fast."""
        return "fast is done"

    @tool
    async def slow(q: str) -> str:
        """Slow."""
        await asyncio.Event().wait()
        return "never"

    first = [call("fast", {"q": "x"}, call_id="f", index=0), call("slow", {"q": "x"}, call_id="s", index=1), finish("tool_calls")]
    model = ScriptedModel(turns=[first, ["hello"]], strict=True)
    agent = source(shape(model, [fast, slow]))
    async with underway(agent, says("hi")) as run:
        await run.until(lambda events: any(one["type"] == "TOOL_CALL_RESULT" for one in events))
        told = await agent.settle(THREAD, fold(await run.stop()), STOPPED)
    assert [one["toolCallId"] for one in told] == ["s"], "the other one was told before"
    results = {one.tool_call_id: one.content for one in await stored(agent) if isinstance(one, ToolMessage)}
    assert results["f"] == "fast is done"
    assert "stopped" in results["s"]
    await play(agent, says("hello"))


async def test_a_call_that_was_cut_off_is_not_run_and_its_arguments_are_refused() -> None:
    ran: list[str] = []

    @tool
    async def search(q: str) -> str:
        """Search."""
        ran.append(q)
        return q

    model = ScriptedModel(turns=[[call("search", '{"q": "al'), asyncio.Event()], ["ok"]], strict=True)
    agent = source(graphs.tools_chat(model, [search]))
    async with underway(agent, says("hi")) as run:
        await run.until(lambda events: any(one["type"] == "TOOL_CALL_ARGS" for one in events))
        await agent.settle(THREAD, fold(await run.stop()), STOPPED)
    await play(agent, says("go on"))
    assert ran == []
    assert complaints(await stored(agent)) == []


async def test_what_a_person_said_is_kept_even_if_no_checkpoint_was_written() -> None:
    agent = source(graphs.chat(ScriptedModel(turns=[["hello"]])))
    await agent.settle(THREAD, fold([custom(Custom.TURN, messages=[user("lost?", "h1")])]), LOST)
    assert await contents(agent) == [("user", "lost?")]
    await play(agent, says("still there?"))


async def test_settling_a_graph_without_messages_or_with_others() -> None:
    agent = source(graphs.no_messages())
    await play(agent, Turn(state={"number": 1}))
    await agent.settle(THREAD, fold([{"type": "TEXT_MESSAGE_START", "messageId": "x"}]), STOPPED)
    assert await agent.state(THREAD) == {"number": 2}

    async def node(state: Any) -> Any:
        return {"messages": [{"mine": 1}]}

    class Own(graphs.Numbers):
        messages: list[Any]

    other = source(graphs.one_node(node, state=Own))
    await play(other, Turn(state={"number": 1}))
    await other.settle(THREAD, fold([{"type": "TEXT_MESSAGE_START", "messageId": "x"}]), STOPPED)
    assert (await other.graph.aget_state({"configurable": {"thread_id": THREAD}})).values["messages"] == [{"mine": 1}]


async def test_a_failed_node_keeps_what_was_said_before_it() -> None:
    model = ScriptedModel(turns=[["half ", RuntimeError("cut")], ["whole"]])
    agent = source(graphs.chat(model))
    seen: list[Any] = []

    async def watch() -> None:
        async for event in GraphRun(agent, says("hi"), thread_id=THREAD, run_id="r").events():  # type: ignore[arg-type]
            seen.append(event)  # noqa: PERF401 - the events before the failure are wanted

    with pytest.raises(RuntimeError, match="cut"):
        await watch()
    await agent.settle(THREAD, fold(seen), LOST)
    shown = (await agent.view(THREAD)).messages
    assert [(one["content"], one.get("metadata")) for one in shown] == [("hi", None), ("half ", {"stopped": True, "interrupted": True})]
    await play(agent, says("again"))


async def test_writes_that_do_not_go_together_fail_the_run_and_not_the_thread() -> None:
    # LangGraph keeps these writes with the checkpoint and fails whenever it reads them again: the thread would be lost for ever.
    model = ScriptedModel(turns=[["well"]], strict=True)
    clash = [True]

    def writes(value: str) -> Any:
        async def node(state: Any) -> Any:
            return {"plan": value} if clash[0] else {}

        return node

    builder = StateGraph(graphs.WorkState)
    for name in ("left", "right"):
        builder.add_node(name, writes(name))
        builder.add_edge(START, name)
        builder.add_edge(name, "after")
    builder.add_node("after", graphs.calls(model))
    agent = source(graphs.build(builder))
    with pytest.raises(InvalidUpdateError):
        await play(agent, says("hi"))
    assert await contents(agent) == [("user", "hi")]
    await agent.settle(THREAD, [], LOST)
    clash[0] = False
    await play(agent, says("again"))
    assert await contents(agent) == [("user", "hi"), ("user", "again"), ("assistant", "well")]


async def test_a_node_that_goes_on_after_its_model_broke_ends_the_message_itself() -> None:
    broken, backup = ScriptedModel(turns=[["half", RuntimeError("cut")]]), ScriptedModel(turns=[["whole"]])
    played = await play(source(graphs.one_node(_falls_back(broken, backup))), says("hi"))
    assert list(played.texts().values()) == ["half", "whole"]
    assert len(played.of("MESSAGES_SNAPSHOT")) == 1, "the half is no part of the thread"


def _falls_back(model: ScriptedModel, backup: ScriptedModel) -> Any:
    async def node(state: Any) -> Any:
        return {"messages": [await model.with_fallbacks([backup]).ainvoke(state["messages"])]}

    return node


async def test_a_node_that_cancels_itself_is_no_stop() -> None:
    async def node(state: Any) -> Any:
        raise asyncio.CancelledError

    run = GraphRun(source(graphs.one_node(node)), says("hi"), thread_id=THREAD, run_id="r")  # type: ignore[arg-type]
    with pytest.raises(NodeCancelledError):
        _ = [event async for event in run.events()]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_reader_that_leaves_stops_the_graph() -> None:
    said = asyncio.Event()
    model = ScriptedModel(turns=[["x", said, "y", asyncio.Event()]])
    events = GraphRun(source(graphs.chat(model)), says("hi"), thread_id=THREAD, run_id="r").events()  # type: ignore[arg-type]
    async for event in events:
        said.set()
        if event.get("delta") == "y":
            break
    await events.aclose()
    assert model.ended in (["cancelled"], ["closed"]), "in its own wait, or in its reader's behind the last token"
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Questions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["", None, False, 0, {}, [], {"ok": True}, "yes"], ids=repr)
async def test_each_answer_is_delivered_exactly(answer: Any) -> None:
    # CopilotKit/CopilotKit#1590: null or empty answers were dropped; the SDK crashes for None.
    answers: list[Any] = []
    agent = source(graphs.ask({"message": "ok?"}, answers=answers))
    asked = await play(agent, says("hi"))
    assert asked.nodes() == [("question", "interrupted")]
    assert [one["message"] for one in asked.interrupts] == ["ok?"]
    told = await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], answer),)))
    assert answers == [answer]
    assert told.interrupts == []
    assert list(told.texts().values()) == [f"told: {answer!r}"]


async def test_a_cancelled_answer_is_told_with_the_known_sentinel() -> None:
    answers: list[Any] = []
    agent = source(graphs.ask("sure?", answers=answers))
    asked = await play(agent, says("hi"))
    await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], cancelled=True),)))
    assert answers == [{"__agui_cancelled__": True, "interrupt_id": asked.interrupts[0]["id"]}]


async def test_an_id_that_was_never_asked_is_refused() -> None:
    # With one question open, the SDK gives it whatever answer comes.
    answers: list[Any] = []
    agent = source(graphs.ask("sure?", answers=answers))
    asked = await play(agent, says("hi"))
    with pytest.raises(InterruptUnknown):
        await play(agent, Turn(resume=(Resume("0" * 32, "yes"),)))
    assert answers == []
    await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    with pytest.raises(InterruptUnknown):
        await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    assert answers == ["yes"]


async def test_two_questions_are_answered_together_or_one_by_one() -> None:
    # With two open questions the SDK ends every resume in RUN_ERROR.
    for one_by_one in (False, True):
        answers: dict[str, Any] = {}
        agent = source(graphs.ask_two(answers=answers))
        asked = await play(agent, says("hi"))
        by_name = {one["message"]: one["id"] for one in asked.interrupts}
        assert set(by_name) == {"left?", "right?"}
        if one_by_one:
            rest = await play(agent, Turn(resume=(Resume(by_name["right?"], 2),)))
            assert [one["id"] for one in rest.interrupts] == [by_name["left?"]]
            assert list(rest.texts().values()) == ["right: 2"]
            await play(agent, Turn(resume=(Resume(by_name["left?"], 1),)))
        else:
            await play(agent, Turn(resume=(Resume(by_name["right?"], 2), Resume(by_name["left?"], 1))))
        assert answers == {"left": 1, "right": 2}
        assert len(await stored(agent)) == 3


async def test_a_question_inside_a_subgraph_is_answered_by_its_id() -> None:
    async def ask(state: Any) -> Any:
        return {"messages": [AIMessage(f"told {interrupt({'message': 'deep?'})}")]}

    inner = StateGraph(graphs.ChatState)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    builder = StateGraph(graphs.ChatState)
    builder.add_node("outer", inner.compile())
    builder.add_edge(START, "outer")
    agent = source(graphs.build(builder))
    asked = await play(agent, says("hi"))
    assert sorted(asked.nodes()) == [("outer", "interrupted"), ("outer:ask", "interrupted")]
    told = await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    assert list(told.texts().values()) == ["told yes"]


@pytest.mark.parametrize(
    "value", [{"message": {"no": "text"}}, {"reason": 7}, None, 3, ["a"], {"expiresAt": "2020-01-01T00:00:00Z"}], ids=repr
)
async def test_whatever_a_graph_asks_with_is_a_legal_interrupt(value: Any) -> None:
    # The SDK's conversion fails the run for a message that is no text; a past expiresAt bricks the thread in the browser.
    asked = (await play(source(graphs.ask(value)), says("hi"))).interrupts[0]
    assert isinstance(asked["reason"], str)
    assert isinstance(asked.get("message", ""), str)
    assert "expiresAt" not in asked
    assert asked["metadata"]["langgraph"]["raw"] == value


async def test_a_question_names_its_tool_call_and_the_view_shows_it_again() -> None:
    # CopilotKit/CopilotKit#2418: after a reload the card is gone and the thread is stuck.
    agent = source(graphs.ask({"message": "delete?", "tool_call_id": "c9", "response_schema": {"type": "boolean"}}))
    asked = await play(agent, says("hi"))
    assert (asked.interrupts[0]["toolCallId"], asked.interrupts[0]["responseSchema"]) == ("c9", {"type": "boolean"})
    assert (await agent.view(THREAD)).interrupts == asked.interrupts


def approving(model: ScriptedModel, ran: list[str]) -> graphs.Graph:
    @tool
    async def delete(id: str) -> str:  # noqa: A002 - a tool's argument
        """Delete."""
        if interrupt({"message": f"delete {id}?"}) != "yes":
            return "refused"
        ran.append(id)
        return f"deleted {id}"

    return graphs.sent_tools(model, [delete])


async def test_a_plain_message_withdraws_the_question_and_is_answered() -> None:
    # CopilotKit/CopilotKit#1991: the message is dropped silently, and the question asked again.
    ran: list[str] = []
    model = ScriptedModel(turns=[[call("delete", {"id": "X"}), finish("tool_calls")], ["it is sunny"]], strict=True)
    agent = source(approving(model, ran))
    asked = await play(agent, says("delete X"))
    played = await play(agent, says("what is the weather?"))
    assert [call_id for call_id, _ in played.results()] == ["call_1"], "the card is told at once"
    assert played.interrupts == []
    assert ran == []
    assert "it is sunny" in played.texts().values()
    assert [type(one).__name__ for one in await stored(agent)] == ["HumanMessage", "AIMessage", "ToolMessage", "HumanMessage", "AIMessage"]
    with pytest.raises(InterruptUnknown):
        await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    assert ran == []


async def test_a_question_inside_a_subgraph_is_withdrawn_as_well() -> None:
    asked_again: list[str] = []

    async def ask(state: Any) -> Any:
        words = [str(one.content) for one in state["messages"] if isinstance(one, HumanMessage)]
        asked_again.append(words[-1])
        return {"messages": [AIMessage(f"told {interrupt('deep?')}" if len(words) == 1 else f"heard {words[-1]}")]}

    inner = StateGraph(graphs.ChatState)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    builder = StateGraph(graphs.ChatState)
    builder.add_node("outer", inner.compile())
    builder.add_edge(START, "outer")
    agent = source(graphs.build(builder))
    await play(agent, says("first"))
    played = await play(agent, says("second"))
    assert list(played.texts().values()) == ["heard second"]
    assert asked_again == ["first", "second"]
    assert (await agent.view(THREAD)).interrupts == []


async def test_a_message_together_with_cancelled_questions() -> None:
    # A composer sends a message while a card is open: with resume `cancelled` for every open id.
    ran: list[str] = []
    model = ScriptedModel(turns=[[call("delete", {"id": "X"}), finish("tool_calls")], ["fine"]], strict=True)
    agent = source(approving(model, ran))
    asked = await play(agent, says("delete X"))
    played = await play(agent, says("never mind", resume=(Resume(asked.interrupts[0]["id"], cancelled=True),)))
    assert "fine" in played.texts().values()
    assert ran == []


async def test_a_message_together_with_an_answer_is_said_after_it() -> None:
    ran: list[str] = []
    model = ScriptedModel(turns=[[call("delete", {"id": "X"}), finish("tool_calls")], ["deleted"], ["you are welcome"]], strict=True)
    agent = source(approving(model, ran))
    asked = await play(agent, says("delete X"))
    await play(agent, says("thanks", resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    assert ran == ["X"]
    assert [text for role, text in await contents(agent) if role != "tool"] == ["delete X", "", "deleted", "thanks", "you are welcome"]


async def test_a_stop_while_a_question_is_open_withdraws_it() -> None:
    # wso2/product-integrator#2050: no way to stop during an open approval.
    ran: list[str] = []
    model = ScriptedModel(turns=[[call("delete", {"id": "X"}), finish("tool_calls")], ["ok"]], strict=True)
    agent = source(approving(model, ran))
    asked = await play(agent, says("delete X"))
    await agent.settle(THREAD, [], STOPPED)
    assert (await agent.view(THREAD)).interrupts == []
    with pytest.raises(InterruptUnknown):
        await play(agent, Turn(resume=(Resume(asked.interrupts[0]["id"], "yes"),)))
    await play(agent, says("hello"))


async def test_state_that_comes_with_an_answer_cannot_close_the_thread() -> None:
    # LangGraph accepts one update in the step that a question stopped. After a second update every answer would fail.
    answers: dict[str, Any] = {}
    agent = source(graphs.ask_two(answers=answers))
    asked = await play(agent, says("hi"))
    for at, one in enumerate(asked.interrupts):
        tools = ({"name": f"t{at}", "description": "d", "parameters": {}},)
        await play(agent, Turn(resume=(Resume(one["id"], at),), tools=tools))
    assert sorted(answers.values()) == [0, 1]


# Client tools ------------------------------------------------------------------------------------------


async def test_a_client_tools_result_goes_on_where_its_call_stands() -> None:
    model = ScriptedModel(turns=[[call("pick_colour", {"of": "car"}), finish("tool_calls")], ["red it is"]], strict=True)
    agent = source(graphs.chat(model))
    await play(agent, says("paint it"))
    assert (await agent.view(THREAD)).pending_client_calls == {"call_1"}
    result = {"id": "r1", "role": "tool", "toolCallId": "call_1", "content": "red"}
    played = await play(agent, Turn(results=(result,)))
    assert list(played.texts().values()) == ["red it is"]
    assert not played.of("MESSAGES_SNAPSHOT")
    assert (await agent.view(THREAD)).pending_client_calls == frozenset()


async def test_words_instead_of_a_client_tools_result() -> None:
    model = ScriptedModel(turns=[[call("pick_colour", {"of": "car"}), finish("tool_calls")], ["ok"]], strict=True)
    agent = source(graphs.chat(model))
    await play(agent, says("paint it"))
    await play(agent, says("forget it"))
    assert complaints(await stored(agent)) == []


async def test_calls_of_server_tools_are_not_pending_for_the_client() -> None:
    agent = source(approving(ScriptedModel(turns=[[call("delete", {"id": "X"}), finish("tool_calls")]]), []))
    await play(agent, says("delete X"))
    assert (await agent.view(THREAD)).pending_client_calls == frozenset()


# Edits and regenerates ---------------------------------------------------------------------------------


async def test_an_edit_replaces_the_message_and_what_followed() -> None:
    model = ScriptedModel(turns=[["one"], ["two"], ["other"]], strict=True)
    agent = source(graphs.chat(model))
    await play(agent, says("first", "h1"))
    await play(agent, says("second", "h2"))
    await play(agent, Turn(messages=(user("edited", "h1"),), restart_at="h1"))
    assert await contents(agent) == [("user", "edited"), ("assistant", "other")]
    assert [one.content for one in model.seen[2]] == ["edited"]


async def test_a_regenerate_answers_the_last_message_again() -> None:
    # CopilotKit/CopilotKit#2136: RemoveMessage error on regenerate.
    model = ScriptedModel(turns=[["one"], ["better"]], strict=True)
    agent = source(graphs.chat(model))
    await play(agent, says("first", "h1"))
    await play(agent, Turn(messages=(user("first", "h1"),), restart_at="h1"))
    assert await contents(agent) == [("user", "first"), ("assistant", "better")]


async def test_a_regenerate_after_tools_drops_calls_and_results() -> None:
    @tool
    async def search(q: str) -> str:
        """Search."""
        return f"found {q}"

    model = ScriptedModel(turns=[[call("search", {"q": "a"}), finish("tool_calls")], ["one"], ["two"]], strict=True)
    agent = source(graphs.tools_chat(model, [search]))
    await play(agent, says("first", "h1"))
    await play(agent, Turn(messages=(user("first", "h1"),), restart_at="h1"))
    assert await contents(agent) == [("user", "first"), ("assistant", "two")]


async def test_an_edit_reads_no_more_of_a_long_thread_than_a_new_message() -> None:
    # The SDK reads every checkpoint of the thread to find the one before the message: quadratic, 12 s for 200 turns.
    class Counting(InMemorySaver):
        reads = 0

        async def aget_tuple(self, config: Any) -> Any:
            self.reads += 1
            return await super().aget_tuple(config)

        def alist(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the history is not read")

    saver = Counting()
    agent = source(graphs.chat(ScriptedModel(turns=[["x"]] * 32), saver=saver))
    for at in range(30):
        await play(agent, says("x", f"h{at}"))
    saver.reads = 0
    await play(agent, Turn(messages=(user("edited", "h1"),), restart_at="h1"))
    assert saver.reads < 10
    assert len(await contents(agent)) == 4


async def test_a_fresh_message_cannot_replace_a_prompt_or_an_answer() -> None:
    agent = source(graphs.chat(ScriptedModel(turns=[["one"], ["two"]])))
    played = await play(agent, says("first"))
    with pytest.raises(InvalidRequest, match="belongs to another"):
        await play(agent, says("planted", next(iter(played.texts()))))
    assert await contents(agent) == [("user", "first"), ("assistant", "one")]


# Going on ----------------------------------------------------------------------------------------------


async def test_a_run_goes_on_from_the_checkpoint_without_repeating_what_was_done() -> None:
    done: list[str] = []
    broken = [True]

    async def first(state: Any) -> Any:
        done.append("first")
        return {"messages": [AIMessage("one")]}

    async def second(state: Any) -> Any:
        done.append("second")
        if broken.pop():
            broken.append(False)
            raise SystemError("the process is gone")
        return {"messages": [AIMessage("two")]}

    builder = StateGraph(graphs.ChatState)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    agent = source(graphs.build(builder))
    with pytest.raises(SystemError):
        await play(agent, says("hi"))
    played = await play(agent, None)
    assert done == ["first", "second", "second"]
    assert list(played.texts().values()) == ["two"]
    assert await contents(agent) == [("user", "hi"), ("assistant", "one"), ("assistant", "two")]


async def test_a_run_that_goes_on_reads_its_words_once_and_ends_with_the_thread_as_it_is() -> None:
    model = ScriptedModel(turns=[["half", SystemError("the process is gone")], ["whole"]])
    agent, asked = source(graphs.chat(model)), says("hi", "h1")
    with pytest.raises(SystemError):
        await play(agent, asked)
    repeated = replace(asked, restart_at="h1")  # the thread knows the message, so the stored request looks like a regenerate
    further = GraphRun(agent, repeated, thread_id=THREAD, run_id=RunId("r"), adopted=True)
    events = [event async for event in further.events()]
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["whole"]
    assert events[-1]["type"] == "MESSAGES_SNAPSHOT", "the log may have told other ids in the attempt before"
    assert [(one["role"], one["content"]) for one in events[-1]["messages"]] == [("user", "hi"), ("assistant", "whole")]
    assert await contents(agent) == [("user", "hi"), ("assistant", "whole")]


async def test_going_on_at_an_open_question_asks_it_again() -> None:
    agent = source(graphs.ask("ok?"))
    asked = await play(agent, says("hi"))
    again = await play(agent, None)
    assert again.interrupts == asked.interrupts


async def test_a_thread_that_others_left_invalid_is_repaired_before_the_model_sees_it() -> None:
    # CopilotKit/OpenBot#333: a result behind the next user message.
    model = ScriptedModel(turns=[["fine"]], strict=True)
    agent = source(graphs.chat(model))
    broken = [
        HumanMessage("hi", id="h1"),
        AIMessage("", id="a1", tool_calls=[{"name": "s", "args": {}, "id": "c1"}, {"name": "s", "args": {}, "id": "c2"}]),
        HumanMessage("hello?", id="h2"),
        ToolMessage("late", tool_call_id="c1", id="t1"),
    ]
    await agent.graph.aupdate_state({"configurable": {"thread_id": THREAD}}, {"messages": broken})
    await play(agent, says("and now?"))
    assert [one.content for one in model.seen[0]][2] == "late"
    assert [one.id for one in model.seen[0] if one.id][:3] == ["h1", "a1", "t1"]


@pytest.mark.parametrize(
    "arguments", ['{"q":"a"}{"q":"b"}', '{"q": "al', '{"q": "al\\\\', '{"q": [["al', '{"q": [1, 2', "[]", '"x"', "null", '{"q": 1,}']
)
@pytest.mark.parametrize("joined_by", ["ainvoke", "node"])
async def test_arguments_that_are_no_json_object_never_run_a_tool(arguments: str, joined_by: str) -> None:
    # ag-ui-protocol/ag-ui#2680: one bad string broke every later turn; now it becomes {}, and the tool runs.
    # LangChain completes what is cut off, so that the tool runs with half of an argument.
    ran: list[str] = []

    @tool
    async def search(q: str = "nothing") -> str:
        """Search."""
        ran.append(q)
        return q

    model = ScriptedModel(turns=[["hm", call("search", arguments[:4]), args(arguments[4:]), finish("tool_calls")], ["sorry"]], strict=True)

    async def node(state: Any) -> Any:
        if joined_by == "ainvoke":
            return {"messages": [await model.ainvoke(state["messages"])]}
        whole: Any = None
        async for chunk in model.astream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    builder = StateGraph(graphs.ChatState)
    builder.add_node("node", node)
    builder.add_node("tools", ToolNode([search]))
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", lambda state: "tools" if state["messages"][-1].tool_calls else END, ["tools", END])
    builder.add_edge("tools", "node")
    agent = source(graphs.build(builder))
    played = await play(agent, says("hi"))
    assert ran == []
    assert played.calls() == {"call_1": ("search", arguments)}
    await play(agent, says("and?"))
    assert ran == []
    told = [one for one in model.seen[1] if isinstance(one, ToolMessage)]
    assert ["not a valid JSON object" in str(one.content) for one in told] == [True]


@pytest.mark.parametrize("shape", [graphs.tools_chat, graphs.sent_tools])
async def test_a_stop_at_any_moment_leaves_a_thread_that_works(shape: Any) -> None:
    @tool
    async def fast(q: str) -> str:
        """Fast."""
        return "fast"

    @tool
    async def slow(q: str) -> str:
        """Slow."""
        await asyncio.sleep(0)
        return "slow"

    def model() -> ScriptedModel:
        both = [
            call("fast", call_id="f", index=0),
            call("slow", call_id="s", index=1),
            args('{"q":"x"}', index=0),
            args('{"q":"y"}', index=1),
        ]
        return ScriptedModel(turns=[["let ", "me ", *both, finish("tool_calls")], ["all ", "done"], ["next"]], strict=True)

    for moment in range(40):
        scripted = model()
        agent = source(shape(scripted, [fast, slow]))
        shown: list[Any] = []
        events = GraphRun(agent, says("hi", "h1"), thread_id=THREAD, run_id="r")  # type: ignore[arg-type]

        async def watch(events: Any = events, shown: list[Any] = shown, moment: int = moment) -> None:
            async with aclosing(events.events()) as stream:
                async for event in stream:
                    shown.append(event)
                    if len(shown) > moment:
                        task = asyncio.current_task()
                        assert task is not None
                        task.cancel()
                        if moment % 2:
                            await asyncio.sleep(0)  # otherwise the cancellation would arrive inside the source

        async with asyncio.TaskGroup() as group:
            running = group.create_task(watch())
        if not running.cancelled():
            break
        assert asyncio.all_tasks() == {asyncio.current_task()}
        shown.extend(events.leftovers())
        said = custom(Custom.TURN, messages=[user("hi", "h1")])
        await agent.settle(THREAD, fold([said, *shown]), STOPPED)
        messages = await stored(agent)
        assert complaints(messages) == [], moment
        assert messages[0].content == "hi"
        scripted.turns[len(scripted.seen)] = ["next"]
        await play(agent, says("go on"))
    assert moment > 15, "the run was stopped at each of its moments"
