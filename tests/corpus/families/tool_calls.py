"""Tool calls: each with its own arguments, however a provider cuts them into chunks; results as soon as they are there."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from middle_core.runs.intake.turn import AgentRules
from tests.corpus.case import Script, case, say
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish

RULES = AgentRules(server_tools=frozenset({"search", "fast", "slow", "odd"}))
BESIDE_ARGUMENTS = "Arguments that come with the name are lost: it sends START for such a chunk and no ARGS."
ONE_CALL = "It keeps one call in progress, so that a second one's arguments go to the first or are lost."


def shape(*chunks: Any) -> Script:
    """The chunks of one answer, and no tool that runs."""
    model = ScriptedModel(turns=[[*chunks, finish("tool_calls")]])
    return Script(graphs.chat(model), [say("go")])


def loop(*turns: list[Any], ask: int = 1, sent: bool = False, strict: bool = True) -> Script:
    """A model and a search tool in a loop."""
    model, did = ScriptedModel(turns=list(turns), strict=strict), list[str]()

    @tool
    async def search(q: str = "nothing") -> str:
        """Search."""
        did.append(f"searched {q}")
        return f"found {q}"

    graph = (graphs.sent_tools if sent else graphs.tools_chat)(model, [search])
    return Script(graph, [say(f"ask {at}") for at in range(1, ask + 1)], [model], did, RULES)


SEARCH = [call("search"), args('{"q":'), args(' "alpha"}'), finish("tool_calls")]


@case("CopilotKit/CopilotKit#2411", beside=["order"], http=True)
def arguments_in_pieces() -> Script:
    """A call whose arguments come in pieces, its result, and the answer."""
    return loop(["Let me see. ", *SEARCH], ["It is alpha.", finish()])


@case(why=BESIDE_ARGUMENTS, beside=["order"])
def name_and_arguments_in_one_chunk() -> Script:
    """Arguments that come with the name are told."""
    return shape(call("search", {"q": "alpha"}))


@case(why="It reads the first call of a chunk only.")
def two_calls_in_one_chunk() -> Script:
    """Two calls in one chunk are two calls."""
    both = call("search", {"q": "alpha"}, call_id="a", index=0)
    both.tool_call_chunks.extend(call("search", {"q": "beta"}, call_id="b", index=1).tool_call_chunks)
    return shape(both)


@case("ag-ui-protocol/ag-ui#1016")
def calls_one_after_the_other() -> Script:
    """A second call that begins without an end of the first has arguments of its own."""
    pieces = [args('{"q":', index=0), args('"alpha"}', index=0)], [args('{"q":', index=1), args('"beta"}', index=1)]
    return shape(call("search", call_id="a", index=0), *pieces[0], call("search", call_id="b", index=1), *pieces[1])


@case("ag-ui-protocol/ag-ui#1016", why=ONE_CALL)
def calls_interleaved() -> Script:
    """Arguments that come interleaved go to the call they belong to."""
    starts = [call("search", call_id="a", index=0), call("search", call_id="b", index=1)]
    return shape(*starts, args('{"q":', index=0), args('{"q":', index=1), args('"alpha"}', index=0), args('"beta"}', index=1))


@case(why=BESIDE_ARGUMENTS)
def calls_without_an_index() -> Script:
    """A provider that sends no index tells calls apart by their ids."""
    return shape(
        call("search", '{"q":', call_id="a", index=None), args("1}", index=None), call("search", '{"q":2}', call_id="b", index=None)
    )


@case(why=BESIDE_ARGUMENTS)
def calls_that_are_all_number_zero() -> Script:
    """A provider that numbers each call 0 tells them apart by their ids."""
    return shape(call("search", {"q": 1}, call_id="a", index=0), call("search", {"q": 2}, call_id="b", index=0))


@case(why="Arguments that come with the name are lost, and the repeated name is joined to `searchsearch`.")
def id_and_name_in_every_chunk() -> Script:
    """A provider that repeats id and name in each chunk makes one call."""
    return shape(call("search", '{"q":', call_id="a"), call("search", '"x"}', call_id="a"))


@case(why="The part that brings the name has no id, which fails the run in the SDK's own validation.")
def name_after_the_id() -> Script:
    """A name may come later than the id."""
    return shape(call(None, call_id="a"), call("search", '{"q":1}', call_id=None))


@case(why="A missing id fails the run in the SDK's own validation.")
def calls_without_an_id() -> Script:
    """Calls without an id get one, by which their results are matched."""
    first = [call("search", {"q": "a"}, call_id=None, index=0), call("search", call_id="", index=1), args('{"q": "b"}', index=1)]
    return loop([*first, finish("tool_calls")], ["done", finish()])


@case(why="The second turn's call has the first one's id: each result belongs to both.")
def call_id_used_again() -> Script:
    """A model that says call_0 in every turn: the calls stay apart."""
    asks = [[call("search", call_id="call_0"), args(f'{{"q":"{q}"}}'), finish("tool_calls")] for q in "ab"]
    return loop(asks[0], ["first", finish()], asks[1], ["second", finish()], ask=2)


@case()
def call_without_arguments() -> Script:
    """A call without arguments is a call with none."""
    return loop([call("search"), finish("tool_calls")], ["done", finish()])


@case()
def one_task_for_each_call() -> Script:
    """Calls sent to tasks of their own."""
    return loop(
        [call("search", call_id="a"), args('{"q":"a"}'), call("search", call_id="b", index=1), args('{"q":"b"}', index=1), finish()],
        ["done", finish()],
        sent=True,
    )


@case("CopilotKit/CopilotKit#2051", beside=["order"], why="With two tools at work, no result is told before the last snapshot.")
def result_before_the_slower_sibling() -> Script:
    """A result is told when its tool is done, not when all are."""
    fast_is_done, did = asyncio.Event(), list[str]()

    @tool
    async def fast(q: str) -> str:
        """Fast."""
        did.append("fast")
        fast_is_done.set()
        return "fast"

    @tool
    async def slow(q: str) -> str:
        """Slow."""
        await fast_is_done.wait()
        did.append("slow")
        return "slow"

    both = [call("slow", call_id="s", index=0), args('{"q":1}'), call("fast", call_id="f", index=1), args('{"q":2}', index=1), finish()]
    model = ScriptedModel(turns=[both, ["done", finish()]])
    return Script(graphs.tools_chat(model, [slow, fast]), [say("go")], [model], did, RULES)


def _broken(arguments: str) -> Script:
    return loop(
        [call("search", arguments[:3]), args(arguments[3:]), finish("tool_calls")], ["sorry", finish()], ["and now?", finish()], ask=2
    )


@case("ag-ui-protocol/ag-ui#2680", why="The first object is taken for the arguments, and the tool runs.")
def arguments_of_two_objects() -> Script:
    """`{"q":"a"}{"q":"b"}` runs no tool; the model is told, and the thread goes on."""
    return _broken('{"q":"a"}{"q":"b"}')


@case("ag-ui-protocol/ag-ui#2680", why="The arguments are completed to an object, and the tool runs with them.")
def arguments_that_were_cut_off() -> Script:
    """Arguments that were cut off run no tool: half of an id is another id."""
    return _broken('{"q": "al')


@case(
    "ag-ui-protocol/ag-ui#2680",
    why="The call is neither refused nor answered: it leaves an empty message, at which a strict provider fails the next turn.",
)
def arguments_that_are_a_list() -> Script:
    """Arguments that are no object run no tool."""
    return _broken('["q"]')


@case(
    "ag-ui-protocol/ag-ui#637",
    why="A list of texts is joined in the stream and JSON in the thread: the result changes when the snapshot comes.",
)
def whatever_a_tool_returns() -> Script:
    """A tool may return a list, a dict, bytes, None, a set, NaN or a picture: the result is text."""
    values: list[Any] = [
        ["a", "b"],
        {"k": [1, 2]},
        b"\xff\x00",
        None,
        float("nan"),
        {1},
        [{"type": "image", "base64": "aGk=", "mime_type": "image/png"}],
    ]

    @tool
    async def odd(at: int) -> Any:
        """Odd."""
        return values[at]

    turns: list[list[Any]] = []
    for at in range(len(values)):
        turns += [[call("odd", call_id=f"c{at}"), args(f'{{"at":{at}}}'), finish("tool_calls")], [f"done {at}", finish()]]
    model = ScriptedModel(turns=turns)
    return Script(graphs.tools_chat(model, [odd]), [say(f"try {at}") for at in range(len(values))], rules=RULES)


@case("CopilotKit/CopilotKit#3552", why="What no model and no tool run said is told in the last snapshot only.")
def result_without_a_name() -> Script:
    """A tool message without a name is a result like any other."""
    said = AIMessage("", id="a1", tool_calls=[{"name": "search", "args": {}, "id": "c1"}])
    model = ScriptedModel(turns=[["ok", finish()]])

    async def node(state: Any) -> Any:
        return {"messages": [said, ToolMessage("found", tool_call_id="c1", id="t1", name=None), await model.ainvoke("x")]}

    return Script(graphs.one_node(node), [say("go")])


@case(
    "CopilotKit/CopilotKit#6294",
    "zonlabs/mcp-ts#84",
    why="It streams a result under one id and the thread keeps another: the browser puts it behind the answer at the snapshot.",
    beside=["ids"],
)
def result_and_snapshot_agree() -> Script:
    """A result that was streamed is in every later snapshot."""
    return loop(SEARCH, ["It is alpha.", finish()], ["more", finish()], ask=2)


@case(why="The failed tool's result is not told before the last snapshot.")
def tool_that_fails() -> Script:
    """A failed tool's words are its result."""

    @tool
    async def search(q: str) -> str:
        """Search."""
        raise ValueError("no such index")

    async def node(state: Any) -> Any:
        last = state["messages"][-1].tool_calls[0]
        try:
            await search.ainvoke(last)
        except ValueError:
            return {"messages": [ToolMessage("The search failed.", tool_call_id=last["id"], status="error", id="t1")]}
        raise AssertionError

    model = ScriptedModel(turns=[SEARCH, ["I could not search.", finish()]], strict=True)
    return Script(graphs.sequence(model=graphs.calls(model), tools=node, again=graphs.calls(model)), [say("go")], [model], rules=RULES)
