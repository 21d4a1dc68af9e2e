"""State: shown when it changes and without a copy of the messages; taken from a client for declared keys only."""

from __future__ import annotations

from typing import Any

from copilotkit.langgraph import copilotkit_customize_config, copilotkit_emit_state
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from middle_core.runs.intake.turn import AgentRules
from tests.corpus.case import Script, case, say
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish


@case(
    why="Each node sends the whole state and all messages anew, internal keys too, whether anything has changed or not.", beside=["state"]
)
def changes_only() -> Script:
    """A snapshot comes when the state has changed, also in place, and holds no messages."""

    async def first(state: Any) -> Any:
        return {"plan": "p1", "steps": ["a"]}

    async def second(state: Any) -> Any:
        state["steps"].append("b")
        return {"steps": state["steps"]}

    model = ScriptedModel(turns=[["Done.", finish()]])
    graph = graphs.sequence(state=graphs.WorkState, first=first, second=second, model=graphs.calls(model))
    return Script(graph, [say("go")], [model])


@case(why="A plain chat turn costs two copies of the whole thread.", beside=["state"])
def no_snapshot_where_nothing_differs() -> Script:
    """A turn whose stream tells all needs no snapshot at all."""
    model = ScriptedModel(turns=[["one", finish()], ["two", finish()]])
    return Script(graphs.chat(model), [say("first"), say("second")], [model])


def reports(*keys: str, rules: AgentRules | None = None, **body: Any) -> Script:
    """A node that says what it finds in the state."""
    did: list[str] = []

    async def node(state: Any) -> Any:
        did.extend(f"{key}: {state.get(key)!r}" for key in keys)
        return {}

    return Script(graphs.one_node(node, state=graphs.WorkState), [say("go", **body)], did=did, rules=rules or AgentRules())


@case("CopilotKit/CopilotKit#2179")
def declared_key_from_the_client() -> Script:
    """A key that the agent declares client-writable reaches the graph."""
    return reports("plan", rules=AgentRules(client_writable=frozenset({"plan"})), state={"plan": "mine"})


@case(why="Any key that a client sends becomes graph state: it can set `approved` by itself.")
def undeclared_key_from_the_client() -> Script:
    """A key that is not declared does not reach the graph."""
    return reports("plan", "steps", state={"plan": "planted", "steps": ["approved"]})


@case(why="Forwarded props become graph state.")
def forwarded_props() -> Script:
    """Forwarded props are no state."""
    return reports("plan", forwardedProps={"plan": "planted"})


@case(why="`nodeName` makes a fresh thread go on behind a node, past the approval.")
def forwarded_node_name() -> Script:
    """A client cannot jump over a node."""
    did: list[str] = []

    async def approve(state: Any) -> Any:
        did.append("asked for approval")
        return {"plan": "refused"}

    async def execute(state: Any) -> Any:
        did.append("executed")
        return {}

    builder = StateGraph(graphs.WorkState)
    builder.add_node("approve", approve)
    builder.add_node("execute", execute)
    builder.add_edge(START, "approve")
    builder.add_conditional_edges(
        "approve", lambda state: "execute" if state.get("plan") == "approved" else "__end__", ["execute", "__end__"]
    )
    return Script(graphs.build(builder), [say("go", forwardedProps={"nodeName": "approve"}, state={"plan": "approved"})], did=did)


@case()
def readables_and_tools_of_the_client() -> Script:
    """What CopilotKit's page offers reaches the graph as its middleware expects it."""
    did: list[str] = []

    async def node(state: Any) -> Any:
        offered = state["copilotkit"]
        did.append(f"tools {[one['name'] for one in offered['actions']]}, context {[one['value'] for one in offered['context']]}")
        return {}

    tool = {"name": "paint", "description": "Paint.", "parameters": {"type": "object", "properties": {}}}
    turn = say("go", tools=[tool], context=[{"description": "who", "value": "Ada"}])
    return Script(graphs.one_node(node, state=graphs.WorkState), [turn], did=did)


@case(why="A client's tool takes the name of the server's, and would be called in its place.")
def tool_that_shadows_the_servers() -> Script:
    """A client tool with the name of a server tool is not offered."""
    did: list[str] = []

    async def node(state: Any) -> Any:
        did.extend(one["name"] for one in state["copilotkit"]["actions"])
        return {}

    tools: list[dict[str, Any]] = [{"name": name, "description": "d", "parameters": {}} for name in ("delete", "paint")]
    rules = AgentRules(server_tools=frozenset({"delete"}))
    return Script(graphs.one_node(node, state=graphs.WorkState), [say("go", tools=tools)], did=did, rules=rules)


@case(why="Emitted state is shown as the whole state, with messages and internal keys, and twice.", beside=["state"])
def emitted_state() -> Script:
    """State that a node emits is shown before it returns."""

    async def node(state: Any, config: RunnableConfig) -> Any:
        await copilotkit_emit_state(config, {"plan": "thinking"})
        return {}

    return Script(graphs.one_node(node, state=graphs.WorkState), [say("go")])


@case(why="A result that no tool run made is told in the last snapshot only.", beside=["custom"])
def predicted_state() -> Script:
    """State that is predicted from a call's arguments is announced, and not wiped before the tool has run."""
    model = ScriptedModel(turns=[[call("write"), args('{"plan":'), args('"new"}'), finish("tool_calls")]])
    predict: list[Any] = [{"state_key": "plan", "tool": "write", "tool_argument": "plan"}]

    async def ask(state: Any, config: RunnableConfig) -> Any:
        hinted = copilotkit_customize_config(config, emit_intermediate_state=predict)
        return {"messages": [await model.ainvoke(state["messages"], hinted)]}

    async def write(state: Any) -> Any:
        return {"plan": "new", "messages": [ToolMessage("ok", tool_call_id="call_1", id="t1")]}

    return Script(graphs.sequence(state=graphs.WorkState, ask=ask, write=write), [say("go")], [model])


@case(
    "CopilotKit/CopilotKit#2275",
    why="RUN_ERROR carries the exception's text, and the thread is lost: every later turn fails at the same writes.",
)
def two_nodes_that_write_one_key() -> Script:
    """Parallel nodes that write one key without a reducer fail the run, not the thread: the next turn works."""

    def writes(value: str) -> Any:
        async def node(state: Any) -> Any:
            return {"plan": value} if state["messages"][-1].content == "go" else {}

        return node

    builder = StateGraph(graphs.WorkState)
    for name in ("left", "right"):
        builder.add_node(name, writes(name))
        builder.add_edge(START, name)
    return Script(graphs.build(builder), [say("go"), say("again")])


@case(why="A message that no model streamed is told in the last snapshot only.")
def command_with_state() -> Script:
    """A node may return a Command with messages and state."""

    async def node(state: Any) -> Any:
        return Command(update={"plan": "p", "messages": [AIMessage("By command.", id="a1")]})

    return Script(graphs.one_node(node, state=graphs.WorkState), [say("go")])
