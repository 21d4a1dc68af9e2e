"""Texts: what a model or a node says becomes one message, whole, under the id that the thread keeps."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from tests.corpus.case import Script, case, say
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, call, finish


def chat(*turns: list[Any], streams: bool = True) -> Script:
    """A plain chat, one `say` for each turn of the model."""
    model = ScriptedModel(turns=list(turns), streams=streams)
    return Script(graphs.chat(model), [say(f"say {at}") for at in range(1, len(turns) + 1)], [model])


@case(http=True)
def deltas() -> Script:
    """Deltas of a model are one message."""
    return chat(["Hel", "lo", finish()])


@case()
def two_turns() -> Script:
    """A second turn is a second message, and the model sees the first."""
    return chat(["one", finish()], ["two", finish()])


@case(beside=["usage"])
def usage_of_two_answers() -> Script:
    """What a run costs stands on its end, summed for each model."""
    first, second = (ScriptedModel(turns=[[text, finish(tokens_in=10, tokens_out=at)]]) for at, text in enumerate(("a", "b"), 1))
    return Script(graphs.sequence(first=graphs.calls(first), second=graphs.calls(second)), [say("go")], [first, second])


@case(why="It leaves at the finish_reason and drops the text that stands beside it.")
def text_on_the_finishing_chunk() -> Script:
    """Text that comes with the finish reason is said."""
    return chat(["hello ", finish(content="world")])


@case(why="It reads the first text block of a chunk only.")
def several_text_blocks_in_a_chunk() -> Script:
    """All text blocks of a chunk are said."""
    return chat([AIMessageChunk(content=[{"type": "text", "text": "one ", "index": 0}, {"type": "text", "text": "two", "index": 1}])])


@case()
def text_blocks_one_by_one() -> Script:
    """Text blocks in chunks of their own are one message."""
    return chat([AIMessageChunk(content=[{"type": "text", "text": text, "index": 0}]) for text in ("one ", "two")])


@case(why="A refusal is no text to it: nothing is streamed.")
def refusal() -> Script:
    """A refusal is what the person is told."""
    return chat([AIMessageChunk(content="", additional_kwargs={"refusal": "I cannot."}), finish()])


@case(why="It knows no picture in an answer.")
def picture_in_an_answer() -> Script:
    """A picture that a model makes is told as Markdown."""
    picture = AIMessageChunk(content=[{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}, "index": 1}])
    return chat([AIMessageChunk(content=[{"type": "text", "text": "see ", "index": 0}]), picture])


@case("api7/aisix#111", http=True)
def every_kind_of_character() -> Script:
    """Characters that break naive parsers arrive as they are."""
    return chat(["你", "🌍", "é", "a\u0085b\u2028c\u2029d", "\r\n\t", "data: x\n\nid: 1\n\n", finish()])


@case(why="A model that does not stream is told in the last snapshot only.")
def model_that_cannot_stream() -> Script:
    """A model that answers at once speaks as well."""
    return chat(["whole ", "answer", finish()], streams=False)


@case(why="A message that no model streamed is told in the last snapshot only.")
def node_without_a_model() -> Script:
    """A message that a node returns is told when the node ends."""
    said = AIMessage("by hand", id="a1", tool_calls=[{"name": "search", "args": {"q": 1}, "id": "c1"}])
    return Script(graphs.says(said, ToolMessage("found", tool_call_id="c1", id="t1")), [say("go")])


@case(why="A message that no model streamed is told in the last snapshot only.")
def message_in_another_form() -> Script:
    """A node may return a tuple or a dict for a message."""
    forms: list[Any] = [("assistant", "tuple"), {"role": "assistant", "content": "dict"}]
    return Script(graphs.one_node(lambda state: {"messages": forms}), [say("go")])


@case(why="The repeated id makes the second answer overwrite the first: add_messages replaces by id.")
def message_id_used_again() -> Script:
    """A provider that gives every answer the same id does not overwrite the thread."""
    return chat(*[[AIMessageChunk(content=text, id="msg_1"), finish()] for text in ("one", "two")])


@case(why="It streams under an empty id.", beside=["nameless"])
def empty_message_id() -> Script:
    """A provider that sends an empty id: the message has one all the same."""
    return chat([AIMessageChunk(content="x", id=""), finish()])


@case("zonlabs/mcp-ts#84", beside=["ids"])
def provider_id_in_the_first_chunk_only() -> Script:
    """An id that only the first chunk has is the message's id, in the stream and in the thread."""
    return chat([AIMessageChunk(content=text, id=one) for text, one in zip("abc", ("msg_a", None, None), strict=True)])


@case(
    "zonlabs/mcp-ts#84",
    why="It streams under one id and the thread keeps another: until the snapshot comes, the message is there twice.",
    beside=["ids"],
)
def provider_id_that_comes_late() -> Script:
    """An id that comes late does not make a second message."""
    return chat([AIMessageChunk(content=text, id=one) for text, one in zip("abc", (None, None, "msg_a"), strict=True)])


@case("zonlabs/mcp-ts#84", beside=["ids"])
def provider_id_that_changes() -> Script:
    """An id that changes from chunk to chunk does not make a second message."""
    return chat([AIMessageChunk(content=text, id=one) for text, one in zip("abc", ("msg_a", "msg_b", ""), strict=True)])


@case(beside=["order"])
def sync_node_and_sync_model() -> Script:
    """A node that runs in a thread streams as well."""
    model = ScriptedModel(turns=[["from ", "a ", "thread", finish()]])
    return Script(graphs.one_node(lambda state: {"messages": [model.invoke(state["messages"])]}), [say("go")], [model])


@case()
def node_that_streams_its_model_itself() -> Script:
    """A node may call `astream` and join the chunks."""
    model = ScriptedModel(turns=[["by ", "astream", finish()]])

    async def node(state: Any) -> Any:
        whole: Any = None
        async for chunk in model.astream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    return Script(graphs.one_node(node), [say("go")], [model])


@case(why="The half that broke off has no end: what follows is appended to it.")
def model_with_a_fallback() -> Script:
    """A model breaks off and its fallback answers: the half is ended, and is not part of the thread."""
    broken, backup = ScriptedModel(turns=[["half", RuntimeError("cut")]]), ScriptedModel(turns=[["whole", finish()]])

    async def node(state: Any) -> Any:
        return {"messages": [await broken.with_fallbacks([backup]).ainvoke(state["messages"])]}

    return Script(graphs.one_node(node), [say("go")], [broken, backup])


@case()
def answer_of_nothing() -> Script:
    """A model that says nothing is told as one that ended without an answer."""
    return chat([AIMessageChunk(content=""), finish()])


@case(why="Text that comes after a call has begun is dropped, and so are arguments that come with a name.")
def text_before_beside_and_after_a_call() -> Script:
    """Text around a tool call is one message, which holds the call."""
    return chat(["Let me ", call("search", {"q": 1}, content="look"), "!", finish("tool_calls")])
