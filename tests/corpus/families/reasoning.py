"""Reasoning: shown while it comes, whatever a provider calls it, kept apart from the answer, and kept encrypted where it is so."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk

from tests.corpus.case import Script, case, say
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish


def chat(*chunks: Any) -> Script:
    """One answer."""
    model = ScriptedModel(turns=[list(chunks)])
    return Script(graphs.chat(model), [say("go")], [model])


def block(**fields: Any) -> AIMessageChunk:
    """A chunk with one content block."""
    return AIMessageChunk(content=[{"index": 0, **fields}])


def beside(name: str, text: str) -> AIMessageChunk:
    """A chunk with reasoning beside its content."""
    return AIMessageChunk(content="", additional_kwargs={name: text})


SO = AIMessageChunk(content=[{"type": "text", "text": "So.", "index": 1}])


@case("ag-ui-protocol/ag-ui#1251", http=True)
def beside_the_content() -> Script:
    """`reasoning_content` beside the content, as DeepSeek and others send it."""
    return chat(beside("reasoning_content", "I "), beside("reasoning_content", "think."), "So.", finish())


@case("ag-ui-protocol/ag-ui#1251", why="It does not know this place of reasoning.")
def beside_the_content_by_another_name() -> Script:
    """`reasoning` beside the content, as Cerebras and OpenRouter send it."""
    return chat(beside("reasoning", "I "), beside("reasoning", "think."), "So.", finish())


@case("ag-ui-protocol/ag-ui#1251")
def thinking_blocks() -> Script:
    """Blocks of type `thinking`, as Anthropic sends them."""
    return chat(block(type="thinking", thinking="I "), block(type="thinking", thinking="think."), SO)


@case("ag-ui-protocol/ag-ui#1251")
def reasoning_blocks() -> Script:
    """LangChain's own blocks of type `reasoning`."""
    return chat(block(type="reasoning", reasoning="I "), block(type="reasoning", reasoning="think."), SO)


@case("ag-ui-protocol/ag-ui#1251")
def reasoning_content_blocks() -> Script:
    """Blocks of type `reasoning_content`, as Bedrock sends them."""
    return chat(block(type="reasoning_content", reasoning_content={"text": "I think."}), SO)


@case("ag-ui-protocol/ag-ui#1251", why="The parts are two thoughts in the stream and one in the snapshot.")
def summaries() -> Script:
    """Summaries in parts, as OpenAI's Responses API sends them: a paragraph each."""
    parts = [{"type": "summary_text", "text": text, "index": at} for at, text in enumerate(("First.", "Then."))]
    return chat(*[block(type="reasoning", summary=[part]) for part in parts], SO)


@case(why="A signature that comes in a chunk of its own is lost.", beside=["encrypted"])
def signature() -> Script:
    """A signature is kept, so that the provider can be given its own thoughts back."""
    return chat(block(type="thinking", thinking="hm"), block(type="thinking", signature="c2lnbg"), SO)


@case(why="It is lost where no reasoning is open.", beside=["encrypted"])
def redacted() -> Script:
    """Reasoning that is encrypted as a whole is kept."""
    return chat(block(type="redacted_thinking", data="c2VjcmV0"), SO)


@case()
def before_a_call() -> Script:
    """Reasoning ends where a tool call begins."""
    return chat(beside("reasoning_content", "I need data."), call("search"), args('{"q":1}'), finish("tool_calls"))


@case(beside=["order"])
def between_texts() -> Script:
    """Reasoning, text, reasoning, text: two blocks of reasoning, one message."""
    thoughts = [beside("reasoning_content", text) for text in ("First. ", "Then. ")]
    return chat(thoughts[0], "One. ", thoughts[1], "Two.", finish())
