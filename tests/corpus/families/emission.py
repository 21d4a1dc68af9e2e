"""What node code emits: in order with the model's tokens, whatever it holds."""

from __future__ import annotations

import datetime as dt
from typing import Any

from copilotkit.langgraph import copilotkit_emit_message, copilotkit_emit_tool_call, copilotkit_exit
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from middle_core.node_api.emit import emit_chunk, emit_message, emit_state, emit_token, progress
from tests.corpus.case import Script, case, say
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, finish

THROWN_AWAY = "The three text events are made and thrown away: only a CUSTOM event is sent."


def emits(node: Any, *models: ScriptedModel) -> Script:
    """One node that emits."""
    return Script(graphs.one_node(node, state=graphs.WorkState), [say("go")], models)


@case(why=THROWN_AWAY, beside=["order"])
def copilotkits_message() -> Script:
    """`copilotkit_emit_message` is a message, before the model's."""
    model = ScriptedModel(turns=[["From the model.", finish()]])

    async def node(state: Any, config: RunnableConfig) -> Any:
        await copilotkit_emit_message(config, "From the node.")
        return {"messages": [await model.ainvoke(state["messages"])]}

    return emits(node, model)


@case(why="The three call events are made and thrown away: only a CUSTOM event is sent.")
def copilotkits_tool_call() -> Script:
    """`copilotkit_emit_tool_call` is a tool call."""

    async def node(state: Any, config: RunnableConfig) -> Any:
        await copilotkit_emit_tool_call(config, name="show", args={"a": 1}, tool_call_id="x")
        return {}

    return emits(node)


@case(beside=["custom"])
def copilotkits_exit() -> Script:
    """`copilotkit_exit` tells the page that the agent is done with it."""

    async def node(state: Any, config: RunnableConfig) -> Any:
        await copilotkit_exit(config)
        return {}

    return emits(node)


@case(why="It knows none of these: they come as CUSTOM events.", beside=["order"])
def our_own_emitters() -> Script:
    """Tokens, a message, state, a chunk and progress, in the order in which they are emitted."""

    async def node(state: Any) -> Any:
        await emit_token("To", message_id="m1")
        await progress("half way", 0.5)
        await emit_token("ken", message_id="m1")
        await emit_message("Whole.", message_id="m2")
        await emit_state({"plan": "p"})
        await emit_chunk("table", {"rows": [1, 2]})
        return {"plan": "p", "messages": [AIMessage("Token", id="m1"), AIMessage("Whole.", id="m2")]}

    return emits(node)


@case(beside=["custom"])
def custom_event_of_a_team() -> Script:
    """A custom event of a team passes as it is."""

    async def node(state: Any) -> Any:
        await adispatch_custom_event("acme.progress", {"done": 3, "of": 7})
        return {}

    return emits(node)


@case("ag-ui-protocol/ag-ui#637", why="Bytes cut the stream off: its encoder raises.", beside=["custom"])
def custom_event_of_anything() -> Script:
    """Dates, NaN, bytes, sets and models in a custom event become JSON."""

    async def node(state: Any) -> Any:
        when = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
        value = {"when": when, "nan": float("nan"), "bytes": b"\xff\x00", "set": {1}, "none": None, "message": AIMessage("x", id="m")}
        await adispatch_custom_event("acme.anything", value)
        return {}

    return emits(node)


@case(why="A value of any size is sent on.", beside=["custom"])
def custom_event_too_large() -> Script:
    """An event that is larger than the limit is left out, and that is told."""

    async def node(state: Any) -> Any:
        await adispatch_custom_event("acme.large", {"blob": "x" * 30_000})
        return {}

    return emits(node)


@case(why="It passes on events under names that only the server may use.", beside=["ours"])
def name_of_ours() -> Script:
    """A graph cannot forge one of the server's own events."""

    async def node(state: Any) -> Any:
        await adispatch_custom_event("middle_core.run_cancelled", {"by": "nobody"})
        return {}

    return emits(node)


@case(why="It shows the message and the calls, and takes them back at the end.")
def the_sdks_own_emitters() -> Script:
    """`manually_emit_*` of `ag_ui_langgraph`: a message, a call, and a state, each as itself and as CUSTOM."""

    async def node(state: Any, config: RunnableConfig) -> Any:
        async def emit(name: str, data: Any) -> None:
            await adispatch_custom_event(name, data, config=config)

        await emit("manually_emit_message", {"message_id": "m-1", "message": "From the node.", "role": "assistant"})
        await emit("manually_emit_tool_call", {"id": "tc-1", "name": "show", "args": {"color": "red"}})
        await emit("manually_emit_tool_call", {"id": "tc-2", "name": "show", "args": '{"color":"blue"}'})
        await emit("manually_emit_state", {"plan": "first"})
        await emit("manually_emit_state", {"plan": "second"})
        return {"plan": "third"}

    return emits(node)


@case(why="What `get_stream_writer` writes is not sent at all.", beside=["ours"])
def stream_writer() -> Script:
    """What a node writes with LangGraph's stream writer is a chunk."""

    async def node(state: Any) -> Any:
        get_stream_writer()({"rows": 3})
        return {}

    return emits(node)


@case(why=THROWN_AWAY, beside=["order"])
def message_id_emitted_twice() -> Script:
    """Two emitted messages of one id are two messages."""

    async def node(state: Any) -> Any:
        for text in ("One.", "Two."):
            await adispatch_custom_event("copilotkit_manually_emit_message", {"message_id": "m1", "message": text})
        return {}

    return emits(node)
