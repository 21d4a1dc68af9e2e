"""The offline model: it works in the same loop as a real model, word by word, and can be stopped between two words."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from middle_core.models.offline.answers import GREETING, NO_TOOLS, THANKS, WHO_I_AM, Ask, Say, next_step
from middle_core.models.offline.model import OfflineModel

TOOLS = frozenset({"search_knowledge", "list_sources", "get_stats"})
SCHEMAS = [
    {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}}
    for name in TOOLS
]
PASSAGES = [
    {
        "title": f"Guide › Part {i}",
        "location": f"guide#{i}",
        "text": f"Passage number {i}. " + "It says a lot about leases and beats. " * 20,
    }
    for i in range(12)
]


def model(pace: float = 0, **more: Any) -> OfflineModel:
    return OfflineModel(words_per_second=pace, **more)


def asked(
    text: str, result: Any = None, *, name: str = "search_knowledge", status: str = "success", before: tuple[BaseMessage, ...] = ()
) -> list[BaseMessage]:
    """A conversation that ends with the question, or with the result of the tool that it needed."""
    messages: list[BaseMessage] = [SystemMessage("You are an agent."), *before, HumanMessage(text)]
    if result is not None:
        content = result if isinstance(result, str) else json.dumps(result)
        messages.append(AIMessage("", tool_calls=[{"id": "c", "name": name, "args": {}, "type": "tool_call"}]))
        messages.append(ToolMessage(content, tool_call_id="c", name=name, status=status))
    return messages


def said(messages: list[BaseMessage], tools: frozenset[str] = TOOLS) -> str:
    step = next_step(messages, tools)
    assert isinstance(step, Say), step
    return step.text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("hi", GREETING), ("Hello there!", GREETING), ("", GREETING), ("Who are you?", WHO_I_AM), ("Are you an AI", WHO_I_AM),
        ("which model are you?", WHO_I_AM), ("thanks a lot!", THANKS),
    ],
)  # fmt: skip
def test_small_talk_needs_no_tool(question: str, words: str) -> None:
    assert said(asked(question)) == words
    assert "offline model" in WHO_I_AM


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("Which documents are there?", "list_sources", {}),
        ("list all sources please", "list_sources", {}),
        ("What's in the knowledge base?", "list_sources", {}),
        ("How many documents and queries are there?", "get_stats", {}),
        ("Show me the statistics", "get_stats", {}),
        ("How is a run stopped?", "search_knowledge", {"query": "run stopped", "k": 5}),
        ("How long does a lease last?", "search_knowledge", {"query": "lease last", "k": 5}),
        ("How many beats fit in a lease?", "search_knowledge", {"query": "many beats fit lease", "k": 5}),
        ("Write a long answer about leases", "search_knowledge", {"query": "leases", "k": 12}),
        ("Explain X-Accel-Buffering in detail", "search_knowledge", {"query": "X-Accel-Buffering", "k": 12}),
        ("Thanks. And how is it stopped?", "search_knowledge", {"query": "Thanks stopped", "k": 5}),
        ("what is it?", "search_knowledge", {"query": "what is it?", "k": 5}),
        ("Was ist ein Lease?", "search_knowledge", {"query": "ist ein Lease", "k": 5}),
        ("hi, how is a run stopped?", "search_knowledge", {"query": "hi run stopped", "k": 5}),
    ],
)
def test_a_question_picks_its_tool(question: str, tool: str, arguments: dict[str, Any]) -> None:
    assert next_step(asked(question), TOOLS) == Ask(tool, arguments)


def test_a_follow_up_without_words_of_its_own_asks_for_more_of_the_same() -> None:
    before = (
        HumanMessage("What about leases?"),
        AIMessage(said(asked("What about leases?", {"query": "leases", "passages": PASSAGES[:5]}))),
    )
    assert next_step(asked("tell me more", before=before), TOOLS) == Ask("search_knowledge", {"query": "leases", "k": 12})
    more = said(asked("tell me more", {"query": "leases", "passages": PASSAGES}, before=before))
    assert "There is more about **leases**" in more
    assert "Passage number 3." in more
    assert "Passage number 0." not in more
    all_said = (
        *before,
        HumanMessage("more"),
        AIMessage("\n".join(said(asked("x", {"query": "leases", "passages": PASSAGES[i : i + 3]})) for i in range(0, 12, 3))),
    )
    assert "quoted all that I find about **leases**" in said(
        asked("tell me more", {"query": "leases", "passages": PASSAGES}, before=all_said)
    )


def test_an_answer_quotes_the_best_passages_with_their_titles() -> None:
    text = said(asked("leases?", {"query": "leases", "passages": PASSAGES}))
    assert text.startswith("This is what the knowledge base says about **leases**:")
    quotes = re.findall(r"^> (.*)$", text, re.MULTILINE)
    assert [q.split(". ")[0] for q in quotes] == ["Passage number 0", "Passage number 1", "Passage number 2"]
    assert all(q.endswith(("…", ".")) for q in quotes)
    assert text.count("— [Guide › Part ") == 3
    assert text.endswith("**Sources**\n\n- [Guide › Part 0]\n- [Guide › Part 1]\n- [Guide › Part 2]")


def test_a_long_answer_has_several_hundred_words() -> None:
    text = said(asked("Write a long answer about leases", {"query": "leases", "passages": PASSAGES}))
    assert len(text.split()) > 500
    assert text.count("— [") == 12


def test_quotations_are_well_formed_markdown() -> None:
    passage = {"title": "A [b] `c` | d\n<e>", "text": "# Head #\nText.\n\n```py\nprint(1)\n" + "x = 1\n" * 500}
    text = said(asked("x?", {"query": "x *y* [z]", "passages": [passage]}))
    assert "about **x y z**" in text
    assert "> **Head**" in text
    assert "- [A b c d e]" in text
    assert sum(line.startswith("> ```") for line in text.splitlines()) == 2, "a code block that was cut is closed"
    assert all(line.startswith(">") for line in text.partition("> ")[2].partition("— [")[0].strip().splitlines()[1:] if line)


@pytest.mark.parametrize(
    ("result", "name", "says"),
    [
        ({"query": "zebras", "passages": []}, "search_knowledge", "found nothing about **zebras**"),
        ({"query": "zebras"}, "search_knowledge", "found nothing about **zebras**"),
        ({"query": "zebras", "passages": [None, {"text": ""}, {"title": "t"}]}, "search_knowledge", "found nothing"),
        ({"total": 2, "sources": [{"name": "One"}, {"name": "Two"}]}, "list_sources", "2 documents:\n\n- One\n- Two"),
        ({"total": 50, "sources": [{"name": f"n{i}"} for i in range(50)]}, "list_sources", "…and 38 more."),
        ({"total": 0, "sources": []}, "list_sources", "no documents"),
        ({"sources": 3, "queries_served": 7, "last_days": []}, "get_stats", "| queries served | 7 |"),
        ({}, "get_stats", "gave no numbers"),
        ({"colour": "red"}, "pick_colour", '`pick_colour` returned:\n\n```json\n{\n  "colour": "red"\n}\n```'),
        ("plain words\nof a tool", "anything", "> plain words\n> of a tool"),
        ("[1, 2]", "anything", "> [1, 2]"),
        (" ", "anything", "The tool returned nothing."),
    ],
)
def test_every_kind_of_result_gets_an_answer(result: Any, name: str, says: str) -> None:
    assert says in said(asked("zebras?", result, name=name))


def test_a_tool_that_failed_is_told_in_its_words() -> None:
    text = said(asked("leases?", "The knowledge service cannot be reached right now.", status="error"))
    assert text == "That did not work. The knowledge service cannot be reached right now."


def test_without_tools_it_says_so_and_pictures_are_not_looked_at() -> None:
    assert said(asked("leases?"), frozenset()) == NO_TOOLS
    picture = HumanMessage(
        [{"type": "text", "text": "who are you?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]
    )
    assert said([picture]).endswith(WHO_I_AM)
    assert "cannot look at pictures" in said([picture])
    assert said([SystemMessage("You are an agent.")]) == GREETING


async def collect(messages: list[BaseMessage], **bound: Any) -> list[AIMessageChunk]:
    chunks = [chunk async for chunk in model().bind_tools(SCHEMAS, **bound).astream(messages)]
    assert all(isinstance(chunk, AIMessageChunk) for chunk in chunks)
    return [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]


async def test_words_stream_one_by_one_and_make_the_text() -> None:
    chunks = await collect(asked("who are you?"))
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert len(texts) == len(WHO_I_AM.split())
    assert "".join(texts) == WHO_I_AM
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].usage_metadata is not None
    assert chunks[-1].usage_metadata["output_tokens"] == -(-len(WHO_I_AM) // 4)
    assert chunks[-1].response_metadata["finish_reason"] == "stop"


async def test_a_tool_call_streams_in_pieces_and_its_id_is_never_used_again() -> None:
    wholes = []
    for _ in range(2):
        chunks = await collect(asked("How is a run stopped?"))
        assert sum(bool(chunk.tool_call_chunks) for chunk in chunks) > 3
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole = whole + chunk
        wholes.append(whole)
    assert [[(c["name"], c["args"]) for c in whole.tool_calls] for whole in wholes] == [
        [("search_knowledge", {"query": "run stopped", "k": 5})]
    ] * 2
    assert wholes[0].tool_calls[0]["id"] != wholes[1].tool_calls[0]["id"]
    assert wholes[0].response_metadata["finish_reason"] == "tool_calls"


async def test_tools_without_a_rule_are_ignored_and_none_may_be_called_where_the_caller_says_so() -> None:
    other = [{"type": "function", "function": {"name": "paint", "description": "", "parameters": {"type": "object", "properties": {}}}}]
    assert (await model().bind_tools(other).ainvoke(asked("paint it"))).text == NO_TOOLS
    assert (await model().bind_tools(SCHEMAS, tool_choice="none").ainvoke(asked("leases?"))).text == NO_TOOLS


async def test_streamed_and_whole_synchronous_and_asynchronous_answers_are_the_same() -> None:
    bound = model().bind_tools(SCHEMAS)
    messages = asked("leases?", {"query": "leases", "passages": PASSAGES})
    streamed = "".join([chunk.text async for chunk in bound.astream(messages)])
    assert (
        streamed == (await bound.ainvoke(messages)).text == bound.invoke(messages).text == "".join(c.text for c in bound.stream(messages))
    )


async def test_stop_words_end_the_text() -> None:
    assert (await model().ainvoke(asked("who are you?"), stop=["**offline", "without"])).text == WHO_I_AM.partition("**offline")[0]


@pytest.mark.parametrize("pace", [0, 5])
async def test_a_cancelled_stream_is_closed_at_once(pace: float) -> None:
    ended: list[str] = []
    first = asyncio.Event()

    async def read() -> None:
        async for _ in model(pace, on_stream_end=ended.append).astream(asked("who are you?")):
            first.set()

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        reader = group.create_task(read())
        await first.wait()
        assert ended == []
        reader.cancel()
    assert ended == ["stopped"]


async def test_a_stream_that_nobody_reads_on_is_closed_and_one_read_to_the_end_is_finished() -> None:
    ended: list[str] = []
    stream = model(on_stream_end=ended.append)._astream(asked("hi"))
    assert isinstance(stream, AsyncGenerator)
    async with aclosing(stream):
        await anext(stream)
    assert ended == ["stopped"]
    await model(on_stream_end=ended.append).ainvoke(asked("hi"))
    assert ended == ["stopped"], "nothing was streamed"
    assert [chunk.text async for chunk in model(on_stream_end=ended.append).astream(asked("hi"))]
    assert ended == ["stopped", "finished"]


async def test_the_pace_is_words_per_second() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    count = len([chunk async for chunk in model(400).astream(asked("who are you?")) if chunk.text])
    assert loop.time() - began >= 0.9 * count / 400
    assert OfflineModel().model_name == "offline"
    assert 60 <= OfflineModel().words_per_second <= 100
