"""Orders to the offline model: plain words reach each of the copilot's cards, and a question is not an order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from middle_core.agents.knowledge_copilot.prompts import system_prompt
from middle_core.models.offline.answers import Ask, Say, next_step
from middle_core.models.offline.orders import RULES, order_of

TOOLS = frozenset({"search_knowledge", "list_sources", "get_stats", "delete_source"} | {tool for tool, _, _ in RULES})


@pytest.mark.parametrize(
    ("sentence", "tool", "arguments"),
    [
        (
            "add this text to the knowledge base: Otters sleep. They hold hands: always.",
            "ingest_source",
            {"text": "Otters sleep. They hold hands: always."},
        ),
        ("Add a note called “Otters” to the knowledge base:\n\nThey sleep.", "ingest_source", {"text": "They sleep.", "title": "Otters"}),
        ("please ingest: x", "ingest_source", {"text": "x"}),
        ("ingest https://example.com/a?b=c#d.", "ingest_source", {"url": "https://example.com/a?b=c#d"}),
        ("Add https://example.com to the knowledge base", "ingest_source", {"url": "https://example.com"}),
        ("show the cockpit", "cockpit_metrics", {}),
        ("Show me the metrics, please", "cockpit_metrics", {}),
        ("dashboard", "cockpit_metrics", {}),
        ("filter the table to stream", "filter_sources", {"text": "stream"}),
        ("Filter the sources by “tokens”.", "filter_sources", {"text": "tokens"}),
        ("filter for approvals", "filter_sources", {"text": "approvals"}),
        ("clear the filter", "filter_sources", {"text": ""}),
        ("search only in Streams and Stop, at once", "select_sources", {"names": ["Streams", "Stop", "at once"]}),
        ("limit the search to Streams.", "select_sources", {"names": ["Streams"]}),
        ("search everywhere", "select_sources", {"names": []}),
        ("list the sources", "list_sources", {}),
        ("Which sources mention approvals?", "search_knowledge", {"query": "approvals", "k": 12}),
        ("How many sources are there?", "get_stats", {}),
        ("delete the source Streams", "list_sources", {}),
        ("Please delete “Streams”.", "list_sources", {}),
        ("remove the document Streams", "list_sources", {}),
        (
            "Make a plan to tidy up",
            "confirm_plan",
            {"goal": "tidy up", "steps": ["List what is there", "Look for what is missing", "Say what to do next"]},
        ),
    ],
)
def test_what_is_said_becomes_the_call_that_it_asks_for(sentence: str, tool: str, arguments: dict[str, Any]) -> None:
    assert next_step([HumanMessage(sentence)], TOOLS) == Ask(tool, arguments)


@pytest.mark.parametrize(
    "question",
    [
        "How do I add a source?",
        "What is the cockpit good for?",
        "Can I filter events?",
        "Who may delete a source?",
        "How is a URL such as https://x.example fetched?",
        "Which roles may add documents: all?",
    ],
)
def test_a_question_is_no_order(question: str) -> None:
    assert order_of(question, TOOLS) is None


def test_an_order_for_a_tool_that_is_not_there_is_a_question() -> None:
    step = next_step([HumanMessage("filter the table to stream")], frozenset({"search_knowledge"}))
    assert isinstance(step, Ask)
    assert step.tool == "search_knowledge"


def after(sentence: str, tool: str, result: dict[str, Any], *, named: bool = True) -> str:
    """What the model says after the tool's result. A result from the page does not carry the tool's name."""
    messages: list[BaseMessage] = [
        HumanMessage(sentence),
        AIMessage("", tool_calls=[{"id": "c", "name": tool, "args": {}, "type": "tool_call"}]),
        ToolMessage(json.dumps(result), tool_call_id="c", name=tool if named else None),
    ]
    step = next_step(messages, TOOLS)
    assert isinstance(step, Say)
    return step.text


@pytest.mark.parametrize(
    ("tool", "result", "says"),
    [
        ("ingest_source", {"status": "done", "name": "Otters", "passages": 1}, "**Otters** is in the knowledge base now, with 1 passage."),
        ("ingest_source", {"status": "running", "job": "j"}, "still being added"),
        ("select_sources", {"selected": [{"id": "a", "name": "Streams"}]}, "only in these sources:\n\n- Streams"),
        ("select_sources", {"selected": []}, "in all sources again"),
        ("confirm_plan", {"goal": "x", "steps": ["look", "leap"]}, "that we agreed on:\n\n1. look\n2. leap"),
        ("cockpit_metrics", {"sources": 3, "passages": 9, "queries_served": 1, "jobs_running": 1}, "**3** sources with **9** passages"),
        ("list_sources", {"total": 2, "sources": [{"name": "0001. One"}, {"name": "Two"}]}, "- 0001\\. One\n- Two"),
        ("search_knowledge", {"query": "x", "limited_to": ["a", "b"], "passages": []}, "nothing about **x** in the 2 selected sources"),
    ],
)
def test_every_result_is_put_into_words(tool: str, result: dict[str, Any], says: str) -> None:
    assert says in after("go", tool, result)


def test_a_source_is_looked_up_by_its_name_and_deleted_by_its_id() -> None:
    listed = {"total": 2, "sources": [{"id": "s-1", "name": "Streams"}, {"id": "s-2", "name": "Streams and stops"}]}

    def step(order: str, *more: BaseMessage) -> Ask | Say:
        called = AIMessage("", tool_calls=[{"id": "c", "name": "list_sources", "args": {}, "type": "tool_call"}])
        return next_step([HumanMessage(order), called, ToolMessage(json.dumps(listed), tool_call_id="c"), *more], TOOLS)

    assert step("delete streams") == Ask("delete_source", {"source_id": "s-1", "reason": "You asked for it."})
    assert step("delete and stops") == Ask("delete_source", {"source_id": "s-2", "reason": "You asked for it."})
    assert step("delete s-2") == Ask("delete_source", {"source_id": "s-2", "reason": "You asked for it."})
    assert step("delete stream") == Say("I find several sources called **stream**. Say its whole name.")
    assert step("delete zebras") == Say("I find no source called **zebras**. Say its whole name.")
    call = AIMessage("", tool_calls=[{"id": "d", "name": "delete_source", "args": {"source_id": "s-1"}, "type": "tool_call"}])
    assert step("delete streams", call, ToolMessage('{"name": "Streams"}', tool_call_id="d")) == Say("**Streams** is deleted.")
    assert step("delete streams", call, ToolMessage("The user said no.", tool_call_id="d")) == Say("The user said no.")


def test_the_pages_own_tool_answers_under_the_id_of_its_call() -> None:
    assert after("filter", "filter_sources", {"filter": "stream", "shown": 2, "total": 9}, named=False).startswith(
        "The table now shows 2 of 9"
    )
    assert "all 9 sources again" in after("filter", "filter_sources", {"filter": "", "shown": 9, "total": 9}, named=False)
    assert "no table of sources" in after("filter", "filter_sources", {"error": "none"}, named=False)


def test_which_sources_mention_something_names_each_source_once() -> None:
    passages = [{"title": title, "text": "x"} for title in ("Streams › Heartbeats", "Streams › Cursor", "Stop")]
    said = after("Which sources mention cursors?", "search_knowledge", {"query": "cursors", "passages": passages})
    assert said == "These sources mention **cursors**:\n\n- [Streams]\n- [Stop]"


def test_it_tells_what_the_page_shares() -> None:
    shared = "\n".join(
        json.dumps({"description": d, "value": v}) for d, v in (("Selected sources", "Streams"), ("Open", "the sources table"))
    )
    step = next_step([SystemMessage(system_prompt(shared)), HumanMessage("What am I looking at?")], TOOLS)
    assert step == Say("This is what the page tells me:\n\n- **Selected sources**: Streams\n- **Open**: the sources table")
    assert next_step([SystemMessage(system_prompt("")), HumanMessage("What am I looking at?")], TOOLS) == Say(
        "The page shares nothing with me right now."
    )
