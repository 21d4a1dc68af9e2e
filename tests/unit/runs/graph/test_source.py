"""The source, driven with real graphs and scripted models: one test for each fault of the stock stack."""

from __future__ import annotations

import asyncio
import json
import operator
import threading
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from ag_ui.core import RunAgentInput
from copilotkit.langgraph import copilotkit_customize_config, copilotkit_emit_message, copilotkit_emit_state, copilotkit_emit_tool_call
from langchain_core.callbacks import BaseCallbackHandler, adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import get_runtime
from langgraph.types import Command, RetryPolicy
from pydantic import BaseModel

from middle_core.contract.outcomes import OutcomeCode
from middle_core.errors import MiddleCoreError
from middle_core.events import RunId, ThreadId
from middle_core.runs.graph.cut_calls import Cut
from middle_core.runs.graph.graph_run import GraphRun
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules, Turn, rebuild
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish
from tests.fakes.play import play, says, underway

RULES = AgentRules()
THREAD = ThreadId("t")


def source(graph: graphs.Graph, rules: AgentRules = RULES) -> GraphSource:
    return GraphSource("agent", graph, rules)


async def streamed(*items: Any, strict: bool = False) -> Any:
    """One model turn in a plain chat graph."""
    return await play(source(graphs.chat(ScriptedModel(turns=[list(items)], strict=strict))), says("hi"))


# Model chunks ------------------------------------------------------------------------------------------


async def test_text_is_one_message_with_the_id_that_the_thread_holds() -> None:
    played = await streamed("Hel", "lo", finish())
    assert list(played.texts().values()) == ["Hello"]
    assert not played.of("MESSAGES_SNAPSHOT"), "a snapshot is for a difference"


async def test_text_on_the_finishing_chunk_is_not_lost() -> None:
    # The SDK returns early at finish_reason and drops the text in the same chunk.
    played = await streamed("hello ", finish(content="world"))
    assert list(played.texts().values()) == ["hello world"]


async def test_arguments_that_come_with_the_name_are_not_lost() -> None:
    # The SDK emits START for such a chunk and no ARGS.
    played = await streamed(call("search", {"q": "alpha"}), finish("tool_calls"))
    assert played.calls() == {"call_1": ("search", '{"q": "alpha"}')}


async def test_two_calls_in_one_chunk_are_two_calls() -> None:
    # The SDK reads tool_call_chunks[0] only.
    both = call("search", {"q": "alpha"}, call_id="a", index=0)
    both.tool_call_chunks.extend(call("search", {"q": "beta"}, call_id="b", index=1).tool_call_chunks)
    played = await streamed(both, finish("tool_calls"))
    assert played.calls() == {"a": ("search", '{"q": "alpha"}'), "b": ("search", '{"q": "beta"}')}


@pytest.mark.parametrize("interleaved", [False, True])
async def test_arguments_go_to_the_call_they_belong_to(interleaved: bool) -> None:
    # ag-ui-protocol/ag-ui#1016: B's arguments appended to A's: {"q":"alpha"}{"q":"beta"}.
    a, b = call("s", call_id="a", index=0), call("s", call_id="b", index=1)
    a1, a2, b1, b2 = args('{"q":', index=0), args('"alpha"}', index=0), args('{"q":', index=1), args('"beta"}', index=1)
    played = await streamed(*([a, b, a1, b1, a2, b2] if interleaved else [a, a1, a2, b, b1, b2]))
    assert played.calls() == {"a": ("s", '{"q":"alpha"}'), "b": ("s", '{"q":"beta"}')}


async def test_text_before_beside_and_after_a_call() -> None:
    played = await streamed("Let me ", call("s", {"q": 1}, content="look"), "!", finish("tool_calls"))
    assert list(played.texts().values()) == ["Let me look!"]
    assert played.calls() == {"call_1": ("s", '{"q": 1}')}
    assert {one["parentMessageId"] for one in played.of("TOOL_CALL_START")} == set(played.texts())


@pytest.mark.parametrize("missing", [None, ""])
async def test_calls_without_an_id_get_one_and_keep_it_in_the_thread(missing: str | None) -> None:
    # Without an id the tool's result cannot be matched: ToolMessage refuses None, and providers an empty id.
    ran: list[str] = []

    @tool
    async def search(q: str) -> str:
        """Search."""
        ran.append(q)
        return f"found {q}"

    first = [
        call("search", {"q": "alpha"}, call_id=missing, index=0),
        call("search", call_id=missing, index=1),
        args('{"q": "beta"}', index=1),
    ]
    model = ScriptedModel(turns=[[*first, finish("tool_calls")], ["done"]], strict=True)
    played = await play(source(graphs.tools_chat(model, [search])), says("hi"))
    assert sorted(ran) == ["alpha", "beta"]
    assert sorted(text for _, text in played.results()) == ["found alpha", "found beta"]
    assert {one for one, _ in played.results()} == set(played.calls())


async def test_calls_without_an_index_are_joined_by_their_id_or_order() -> None:
    pieces = [call("s", '{"q":', call_id="a", index=None), args('"x"}', index=None), call("s", '{"q":"y"}', call_id="b", index=None)]
    played = await streamed(*pieces, finish("tool_calls"), strict=True)
    assert played.calls() == {"a": ("s", '{"q":"x"}'), "b": ("s", '{"q":"y"}')}
    assert not played.of("MESSAGES_SNAPSHOT"), "LangChain has joined them the same way"


async def test_a_provider_that_numbers_every_call_zero() -> None:
    played = await streamed(call("s", {"q": 1}, call_id="a", index=0), call("s", {"q": 2}, call_id="b", index=0), finish("tool_calls"))
    assert played.calls() == {"a": ("s", '{"q": 1}'), "b": ("s", '{"q": 2}')}


THOUGHT = "<think>\nI wonder, <b>so</b> I look.\n</think>\n\nHere you are."


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("blocks", [False, True])
async def test_reasoning_in_tags_is_no_answer_live_and_in_the_thread(size: int, streams: bool, blocks: bool) -> None:
    pieces = [THOUGHT[at : at + size] for at in range(0, len(THOUGHT), size)]
    turn = [AIMessageChunk(content=[{"type": "text", "text": one, "index": 0}]) for one in pieces] if blocks else list(pieces)
    model = ScriptedModel(turns=[turn, ["more"]], streams=streams)
    agent = source(graphs.chat(model))
    played = await play(agent, says("hi"))
    assert list(played.texts().values()) == ["Here you are."]
    assert "".join(one["delta"] for one in played.of("REASONING_MESSAGE_CONTENT")).strip() == "I wonder, <b>so</b> I look."
    assert not played.of("MESSAGES_SNAPSHOT")
    await play(agent, says("and?"))
    assert model.seen[1][1].text == "Here you are.", "the model is not shown its own thoughts as its answer"


async def test_reasoning_in_a_tag_that_is_never_closed_is_no_answer() -> None:
    played = await streamed("<th", "ink>I wonder", " still", finish("length"))
    assert played.texts() == {}
    assert "".join(one["delta"] for one in played.of("REASONING_MESSAGE_CONTENT")) == "I wonder still"


async def test_a_tag_at_the_end_that_is_none_is_text() -> None:
    played = await streamed("a\n", "<thin")
    assert list(played.texts().values()) == ["a\n<thin"]


async def test_a_provider_that_repeats_id_and_name_in_every_chunk() -> None:
    # LangChain would join the name to "searchsearch".
    played = await streamed(call("search", '{"q":', call_id="a"), call("search", '"x"}', call_id="a"), finish("tool_calls"))
    assert played.calls() == {"a": ("search", '{"q":"x"}')}
    assert not played.of("MESSAGES_SNAPSHOT")


async def test_a_name_that_comes_after_the_id() -> None:
    played = await streamed(call(None, call_id="a"), call("search", '{"q":1}', call_id=None), finish("tool_calls"))
    assert played.calls() == {"a": ("search", '{"q":1}')}


async def test_a_tool_call_id_that_the_thread_knows_is_made_unique() -> None:
    # Models that say "call_0" in every turn: the second turn's call would be taken for the first's, answered already.
    @tool
    async def search(q: str) -> str:
        """Search."""
        return f"found {q}"

    def turn(q: str) -> list[Any]:
        return [call("search", {"q": q}, call_id="call_0"), finish("tool_calls")]

    model = ScriptedModel(turns=[turn("a"), ["first"], turn("b"), ["second"]], strict=True)
    agent = source(graphs.tools_chat(model, [search]))
    first, second = await play(agent, says("1")), await play(agent, says("2"))
    assert [text for _, text in [*first.results(), *second.results()]] == ["found a", "found b"]
    assert set(first.calls()).isdisjoint(second.calls())


@pytest.mark.parametrize("same_id", ["msg_1", ""])
async def test_a_message_id_that_the_thread_knows_is_made_unique(same_id: str) -> None:
    # add_messages replaces the earlier message of that id: an answer would be lost.
    turns = [[AIMessageChunk(content="one", id=same_id)], [AIMessageChunk(content="two", id=same_id)]]
    agent = source(graphs.chat(ScriptedModel(turns=turns)))
    first, second = await play(agent, says("1")), await play(agent, says("2"))
    assert [*first.texts().values(), *second.texts().values()] == ["one", "two"]
    assert [one.get("content") for one in (await agent.view(THREAD)).messages] == ["1", "one", "2", "two"]


async def test_a_provider_id_that_comes_late_or_changes_is_one_id() -> None:
    # zonlabs/mcp-ts#84: the streamed id is not the stored one, and the message is shown twice.
    for ids in (["msg_a", None, None], [None, None, "msg_a"], ["msg_a", "msg_b", ""]):
        played = await streamed(*[AIMessageChunk(content=text, id=one) for text, one in zip("abc", ids, strict=True)])
        assert list(played.texts().values()) == ["abc"]
        assert not played.of("MESSAGES_SNAPSHOT")


async def test_parallel_nodes_keep_their_texts_apart() -> None:
    # The SDK has one message in progress: both texts land in one id, and STEP events flip with every token.
    gates = {name: [asyncio.Event() for _ in range(3)] for name in "ab"}
    models = {name: ScriptedModel(turns=[[x for at, gate in enumerate(gates[name]) for x in (gate, f"{name}{at} ")]]) for name in "ab"}

    async def open_gates() -> None:
        for at in range(3):
            for name in "ab":
                gates[name][at].set()
                await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(play(source(graphs.parallel(models)), says("hi")))
        group.create_task(open_gates())
    played = running.result()
    assert sorted(played.texts().values()) == ["a0 a1 a2 ", "b0 b1 b2 "]
    assert len(played.of("STEP_STARTED")) == 2


async def test_reasoning_of_every_shape_becomes_reasoning_events() -> None:
    # ag-ui-protocol/ag-ui#1251: reasoning lost.

    def block(**fields: Any) -> AIMessageChunk:
        return AIMessageChunk(content=[{"index": 0, **fields}])

    shapes: list[list[AIMessageChunk]] = [
        [AIMessageChunk(content="", additional_kwargs={"reasoning_content": one}) for one in ("I ", "think")],
        [AIMessageChunk(content="", additional_kwargs={"reasoning": one}) for one in ("I ", "think")],
        [block(type="thinking", thinking="I "), block(type="thinking", thinking="think")],
        [block(type="reasoning", reasoning="I "), block(type="reasoning", reasoning="think")],
        [block(type="reasoning_content", reasoning_content={"text": "I think"})],
        [block(type="reasoning", summary=[{"type": "summary_text", "text": "I think", "index": 0}])],
    ]
    for chunks in shapes:
        text = "so" if isinstance(chunks[0].content, str) else [{"type": "text", "text": "so", "index": 1}]
        played = await streamed(*chunks, AIMessageChunk(content=text))
        assert "".join(one["delta"] for one in played.of("REASONING_MESSAGE_CONTENT")) == "I think", chunks
        assert list(played.texts().values()) == ["so"]
        kinds = [one["type"] for one in played.events]
        assert kinds.index("REASONING_END") < kinds.index("TEXT_MESSAGE_START")
        assert not played.of("MESSAGES_SNAPSHOT"), chunks


async def test_encrypted_reasoning_is_kept_for_the_round_trip() -> None:
    redacted = [
        AIMessageChunk(content=[{"type": "redacted_thinking", "data": "c2VjcmV0", "index": 0}]),
        AIMessageChunk(content=[{"type": "text", "text": "x", "index": 1}]),
    ]
    signed = [
        AIMessageChunk(content=[{"type": "thinking", "thinking": "hm", "index": 0}]),
        AIMessageChunk(content=[{"type": "thinking", "signature": "c2lnbg", "index": 0}]),
        AIMessageChunk(content=[{"type": "text", "text": "x", "index": 1}]),
    ]
    for chunks, secret in ((redacted, "c2VjcmV0"), (signed, "c2lnbg")):
        played = await streamed(*chunks)
        assert [one["encryptedValue"] for one in played.of("REASONING_ENCRYPTED_VALUE")] == [secret]
        assert not played.of("MESSAGES_SNAPSHOT")


async def test_a_refusal_is_an_answer() -> None:
    for refusal in (
        AIMessageChunk(content="", additional_kwargs={"refusal": "I cannot."}),
        AIMessageChunk(content=[{"type": "refusal", "refusal": "I cannot."}]),
    ):
        played = await streamed(refusal, finish() if isinstance(refusal.content, str) else AIMessageChunk(content=[]))
        assert list(played.texts().values()) == ["I cannot."]


async def test_all_text_blocks_are_text_and_pictures_are_told() -> None:
    # The SDK reads the first text block only.
    content: list[Any] = [{"type": "text", "text": "one ", "index": 0}, {"type": "text", "text": "two", "index": 1}]
    picture: list[Any] = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}, "index": 2}]
    played = await streamed(AIMessageChunk(content=content), AIMessageChunk(content=picture))
    assert list(played.texts().values()) == ["one two\n![image](https://example.org/a.png)\n"]


async def test_a_model_that_cannot_stream_still_speaks() -> None:
    model = ScriptedModel(turns=[["whole ", call("s", {"q": 1}), finish()]], streams=False)
    played = await play(source(graphs.chat(model)), says("hi"))
    assert list(played.texts().values()) == ["whole "]
    assert played.calls() == {"call_1": ("s", '{"q": 1}')}
    assert played.usage[0]["totalTokens"] == 8


async def test_a_message_without_any_model_is_told_when_its_node_ends() -> None:
    # The SDK shows it in the last snapshot only.
    said = AIMessage("by hand", tool_calls=[{"name": "s", "args": {"q": 1}, "id": "c"}])
    played = await play(source(graphs.says(said, ToolMessage("r", tool_call_id="c"))), says("hi"))
    assert list(played.texts().values()) == ["by hand"]
    assert played.results() == [("c", "r")]
    assert not played.of("MESSAGES_SNAPSHOT")


async def test_sync_nodes_and_sync_models_stream_as_well() -> None:
    model = ScriptedModel(turns=[["from ", "a ", call("s", {"q": 1}, call_id=None), "thread", finish()]])

    def node(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    played = await play(source(graphs.one_node(node)), says("hi"))
    assert list(played.texts().values()) == ["from a thread"]
    assert not played.of("MESSAGES_SNAPSHOT")


async def test_a_sync_model_call_inside_an_async_node_does_not_hang() -> None:
    model = ScriptedModel(turns=[["blocks ", "the loop"]])

    async def node(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    played = await play(source(graphs.one_node(node)), says("hi"))
    assert list(played.texts().values()) == ["blocks the loop"]


async def test_a_node_that_streams_its_model_itself() -> None:
    model = ScriptedModel(turns=[["by ", "astream"]])

    async def node(state: Any) -> Any:
        whole: Any = None
        async for chunk in model.astream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    played = await play(source(graphs.one_node(node)), says("hi"))
    assert list(played.texts().values()) == ["by astream"]
    assert not played.of("MESSAGES_SNAPSHOT")


# Hidden model runs ----------------------------------------------------------------------------------


class Route(BaseModel):
    """Where to go."""

    to: str


@pytest.mark.parametrize("how", ["structured", "nostream", "langsmith:nostream", "emit_messages", "plain-emit"])
async def test_internal_model_runs_are_not_shown(how: str) -> None:
    # ag-ui-protocol/ag-ui#1543: a router's structured output became empty and duplicate bubbles.
    # ag-ui-protocol/ag-ui#2326: a hidden call before the answer made the verifier drop the answer.
    router = ScriptedModel(turns=[[call("Route", {"to": "answer"}), finish("tool_calls")] if how == "structured" else ["secret route"]])
    answerer = ScriptedModel(turns=[["the ", "answer"]])

    async def node(state: Any, config: RunnableConfig) -> Any:
        if how == "structured":
            assert (await router.with_structured_output(Route).ainvoke("x")) == Route(to="answer")
        elif how == "emit_messages":
            await router.ainvoke("x", copilotkit_customize_config(config, emit_messages=False))
        elif how == "plain-emit":
            await router.ainvoke("x", {"metadata": {"emit-messages": False}})
        else:
            await router.ainvoke("x", {"tags": [how]})
        return {"messages": [await answerer.ainvoke(state["messages"], {"metadata": {}})]}

    played = await play(source(graphs.one_node(node)), says("hi"))
    if how == "emit_messages":
        # copilotkit_customize_config writes into the metadata it is given: what it hides stays hidden for the node.
        assert "secret" not in json.dumps(played.events)
        return
    assert list(played.texts().values()) == ["the answer"]
    assert not played.calls()
    assert not played.of("MESSAGES_SNAPSHOT")


@pytest.mark.parametrize(("wanted", "shown"), [(False, []), ("keep", ["keep"]), (["keep"], ["keep"]), (True, ["keep", "drop"])])
async def test_only_the_tool_calls_that_the_author_wants_are_streamed(wanted: Any, shown: list[str]) -> None:
    model = ScriptedModel(turns=[[call("keep", {"q": 1}, call_id="a", index=0), call("drop", {"q": 2}, call_id="b", index=1)]])

    async def node(state: Any, config: RunnableConfig) -> Any:
        await model.ainvoke("x", copilotkit_customize_config(config, emit_tool_calls=wanted))
        return {}

    agent = source(graphs.one_node(node))
    run = GraphRun(agent, says("hi"), thread_id=THREAD, run_id=RunId("r"))
    assert [one["toolCallName"] async for one in run.events() if one["type"] == "TOOL_CALL_START"] == shown


async def test_a_message_that_no_thread_keeps_is_taken_back_at_the_end() -> None:
    model = ScriptedModel(turns=[["thinking aloud"]])

    async def node(state: Any) -> Any:
        await model.ainvoke("x")
        return {"messages": [AIMessage("the answer")]}

    played = await play(source(graphs.one_node(node)), says("hi"))
    assert len(played.of("MESSAGES_SNAPSHOT")) == 1


async def test_usage_is_summed_for_each_model() -> None:
    model = ScriptedModel(
        turns=[[call("s", {"q": "x"}), finish("tool_calls", tokens_in=10, tokens_out=2)], ["done", finish(tokens_in=20, tokens_out=3)]]
    )

    @tool
    async def s(q: str) -> str:
        """S."""
        return q

    played = await play(source(graphs.tools_chat(model, [s])), says("hi"))
    assert [(one["inputTokens"], one["outputTokens"]) for one in played.usage] == [(30, 5)]


# Nodes -----------------------------------------------------------------------------------------------


async def test_a_loop_has_a_step_of_its_own_name_for_each_turn() -> None:
    # A step name that is opened twice kills the run in the browser.
    @tool
    async def s(q: str) -> str:
        """S."""
        return q

    model = ScriptedModel(turns=[[call("s", {"q": "x"}), finish("tool_calls")], ["done"]])
    played = await play(source(graphs.tools_chat(model, [s])), says("hi"))
    assert [one["stepName"] for one in played.of("STEP_STARTED")] == ["model", "tools", "model #2"]
    assert played.nodes() == [("model", "ok"), ("tools", "ok"), ("model", "ok")]
    ended = played.custom("middle_core.node_completed")
    assert all(one["latencyMs"] >= 0 and one["startedAt"] > 0 and one["taskId"] for one in ended)
    assert len({one["taskId"] for one in ended}) == 3


async def test_nodes_of_a_subgraph_have_a_path() -> None:
    played = await play(source(graphs.nested(ScriptedModel(turns=[["deep"]]))), says("hi"))
    assert played.nodes() == [("outer:speak", "ok"), ("outer", "ok")]
    assert list(played.texts().values()) == ["deep"]


async def test_a_failed_node_is_ended_as_failed_and_its_sibling_as_cancelled() -> None:
    # Raw events have no end for either node. (The SDK also shows str(exc) to the browser; the gate prevents that.)
    agent = source(graphs.fails(RuntimeError("postgres://u:p@h"), beside=asyncio.Event()))
    run = GraphRun(agent, says("hi"), thread_id=THREAD, run_id=RunId("r"))
    seen: list[Any] = []

    async def watch() -> None:
        async for event in run.events():
            seen.append(event)  # noqa: PERF401 - the events before the failure are wanted

    with pytest.raises(RuntimeError, match="postgres"):
        await watch()
    outcomes = {one["value"]["node"]: one["value"]["outcome"] for one in seen if one.get("name") == "middle_core.node_completed"}
    assert outcomes == {"broken": "error", "waiting": "cancelled"}
    assert "postgres" not in json.dumps(seen)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_retried_node_is_two_steps() -> None:
    tries: list[int] = []

    async def flaky(state: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("again")
        return {"messages": [AIMessage("now")]}

    builder = StateGraph(graphs.ChatState)
    builder.add_node("flaky", flaky, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    builder.add_edge(START, "flaky")
    played = await play(source(graphs.build(builder)), says("hi"))
    assert played.nodes() == [("flaky", "error"), ("flaky", "ok")]


async def test_a_command_to_the_parent_graph_is_no_failure() -> None:
    async def leave(state: Any) -> Any:
        return Command(graph=Command.PARENT, goto="after", update={"messages": [AIMessage("left")]})

    async def after(state: Any) -> Any:
        return {"messages": [AIMessage("arrived")]}

    inner = StateGraph(graphs.ChatState)
    inner.add_node("leave", leave)
    inner.add_edge(START, "leave")
    builder = StateGraph(graphs.ChatState)
    builder.add_node("inner", inner.compile(), destinations=("after",))
    builder.add_node("after", after)
    builder.add_edge(START, "inner")
    played = await play(source(graphs.build(builder)), says("hi"))
    assert all(outcome == "ok" for _, outcome in played.nodes())
    assert list(played.texts().values())[-1] == "arrived"


async def test_the_topology_comes_first_and_marks_conditional_edges() -> None:
    @tool
    async def s(q: str) -> str:
        """S."""
        return q

    model = ScriptedModel(turns=[["done"]])
    played = await play(source(graphs.tools_chat(model, [s])), says("hi"))
    assert played.events[0]["name"] == "middle_core.topology"
    edges = {(one["source"], one["target"]): one["conditional"] for one in played.events[0]["value"]["edges"]}
    assert edges == {("__start__", "model"): False, ("model", "tools"): True, ("model", "__end__"): True, ("tools", "model"): False}
    nested = source(graphs.nested(ScriptedModel(turns=[]))).topology()
    assert {"id": "outer:speak", "name": "speak", "parent": "outer"} in nested["nodes"]


# Tools -----------------------------------------------------------------------------------------------


async def test_a_tool_result_is_told_before_its_slower_sibling_is_done() -> None:
    # CopilotKit/CopilotKit#2051: tool results only at the end.
    slow_may_end = asyncio.Event()

    @tool
    async def fast(q: str) -> str:
        """Fast."""
        return "fast"

    @tool
    async def slow(q: str) -> str:
        """Slow."""
        await slow_may_end.wait()
        return "slow"

    model = ScriptedModel(
        turns=[[call("slow", {"q": "x"}, call_id="s", index=0), call("fast", {"q": "x"}, call_id="f", index=1)], ["done"]]
    )
    agent = source(graphs.tools_chat(model, [fast, slow]))
    run = GraphRun(agent, says("hi"), thread_id=THREAD, run_id=RunId("r"))
    results = []
    async with asyncio.timeout(5):
        async for event in run.events():
            if event["type"] == "TOOL_CALL_RESULT":
                results.append(event["content"])
                slow_may_end.set()
    assert results == ["fast", "slow"]


@pytest.mark.parametrize(
    "returned",
    [
        ["a", "b"],
        {"k": [1, 2]},
        b"\xff\x00",
        None,
        7,
        [{"type": "image", "base64": "aGk=", "mime_type": "image/png"}],
        {"nan": float("nan")},
        set(),
    ],
    ids=repr,
)
async def test_whatever_a_tool_returns_is_shown_as_text(returned: Any) -> None:
    # ag-ui-protocol/ag-ui#637: a list or dict crashed the run.
    @tool
    async def odd(q: str) -> Any:
        """Odd."""
        return returned

    model = ScriptedModel(turns=[[call("odd", {"q": "x"}), finish("tool_calls")], ["done"]])
    played = await play(source(graphs.tools_chat(model, [odd])), says("hi"))
    assert [type(text) for _, text in played.results()] == [str]


async def test_a_tool_that_fails_is_told_as_its_node_tells_it() -> None:
    @tool
    async def broken(q: str) -> str:
        """Broken."""
        raise ValueError("no")

    async def node(state: Any) -> Any:
        try:
            await broken.ainvoke({"name": "broken", "args": {"q": "x"}, "id": "c", "type": "tool_call"})
        except ValueError:
            return {
                "messages": [
                    AIMessage("", tool_calls=[{"name": "broken", "args": {}, "id": "c"}]),
                    ToolMessage("it failed", tool_call_id="c", status="error"),
                ]
            }
        raise AssertionError

    played = await play(source(graphs.one_node(node)), says("hi"))
    assert played.results() == [("c", "it failed")]


# State -----------------------------------------------------------------------------------------------


async def test_state_snapshots_hold_no_messages_and_come_only_for_changes() -> None:
    # The SDK sends STATE_SNAPSHOT and MESSAGES_SNAPSHOT with every message, several times a run.
    async def one(state: Any) -> Any:
        return {"plan": "p1", "steps": ["a"]}

    async def two(state: Any) -> Any:
        state["steps"].append("b")  # in place: the object stays the same
        return {"steps": state["steps"], "messages": [AIMessage("done")]}

    builder = StateGraph(graphs.WorkState)
    builder.add_node("one", one)
    builder.add_node("two", two)
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    agent = source(graphs.build(builder))
    played = await play(agent, says("hi"))
    assert [one["snapshot"] for one in played.of("STATE_SNAPSHOT")] == [{"plan": "p1", "steps": ["a"]}, {"plan": "p1", "steps": ["a", "b"]}]
    assert await agent.state(THREAD) == {"plan": "p1", "steps": ["a", "b"]}


async def test_shared_state_from_the_client_reaches_the_graph_and_actions_do() -> None:
    seen: list[Any] = []

    async def node(state: Any) -> Any:
        seen.append((state.get("plan"), state.get("copilotkit")))
        return {"messages": [AIMessage("ok")]}

    turn = says(
        "hi",
        state={"plan": "mine"},
        tools=({"name": "t", "description": "d", "parameters": {}},),
        context=({"description": "d", "value": "v"},),
    )
    await play(source(graphs.one_node(node, state=graphs.WorkState)), turn)
    plan, copilotkit = seen[0]
    assert plan == "mine"
    assert [one["name"] for one in copilotkit["actions"]] == ["t"]
    assert [one["value"] for one in copilotkit["context"]] == ["v"]


async def test_copilotkits_emitters_in_their_order() -> None:
    # The SDK yields no text events for copilotkit_emit_message.
    model = ScriptedModel(turns=[["from the model"]])

    async def node(state: Any, config: RunnableConfig) -> Any:
        await copilotkit_emit_state(config, {"plan": "thinking"})
        await copilotkit_emit_message(config, "hello from node")
        answer = await model.ainvoke(state["messages"])
        await copilotkit_emit_tool_call(config, name="show", args={"a": 1}, tool_call_id="x")
        return {"plan": "done", "messages": [answer]}

    played = await play(source(graphs.one_node(node, state=graphs.WorkState)), says("hi"))
    kinds = [one["type"] for one in played.events if not one["type"].startswith(("STEP", "CUSTOM"))]
    assert kinds == [
        "STATE_SNAPSHOT",
        *["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"] * 2,
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "STATE_SNAPSHOT",
    ]
    assert [one["snapshot"]["plan"] for one in played.of("STATE_SNAPSHOT")] == ["thinking", "done"]
    assert list(played.texts().values()) == ["hello from node", "from the model"]
    assert played.calls() == {"x": ("show", '{"a": 1}')}


async def test_the_sdks_own_emitters_are_a_message_a_call_and_a_state() -> None:
    async def node(state: Any, config: RunnableConfig) -> Any:
        async def emit(name: str, data: Any) -> None:
            await adispatch_custom_event(name, data, config=config)

        await emit("manually_emit_message", {"message_id": "m-1", "message": "Hello from the node", "role": "assistant"})
        await emit("manually_emit_tool_call", {"id": "tc-1", "name": "set_color", "args": {"color": "red"}})
        await emit("manually_emit_tool_call", {"id": "tc-2", "name": "set_color", "args": '{"color": "blue"}'})
        await emit("manually_emit_state", {"plan": "one"})
        await emit("manually_emit_state", {"plan": "two"})
        await emit("exit", {})
        return {"plan": "three"}

    played = await play(source(graphs.one_node(node, state=graphs.WorkState)), says("hi"))
    assert played.texts() == {"m-1": "Hello from the node"}
    assert played.calls() == {"tc-1": ("set_color", '{"color": "red"}'), "tc-2": ("set_color", '{"color": "blue"}')}
    assert [one["snapshot"]["plan"] for one in played.of("STATE_SNAPSHOT")] == ["one", "two", "three"]
    assert played.custom("manually_emit_state") == [{"plan": "one"}, {"plan": "two"}], "CUSTOM as well, as the SDK's endpoint sends it"
    assert played.custom("exit") == [{}]


async def test_predicted_state_is_announced_and_not_wiped_before_the_tool_has_run() -> None:
    model = ScriptedModel(turns=[[call("write", {"plan": "new"}), finish("tool_calls")]])
    predict: list[Any] = [{"state_key": "plan", "tool": "write", "tool_argument": "plan"}]

    async def ask(state: Any, config: RunnableConfig) -> Any:
        return {
            "steps": ["asked"],
            "messages": [await model.ainvoke("x", copilotkit_customize_config(config, emit_intermediate_state=predict))],
        }

    async def write(state: Any) -> Any:
        return {"plan": "new", "messages": [ToolMessage("ok", tool_call_id="call_1")]}

    builder = StateGraph(graphs.WorkState)
    builder.add_node("ask", ask)
    builder.add_node("write", write)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "write")
    played = await play(source(graphs.build(builder)), says("hi"))
    assert played.custom("PredictState") == [predict]
    assert [one["snapshot"] for one in played.of("STATE_SNAPSHOT")] == [{"plan": "new", "steps": ["asked"]}]


# Graphs of every kind -------------------------------------------------------------------------------


@dataclass
class DataContext:
    tenant: str = "x"
    thread_id: str = ""


class ModelContext(BaseModel):
    tenant: str = "x"


class DictContext(TypedDict, total=False):
    tenant: str


@pytest.mark.parametrize("schema", [DataContext, ModelContext, DictContext])
async def test_graphs_with_a_context_schema_run(schema: Any) -> None:
    # The SDK passes thread_id and copilotkit into a dataclass that takes neither: TypeError.
    seen: list[Any] = []

    async def node(state: Any) -> Any:
        seen.append(get_runtime().context)
        return {"messages": [AIMessage("ok")]}

    await play(source(graphs.one_node(node, context_schema=schema)), says("hi"))
    assert isinstance(seen[0], dict if schema is DictContext else schema)


def test_a_context_that_nobody_can_give_is_refused_when_the_agent_is_made() -> None:
    @dataclass
    class Needs:
        tenant: str

    with pytest.raises(ValueError, match="Needs needs tenant"):
        source(graphs.one_node(lambda state: state, context_schema=Needs))


def test_a_graph_without_a_checkpointer_is_refused() -> None:
    builder = StateGraph(graphs.ChatState)
    builder.add_node("n", lambda state: state)
    builder.add_edge(START, "n")
    with pytest.raises(ValueError, match="checkpointer"):
        source(builder.compile())


async def test_only_the_thread_id_is_configurable() -> None:
    # LangGraph copies `configurable` into checkpoint metadata: a token there would be stored.
    saver = InMemorySaver()
    agent = source(graphs.chat(ScriptedModel(turns=[["x"]]), saver=saver))
    await play(agent, says("hi", tools=({"name": "t", "description": "MARK", "parameters": {}},)))
    metadata = [one.metadata async for one in saver.alist({"configurable": {"thread_id": "t"}})]
    assert metadata
    assert all(set(one) <= {"source", "step", "parents", "run_id", "ls_integration", "middle_core_run"} for one in metadata), metadata


async def test_a_graph_without_messages_runs() -> None:
    agent = source(graphs.no_messages())
    played = await play(agent, Turn(state={"number": 4}))
    assert [one["snapshot"] for one in played.of("STATE_SNAPSHOT")] == [{"number": 4}, {"number": 5}]
    assert (await agent.view(THREAD)).messages == []


class PydanticState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    model_config = {"extra": "forbid"}


class AddState(TypedDict):
    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize("state", [PydanticState, AddState, graphs.ChatState])
async def test_states_of_every_kind(state: Any) -> None:
    async def node(state: Any) -> Any:
        return {"messages": [AIMessage("ok", id=f"a{len(getattr(state, 'messages', None) or state['messages'])}")]}

    agent = source(graphs.one_node(node, state=state))
    await play(agent, says("one"))
    await play(agent, says("two"))
    assert [one["content"] for one in (await agent.view(THREAD)).messages] == ["one", "ok", "two", "ok"]


async def test_a_graph_that_never_ends_is_stopped_with_words() -> None:
    builder = StateGraph(graphs.ChatState)
    builder.add_node("n", lambda state: {})
    builder.add_edge(START, "n")
    builder.add_edge("n", "n")
    with pytest.raises(MiddleCoreError, match="too many steps"):
        await play(source(graphs.build(builder)), says("hi"))


async def test_a_graph_that_removes_messages_is_followed_by_a_snapshot() -> None:
    async def node(state: Any) -> Any:
        return {"messages": [*[RemoveMessage(one.id) for one in state["messages"][:-1]], AIMessage("short")]}

    agent = source(graphs.one_node(node, state=graphs.ChatState))
    await play(agent, says("one"))
    played = await play(agent, says("two"))
    assert len(played.of("MESSAGES_SNAPSHOT")) == 1
    assert [one["content"] for one in (await agent.view(THREAD)).messages] == ["two", "short"]


async def test_prompts_in_the_state_are_not_shown() -> None:
    async def node(state: Any) -> Any:
        return {"messages": [SystemMessage("SECRET PROMPT"), AIMessage("ok")]}

    agent = source(graphs.one_node(node))
    played = await play(agent, says("hi"))
    assert "SECRET" not in json.dumps(played.events)
    assert [one["role"] for one in (await agent.view(THREAD)).messages] == ["user", "assistant"]


async def test_multimodal_words_of_a_person_reach_the_model_and_come_back_the_same() -> None:
    parts = [
        {"type": "text", "text": "what is it?"},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
    ]
    model = ScriptedModel(turns=[["a picture"]])
    agent = source(graphs.chat(model))
    await play(agent, says(parts))
    sent = model.seen[0][0]
    assert isinstance(sent, HumanMessage)
    assert len(sent.content) == 2
    assert [part["type"] for part in (await agent.view(THREAD)).messages[0]["content"]] == ["text", "image"]


@pytest.mark.parametrize("form", ["tuple", "dict", "text", "model"])
async def test_messages_that_a_node_gives_in_another_form(form: str) -> None:
    forms: dict[str, Any] = {
        "tuple": {"messages": [("assistant", "by hand")]},
        "dict": {"messages": [{"role": "assistant", "content": "by hand"}]},
        "text": Command(update={"messages": [AIMessage("by hand")]}),
        "model": PydanticState(messages=[AIMessage("by hand")]),
    }
    state: Any = PydanticState if form == "model" else graphs.ChatState
    agent = source(graphs.one_node(lambda state: forms[form], state=state))
    played = await play(agent, says("hi"))
    assert list(played.texts().values()) == ["by hand"]
    assert not played.of("MESSAGES_SNAPSHOT")


async def test_a_teams_own_callbacks_and_limits_stay() -> None:
    class Tracer(BaseCallbackHandler):
        tokens = 0

        def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
            self.tokens += 1

    tracer = Tracer()
    graph = graphs.chat(ScriptedModel(turns=[["a", "b"]])).with_config({"callbacks": [tracer], "tags": ["team"]})
    played = await play(source(graph), says("hi"))
    assert list(played.texts().values()) == ["ab"]
    assert tracer.tokens == 3, "two, and LangChain's last empty one; once each"


async def test_a_turn_that_was_rebuilt_from_a_view_reads_the_thread_once() -> None:
    class Counting(InMemorySaver):
        reads = 0

        async def aget_tuple(self, config: Any) -> Any:
            self.reads += 1
            return await super().aget_tuple(config)

    saver = Counting()
    agent = source(graphs.chat(ScriptedModel(turns=[["x"]] * 3), saver=saver))
    await play(agent, says("one"))
    body = RunAgentInput.model_validate({"threadId": "t", "runId": "r", "messages": [{"id": "h", "role": "user", "content": "two"}]})
    turn = rebuild(body, await agent.view(THREAD), RULES)
    saver.reads = 0
    assert [event async for event in GraphRun(agent, turn, thread_id=THREAD, run_id=RunId("r")).events()]
    assert saver.reads == 1, "LangGraph's own"
    other = [event async for event in GraphRun(agent, turn, thread_id=ThreadId("other"), run_id=RunId("r")).events()]
    assert [one["delta"] for one in other if one.get("delta")] == ["x"]
    assert len((await agent.view(ThreadId("other"))).messages) == 2


async def test_a_sync_node_that_outlives_its_run_disturbs_nobody() -> None:
    go_on, done = threading.Event(), threading.Event()

    def node(state: Any, config: RunnableConfig) -> Any:
        dispatch_custom_event("begun", {}, config=config)
        go_on.wait(5)
        dispatch_custom_event("late", {}, config=config)
        done.set()
        return {"messages": [AIMessage("late")]}

    agent = source(graphs.one_node(node))
    async with underway(agent, says("hi")) as run:
        await run.until(lambda events: any(one.get("name") == "begun" for one in events))
        events = await run.stop()
    go_on.set()
    assert await asyncio.to_thread(done.wait, 5)
    assert run.run.leftovers() == []
    assert not any(one.get("name") == "late" for one in events)
    await agent.settle(THREAD, [], Cut(OutcomeCode.STOPPED))
    assert [one["content"] for one in (await agent.view(THREAD)).messages] == ["hi"]
