"""The cases. Each makes its graph anew and says which turns are played on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from copilotkit.langgraph import copilotkit_customize_config, copilotkit_emit_message, copilotkit_emit_state, copilotkit_emit_tool_call
from langchain_core.messages import AIMessage, AIMessageChunk, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish

SAME: Final = "same"


@dataclass(frozen=True)
class Case:
    """turns: what the person says; an answer to the open questions is `Answer`. sdk: SAME, or what the SDK gets wrong."""

    graph: Callable[[], graphs.Graph]
    sdk: str = SAME
    turns: Sequence[Any] = field(default=("hi",))


@dataclass(frozen=True)
class Answer:
    """Answers every open question with this."""

    payload: Any


@tool
async def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@tool
async def odd(q: str) -> Any:
    """Return something that is no text."""
    return {"rows": [1, None, 2.5], "q": q}


@tool
async def nothing(q: str) -> Any:
    """Return nothing."""
    return


class Route(BaseModel):
    """Where to go."""

    to: str


def said(*items: Any, **options: Any) -> Callable[[], graphs.Graph]:
    """One model turn in a plain chat."""
    return lambda: graphs.chat(ScriptedModel(turns=[list(items)], **options))


def node(function: Callable[..., Any], **options: Any) -> Callable[[], graphs.Graph]:
    return lambda: graphs.one_node(function, **options)


def tools(*turns: list[Any], sent: bool = False) -> Callable[[], graphs.Graph]:
    shape = graphs.sent_tools if sent else graphs.tools_chat
    return lambda: shape(ScriptedModel(turns=[list(one) for one in turns]), [search, odd, nothing])


def block(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[{"index": 0, **fields}])


def two_calls_in_one_chunk() -> AIMessageChunk:
    both = call("search", {"q": "a"}, call_id="a", index=0)
    both.tool_call_chunks.extend(call("search", {"q": "b"}, call_id="b", index=1).tool_call_chunks)
    return both


async def structured(state: Any) -> Any:
    router = ScriptedModel(turns=[[call("Route", {"to": "x"}), finish("tool_calls")]])
    await router.with_structured_output(Route).ainvoke("x")
    return {"messages": [await ScriptedModel(turns=[["the answer", finish()]]).ainvoke("x")]}


async def hidden(state: Any) -> Any:
    await ScriptedModel(turns=[["secret", finish()]]).ainvoke("x", {"tags": ["langsmith:nostream"]})
    return {"messages": [await ScriptedModel(turns=[["the answer", finish()]]).ainvoke("x")]}


async def muted(state: Any, config: RunnableConfig) -> Any:
    model = ScriptedModel(turns=[["not shown while it is said", finish()]])
    return {"messages": [await model.ainvoke("x", copilotkit_customize_config(config, emit_messages=False))]}


async def emitters(state: Any, config: RunnableConfig) -> Any:
    await copilotkit_emit_state(config, {"plan": "first"})
    await copilotkit_emit_message(config, "from the node")
    await copilotkit_emit_tool_call(config, name="show", args={"a": 1}, tool_call_id="x")
    return {"plan": "second"}


async def predicts(state: Any, config: RunnableConfig) -> Any:
    model = ScriptedModel(turns=[[call("write"), args('{"plan":'), args('"p"}'), finish("tool_calls")]])
    predict: list[Any] = [{"state_key": "plan", "tool": "write", "tool_argument": "plan"}]
    return {"messages": [await model.ainvoke("x", copilotkit_customize_config(config, emit_intermediate_state=predict))]}


async def by_hand(state: Any) -> Any:
    return {"messages": [("assistant", "by hand")]}


async def shortens(state: Any) -> Any:
    return {"messages": [*[RemoveMessage(one.id) for one in state["messages"][:-1]], AIMessage("short", id=f"s{len(state['messages'])}")]}


async def prompts(state: Any) -> Any:
    return {"messages": [SystemMessage("SECRET"), AIMessage("ok")]}


async def asks_first(state: Any) -> Any:
    said = [one.content for one in state["messages"] if one.type == "human"]
    if len(said) == 1:
        interrupt("sure?")
    return {"messages": [AIMessage(f"heard {said[-1]}")]}


async def commands(state: Any) -> Any:
    return Command(update={"messages": [AIMessage("by command")], "plan": "p"})


async def changes_in_place(state: Any) -> Any:
    steps = state.get("steps") or []
    steps.append("b")
    return {"steps": steps}


def steps() -> graphs.Graph:
    async def first(state: Any) -> Any:
        return {"steps": ["a"]}

    builder = StateGraph(graphs.WorkState)
    builder.add_node("first", first)
    builder.add_node("second", changes_in_place)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return graphs.build(builder)


SEARCH = [call("search"), args('{"q":'), args('"a"}'), finish("tool_calls")]
DONE = ["It is ", "done", finish()]

LOST_ARGS = "START without ARGS for arguments that come with the name"
FIRST_ONLY = "reads the first tool call chunk only"

CASES: Final[dict[str, Case]] = {
    # text
    "text": Case(said("Hel", "lo", finish())),
    "text-on-the-finishing-chunk": Case(said("hello ", finish(content="world")), "drops what stands beside finish_reason"),
    "text-of-a-model-that-cannot-stream": Case(said("whole", finish(), streams=False), "shows it in the snapshot only"),
    "text-in-blocks": Case(
        said(AIMessageChunk(content=[{"type": "text", "text": "a", "index": 0}, {"type": "text", "text": "b", "index": 1}])),
        "reads the first text block only",
    ),
    "text-without-a-model": Case(lambda: graphs.says(AIMessage("plain", id="p")), "shows it in the snapshot only"),
    "text-as-a-tuple": Case(node(by_hand), "shows it in the snapshot only"),
    "text-by-command": Case(node(commands, state=graphs.WorkState), "shows it in the snapshot only"),
    "text-with-an-empty-id": Case(said(AIMessageChunk(content="x", id="")), "streams an empty message id"),
    "text-in-unicode": Case(said("你好 🌍 ", "é\u0085\u2028", finish())),
    "refusal": Case(said(AIMessageChunk(content="", additional_kwargs={"refusal": "I cannot."}), finish()), "drops it"),
    "picture": Case(said(block(type="image_url", image_url={"url": "https://example.org/a.png"})), "drops it"),
    "nothing-said": Case(said(finish()), "leaves an empty bubble (ag-ui-protocol/ag-ui#1543)"),
    # reasoning
    "reasoning-plain": Case(
        said(*[AIMessageChunk(content="", additional_kwargs={"reasoning_content": one}) for one in ("I ", "think")], "so", finish())
    ),
    "reasoning-in-blocks": Case(
        said(block(type="thinking", thinking="hm"), AIMessageChunk(content=[{"type": "text", "text": "so", "index": 1}]))
    ),
    "reasoning-signed": Case(
        said(
            block(type="thinking", thinking="hm"),
            block(type="thinking", signature="c2ln"),
            AIMessageChunk(content=[{"type": "text", "text": "so", "index": 1}]),
        ),
        "loses a signature that comes in a chunk of its own",
    ),
    "reasoning-redacted": Case(
        said(block(type="redacted_thinking", data="c2Vj"), AIMessageChunk(content=[{"type": "text", "text": "so", "index": 1}])),
        "loses it where no reasoning is open",
    ),
    # tool calls
    "call": Case(said(*SEARCH)),
    "call-with-text-before": Case(said("Let me see", *SEARCH)),
    "call-with-its-arguments": Case(said(call("search", {"q": "a"}), finish("tool_calls")), LOST_ARGS),
    "call-without-arguments": Case(said(call("search"), finish("tool_calls"))),
    "call-without-an-id": Case(said(call("search", call_id=None), args("{}"), finish("tool_calls")), "streams a call without an id"),
    "calls-one-after-the-other": Case(
        said(
            call("search", call_id="a", index=0),
            args('{"q":"a"}', index=0),
            call("search", call_id="b", index=1),
            args('{"q":"b"}', index=1),
            finish("tool_calls"),
        )
    ),
    "calls-interleaved": Case(
        said(
            call("search", call_id="a", index=0),
            call("search", call_id="b", index=1),
            args('{"q":"a"}', index=0),
            args('{"q":"b"}', index=1),
            finish("tool_calls"),
        ),
        "gives one call the other one's arguments (ag-ui-protocol/ag-ui#1016)",
    ),
    "calls-in-one-chunk": Case(said(two_calls_in_one_chunk(), finish("tool_calls")), FIRST_ONLY),
    "call-cut-off": Case(said(call("search", call_id="a"), args('{"q": "al')), "completes the arguments, with which the tool runs"),
    "call-with-a-repeated-name": Case(
        said(call("search", '{"q":', call_id="a"), call("search", '"x"}', call_id="a"), finish("tool_calls")), LOST_ARGS
    ),
    # tools
    "tool-loop": Case(tools(SEARCH, DONE)),
    "tool-loop-with-a-task-for-each-call": Case(tools(SEARCH, DONE, sent=True)),
    "tool-that-returns-an-object": Case(tools([call("odd"), args('{"q":"a"}'), finish("tool_calls")], DONE)),
    "tool-that-returns-nothing": Case(tools([call("nothing"), args('{"q":"a"}'), finish("tool_calls")], DONE)),
    "tool-call-ids-of-every-turn-the-same": Case(tools(SEARCH, DONE, SEARCH, DONE), "starts one tool call id twice", turns=("one", "two")),
    "tool-result-without-a-tool": Case(
        lambda: graphs.says(
            AIMessage("", id="a", tool_calls=[{"name": "s", "args": {}, "id": "c"}]), ToolMessage("r", tool_call_id="c", id="t")
        ),
        "shows it in the snapshot only",
    ),
    # nodes
    "parallel-nodes": Case(
        lambda: graphs.parallel({one: ScriptedModel(turns=[[f"{one}1 ", f"{one}2", finish()]]) for one in "ab"}),
        "mixes both texts in one message",
    ),
    "subgraph": Case(lambda: graphs.nested(ScriptedModel(turns=[["deep", finish()]]))),
    "no-messages": Case(graphs.no_messages),
    # hidden runs, state, emitters
    "structured-output": Case(node(structured), "shows the router's call (ag-ui-protocol/ag-ui#1543)"),
    "hidden-run": Case(node(hidden), "shows it"),
    "muted-run": Case(node(muted)),
    "prompt-in-the-state": Case(node(prompts), "sends the prompt to the browser"),
    "state-in-place": Case(steps),
    "emitters": Case(node(emitters, state=graphs.WorkState), "yields no text and no call for them"),
    "predicted-state": Case(node(predicts, state=graphs.WorkState)),
    "shortened-thread": Case(node(shortens), "shows it in the snapshot only", turns=("one", "two")),
    # questions
    "question": Case(lambda: graphs.ask({"message": "sure?"})),
    "question-answered": Case(
        lambda: graphs.ask({"message": "sure?"}), "shows the answer in the snapshot only", turns=("hi", Answer("yes"))
    ),
    "question-answered-with-none": Case(lambda: graphs.ask("sure?"), "crashes", turns=("hi", Answer(None))),
    "two-questions-answered": Case(graphs.ask_two, "cannot answer two", turns=("hi", Answer(1))),
    "question-withdrawn": Case(node(asks_first), "drops the words and asks again", turns=("hi", "something else")),
}
