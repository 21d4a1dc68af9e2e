"""Errors and stops: one terminal event with words for people and no secret, everything closed before it, and a thread that goes on."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph

from middle_core.errors import ModelRateLimited, ModelStreamCut
from middle_core.runs.intake.turn import AgentRules
from tests.corpus.case import Script, case, say, text_of
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish

RULES = AgentRules(server_tools=frozenset({"search", "fast", "slow"}))
SHOWS_IT = "RUN_ERROR carries the exception's text."


@case(why=SHOWS_IT, http=True)
def exception_with_a_secret() -> Script:
    """A secret in an exception does not reach the browser."""
    return Script(graphs.fails(ValueError("cannot connect to postgres://user:password@host/db")), [say("go")])


@case("CopilotKit/CopilotKit#2249", "ggozad/haiku.rag#214", why=SHOWS_IT)
def failure_in_the_middle_of_a_text() -> Script:
    """A text that breaks off is ended, kept and marked; the next turn works."""
    model = ScriptedModel(turns=[["half ", RuntimeError("cut")], ["whole", finish()]], strict=True)
    return Script(graphs.chat(model), [say("go"), say("again")], [model])


@case(why=SHOWS_IT)
def failure_in_the_middle_of_a_call() -> Script:
    """A call whose arguments break off is ended and answered; the next turn works."""
    model = ScriptedModel(turns=[[call("search"), args('{"q":'), RuntimeError("cut")], ["whole", finish()]], strict=True)
    return Script(graphs.chat(model), [say("go"), say("again")], [model], rules=RULES)


@case("ggozad/haiku.rag#214", why=SHOWS_IT)
def failure_in_the_middle_of_reasoning() -> Script:
    """Reasoning that breaks off is ended."""
    model = ScriptedModel(turns=[[AIMessageChunk(content="", additional_kwargs={"reasoning_content": "hm"}), RuntimeError("cut")]])
    return Script(graphs.chat(model), [say("go")], [model])


@case("getnao/nao#1006", why="A rate limit is an error like any other, without a code or a time.", http=True)
def model_at_its_limit() -> Script:
    """A model's rate limit is told with its code and when to try again."""
    model = ScriptedModel(turns=[[ModelRateLimited(retry_after=7)]])
    return Script(graphs.chat(model), [say("go")], [model])


@case("openai/openai-python#3818", why="A broken connection is an error like any other, without a code.")
def model_that_breaks_off() -> Script:
    """A connection that is cut in the middle of an answer has its code; what was said is kept."""
    model = ScriptedModel(turns=[["half ", ModelStreamCut()], ["whole", finish()]], strict=True)
    return Script(graphs.chat(model), [say("go"), say("again")], [model])


@case("mindsdb/anton#380", why=SHOWS_IT)
def node_that_cancels_itself() -> Script:
    """A node that raises CancelledError without being cancelled is a failure of the agent, not a stop."""

    async def node(state: Any) -> Any:
        raise asyncio.CancelledError

    return Script(graphs.one_node(node), [say("go")])


@case(why="RUN_ERROR carries the exception's text, and the graph's own limit is overwritten.")
def graph_that_never_ends() -> Script:
    """A graph that takes too many steps is stopped with words."""
    builder = StateGraph(graphs.WorkState)
    builder.add_node("again", lambda state: {})
    builder.add_edge(START, "again")
    builder.add_edge("again", "again")
    return Script(graphs.build(builder).with_config(recursion_limit=4), [say("go")])


@case("langchain-ai/langgraph#5672", "CopilotKit/CopilotKit#2972", why="A stopped run ends without a terminal event, and its text is lost.")
def stop_in_the_middle_of_a_text() -> Script:
    """A stop keeps the text, marked; there is one terminal event, and the next turn works."""
    model = ScriptedModel(turns=[["par", "tial", asyncio.Event()], ["fresh", finish()]], strict=True)
    return Script(graphs.chat(model), [say("go", stop=text_of("tial")), say("again")], [model])


@case("langchain-ai/open-swe#1604", why="The stopped tool's call has no result, and a strict provider refuses every later turn.")
def stop_in_a_tool() -> Script:
    """A stop in a tool: the call is answered, and the next turn works."""
    did, begun = list[str](), asyncio.Event()

    @tool
    async def search(q: str) -> str:
        """Search."""
        did.append("begun")
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            did.append("cancelled")
            raise
        return "never"

    asks = [call("search"), args('{"q":"x"}'), finish("tool_calls")]
    model = ScriptedModel(turns=[asks, ["Hello again.", finish()]], strict=True)

    return Script(graphs.tools_chat(model, [search]), [say("go", stop=begun), say("hello?")], [model], did, RULES)


@case("EvoScientist/EvoScientist#489", why="The tool that was done is told nowhere, and its thread is refused by a strict provider.")
def stop_beside_a_finished_tool() -> Script:
    """Of two tools one was done at the stop: its result is kept, the other call is answered."""
    fast_is_done, stop = asyncio.Event(), asyncio.Event()

    @tool
    async def fast(q: str) -> str:
        """Fast."""
        fast_is_done.set()
        return "fast is done"

    @tool
    async def slow(q: str) -> str:
        """Slow."""
        await fast_is_done.wait()
        for _ in range(20):  # the result is on its way
            await asyncio.sleep(0)
        stop.set()
        await asyncio.Event().wait()
        return "never"

    both = [
        call("fast", call_id="f"),
        args('{"q":"x"}'),
        call("slow", call_id="s", index=1),
        args('{"q":"y"}', index=1),
        finish("tool_calls"),
    ]
    model = ScriptedModel(turns=[both, ["Hello again.", finish()]], strict=True)
    return Script(graphs.sent_tools(model, [fast, slow]), [say("go", stop=stop), say("hello?")], [model], rules=RULES)


@case(why="Half of an argument is completed to another one, and would run at the next turn.")
def stop_in_the_middle_of_arguments() -> Script:
    """A call that was cut off by a stop never runs."""
    did: list[str] = []

    @tool
    async def search(q: str) -> str:
        """Search."""
        did.append(f"searched {q}")
        return q

    model = ScriptedModel(turns=[[call("search"), args('{"q": "al'), asyncio.Event()], ["Hello again.", finish()]], strict=True)
    return Script(graphs.tools_chat(model, [search]), [say("go", stop=text_of('"al')), say("hello?")], [model], did, RULES)
