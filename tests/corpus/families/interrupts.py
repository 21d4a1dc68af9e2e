"""Interrupts: the questions a graph asks, by id, answered exactly, withdrawn by other words; and the browser's own tools."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from middle_core.runs.intake.turn import AgentRules
from tests.corpus.case import Script, Turn, answer, case, results, say, send
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish


def asks(*turns: Turn, value: Any = None) -> Script:
    """A node that asks, and does what it is told."""
    did: list[str] = []
    model = ScriptedModel(turns=[["Done.", finish()]])

    async def question(state: Any) -> Any:
        told = interrupt(value or {"message": "sure?", "reason": "delete"})
        did.append(f"told {told!r}")
        return {"messages": [await model.ainvoke("x")]}

    return Script(graphs.one_node(question, name="question"), [say("go"), *turns], did=did)


@case(http=True)
def question() -> Script:
    """A question ends the run with its outcome."""
    return asks()


@case(http=True)
def question_answered() -> Script:
    """An answer reaches the node that asked."""
    return asks(answer({"ok": True}))


@case(
    "CopilotKit/CopilotKit#1590",
    "CopilotKit/CopilotKit#3096",
    why="None fails inside of the SDK (a variable that is not set), and its question stays open.",
)
def falsy_answers() -> Script:
    """Empty answers are answers: each is delivered as it is."""
    did: list[str] = []

    async def questions(state: Any) -> Any:
        for at in range(5):
            told = interrupt({"message": f"question {at}"})
            if len(did) == at:
                did.append(f"told {told!r}")
        return {}

    payloads: list[Any] = [None, "", False, 0, {}]
    return Script(graphs.one_node(questions), [say("go"), *[answer(one) for one in payloads]], did=did)


@case("CopilotKit/CopilotKit#3096")
def answer_in_words() -> Script:
    """An answer may be text."""
    return asks(answer("yes"))


@case()
def answer_cancelled() -> Script:
    """A question that was dismissed tells the graph so, with the sentinel that it knows."""
    return asks(answer(None, cancelled=True))


@case("langchain-ai/langgraph#6626", why="With one question open it takes any id for it, and the node goes on.")
def answer_to_another_question() -> Script:
    """An id that was never asked is refused; the question stays open."""
    return asks(send(resume=[{"interruptId": "0123456789abcdef0123456789abcdef", "status": "resolved", "payload": "yes"}], messages=[]))


def asks_twice(*turns: Turn) -> Script:
    """Two questions open at once, in two nodes."""
    did: list[str] = []

    def node(name: str) -> Any:
        async def ask(state: Any) -> Any:
            did.append(f"{name}: {interrupt({'message': f'{name}?'})!r}")
            return {}

        return ask

    builder = StateGraph(graphs.WorkState)
    for name in ("left", "right"):
        builder.add_node(name, node(name))
        builder.add_edge(START, name)
    return Script(graphs.build(builder), [say("go"), *turns], did=did)


TWO = "With two questions open, every resume ends in RUN_ERROR."


@case("langchain-ai/langgraph#6626", why=TWO)
def two_answers_at_once() -> Script:
    """Two questions, answered together: each answer to its question."""
    return asks_twice(answer("first", "second"))


@case("langchain-ai/langgraph#6626", why=TWO)
def two_answers_one_by_one() -> Script:
    """Two questions, the second answered first: the other stays open."""
    return asks_twice(answer("second", first=1), answer("first"))


@case("CopilotKit/CopilotKit#1991", why="The words are dropped without a sign, and the question is asked again.")
def words_instead_of_an_answer() -> Script:
    """Other words withdraw the question and are answered."""
    model, did = ScriptedModel(turns=[DELETE, ["It is sunny.", finish()]], strict=True), list[str]()
    return Script(approving(model, did), [say("delete X"), say("how is the weather?")], [model], did, RULES)


@case("CopilotKit/CopilotKit#1991", why="The words that come with the answer are dropped.")
def words_with_an_answer() -> Script:
    """An answer and words at once: the answer first, then the words."""
    model, did = ScriptedModel(turns=[DELETE, ["It is gone.", finish()], ["Welcome.", finish()]], strict=True), list[str]()
    return Script(approving(model, did), [say("delete X"), answer("yes", words="thanks")], [model], did, RULES)


@case("CopilotKit/CopilotKit#1809", "ag-ui-protocol/ag-ui#2014", why="A resume starts the call a second time, under the same id.")
def words_after_an_answer() -> Script:
    """Words after an answered question are a new turn."""
    model, did = ScriptedModel(turns=[DELETE, ["It is gone.", finish()], ["Welcome.", finish()]], strict=True), list[str]()
    return Script(approving(model, did), [say("delete X"), answer("yes"), say("thanks")], [model], did, RULES)


RULES = AgentRules(server_tools=frozenset({"delete"}))
DELETE = [call("delete"), args('{"name":'), args('"X"}'), finish("tool_calls")]


def approving(model: ScriptedModel, did: list[str]) -> graphs.Graph:
    """A tool that asks before it deletes, one task for each call."""

    @tool
    async def delete(name: str) -> str:
        """Delete."""
        if interrupt({"message": f"delete {name}?"}) != "yes":
            return "refused"
        did.append(f"deleted {name}")
        return f"{name} is deleted"

    return graphs.sent_tools(model, [delete])


@case(why="The steps of nodes that stopped at a question are reopened and closed at will.", beside=["steps"])
def question_in_a_subgraph() -> Script:
    """A question from a subgraph; its node and the one around it end as interrupted."""

    model = ScriptedModel(turns=[["Done.", finish()]])

    async def ask(state: Any) -> Any:
        interrupt({"message": "deep?"})
        return {"messages": [await model.ainvoke("x")]}

    inner = StateGraph(graphs.WorkState)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    builder = StateGraph(graphs.WorkState)
    builder.add_node("outer", inner.compile())
    builder.add_edge(START, "outer")
    return Script(graphs.build(builder), [say("go"), answer("yes")])


SHOWN = "The snapshot at the question takes away what the subgraph said, and its words are said again after the answer."


def says_and_asks(*turns: Turn) -> Script:
    """A subgraph that says something, whose next node asks; and its model's words after that."""
    thought = AIMessageChunk(content="", additional_kwargs={"reasoning_content": "Three of them."})
    model = ScriptedModel(turns=[[thought, "A, B ", "or C?", finish()], ["Well.", finish()], ["Well.", finish()]], strict=True)

    async def ask(state: Any) -> Any:
        return {"messages": [AIMessage(f"You took {interrupt({'message': 'Which one?'})}.")]}

    inner = StateGraph(graphs.WorkState)
    inner.add_sequence([("say", graphs.calls(model)), ("ask", ask)])
    inner.add_edge(START, "say")
    builder = StateGraph(graphs.WorkState)
    builder.add_node("outer", inner.compile())
    builder.add_edge(START, "outer")
    return Script(graphs.build(builder), turns, [model])


@case(why=SHOWN)
def words_before_a_question_in_a_subgraph() -> Script:
    """What a subgraph has shown stays while it asks, and comes once after the answer."""
    return says_and_asks(say("go"), answer("B"))


@case(why=SHOWN)
def words_before_a_question_that_is_dropped() -> Script:
    """Other words instead of an answer: the model has what the subgraph said."""
    return says_and_asks(say("go"), say("Never mind."))


@case(why="A message that is no text fails the run.")
def question_of_any_shape() -> Script:
    """Whatever a graph asks with is a legal interrupt."""
    return asks(value={"message": {"no": "text"}, "reason": 7})


@case()
def question_with_a_past_expiry() -> Script:
    """An expiry in the past does not reach the browser, where it would lock the thread."""
    return asks(value={"message": "sure?", "reason": "delete", "expiresAt": "2020-01-01T00:00:00Z"})


PICK = [call("pick_colour", call_id="c1"), args('{"of":'), args('"car"}'), finish("tool_calls")]


@case("CopilotKit/CopilotKit#6101")
def tool_of_the_browser() -> Script:
    """A call of the browser's own tool ends the run plainly; its result goes on where the call stands."""
    model = ScriptedModel(turns=[PICK, ["Red it is.", finish()]], strict=True)
    return Script(graphs.chat(model), [say("paint it"), results("red")], [model])


@case("CopilotKit/CopilotKit#2809")
def three_tools_of_the_browser() -> Script:
    """Three calls of browser tools, three results, one run after them."""
    calls = [one for at in range(3) for one in (call("pick", call_id=f"c{at}", index=at), args(f'{{"at":{at}}}', index=at))]
    model = ScriptedModel(turns=[[*calls, finish("tool_calls")], ["All three.", finish()]], strict=True)
    return Script(graphs.chat(model), [say("pick"), results("a", "b", "c")], [model])


@case("langchain-ai/open-swe#1604", why="The call stays without a result, and a strict provider refuses the thread.")
def words_instead_of_a_result() -> Script:
    """Words instead of the browser tool's result: the call is answered for it."""
    model = ScriptedModel(turns=[PICK, ["Never mind.", finish()]], strict=True)
    return Script(graphs.chat(model), [say("paint it"), say("forget it")], [model])
