"""A graph's question, at the pages that are deployed: asked by CUSTOM `on_interrupt`, answered by a command, once.

`hook` is what `useInterrupt` and `useLangGraphInterrupt` of react-core 1.74 do with a stream, in short: an outcome wins, else the last
CUSTOM event; of an interrupt of the outcome only the protocol's fields are left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from middle_core.agents.registry import AgentSpec
from tests.fakes.stack import Reader, Stack, run_input, stack, user
from tests.scenarios.agents import tool_agent
from tests.scenarios.hitl import Shelf, cards, deleting

pytestmark = pytest.mark.both_stores

NEW_PAGE = {"middleCore": {"interrupts": "outcome"}}
OLD_PAGE = {"middleCore": {"interrupts": "custom"}}
_FIELDS = ("id", "reason", "message", "toolCallId", "responseSchema", "expiresAt", "metadata")


def hook(reader: Reader) -> list[Any]:
    """The values that the page's hook hands to its card."""
    outcome = reader.events[-1].get("outcome") or {}
    if outcome.get("type") == "interrupt":
        return [{key: one[key] for key in _FIELDS if key in one} for one in outcome["interrupts"]]
    return [event["value"] for event in reader.events if event.get("name") == "on_interrupt"][-1:]


async def ask(state: MessagesState) -> dict[str, Any]:
    choice = interrupt({"message": "Which city?", "steps": ["Rome", "Oslo"]})
    return {"messages": [AIMessage(f"Booked {choice}")]}


async def tool(state: MessagesState) -> dict[str, Any]:
    calls = [{"name": "find", "args": {}, "id": "call-1", "type": "tool_call"}]
    return {"messages": [AIMessage("", tool_calls=calls), ToolMessage("2 cities", tool_call_id="call-1", name="find")]}


async def said(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Let me ask.")]}


NODES = {"tool": tool, "said": said, "ask": ask, "ask again": ask}


def graph(*names: str) -> Any:
    """The nodes, one after the other."""
    builder = StateGraph(MessagesState)
    for before, name in zip((START, *names), names, strict=False):
        builder.add_node(name, NODES[name])
        builder.add_edge(before, name)
    builder.add_edge(names[-1], END)
    return builder


async def run(server: Stack, body: dict[str, Any]) -> Reader:
    async with server.stream("POST", "/copilotkit", body=body) as reader:
        return await reader.rest()


async def history(server: Stack) -> list[dict[str, Any]]:
    """What a page that shows the thread replays."""
    async with server.connect() as opened:
        await opened.rest()
    shown: list[dict[str, Any]] = [event for event in opened.events if event["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]
    return [one for one in shown if one["role"] != "activity"]


async def words(server: Stack) -> list[tuple[str, str]]:
    return [(one["role"], one.get("content", "")) for one in await history(server)]


@pytest.mark.parametrize("legacy", [True, False], ids=["agent", "page"])
@pytest.mark.parametrize("before", [(), ("said",), ("tool",)], ids=["after the user", "after an answer", "after a tool"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "bare"])
async def test_a_command_with_the_whole_history_answers_once(before: tuple[str, ...], legacy: bool, named: bool, tmp_path: Path) -> None:
    spec = AgentSpec(graph=graph(*before, "ask"), legacy_interrupts=legacy)
    props = {} if legacy else OLD_PAGE
    async with stack(tmp_path, agents={"default": lambda: spec}) as server:
        asked = await run(server, run_input(user("Book a city", "u1"), forwardedProps=props))
        [question] = hook(asked)
        command = {"resume": "Rome", **({"interruptEvent": question} if named else {})}
        done = await run(server, run_input(*await history(server), forwardedProps={**props, "command": command}))
        assert done.text == "Booked Rome"
        assert hook(done) == []
        again = await run(server, run_input(*await history(server), forwardedProps={**props, "command": command}))
        assert "Booked" not in again.text, "a second click answers nothing and starts nothing"
        shown = await words(server)
    assert [role for role, _ in shown].count("user") == 1
    assert shown[-1] == ("assistant", "Booked Rome")


async def test_an_old_page_reads_the_graphs_own_keys_live_and_after_a_reload(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: graph("ask")}) as server:
        asked = await run(server, run_input(user("Book"), forwardedProps=OLD_PAGE))
        [question] = hook(asked)
        assert (question["steps"], question["message"]) == (["Rome", "Oslo"], "Which city?")
        assert question["metadata"]["langgraph"]["raw"]["steps"] == ["Rome", "Oslo"], "where a page of AG-UI 1.0 reads it"
        async with server.stream("POST", "/copilotkit/connect", body=run_input(forwardedProps=OLD_PAGE)) as opened:
            await opened.rest()
        assert hook(opened) == [question]
        assert asked.events[-1]["type"] == opened.events[-1]["type"] == "RUN_FINISHED"


async def test_a_page_of_the_protocol_is_asked_in_the_outcome(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: graph("ask")}) as server:
        for props in ({}, NEW_PAGE):
            asked = await run(server, run_input(user("Book"), thread=f"t{len(props)}", forwardedProps=props))
            [question] = hook(asked)
            assert question["metadata"]["langgraph"]["raw"]["steps"] == ["Rome", "Oslo"]
            assert "on_interrupt" not in asked.types
            resume = [{"interruptId": question["id"], "status": "resolved", "payload": "Oslo"}]
            done = await run(server, run_input(thread=f"t{len(props)}", resume=resume, forwardedProps=props))
            assert done.text == "Booked Oslo"


async def test_two_questions_of_one_node_after_the_other_take_an_answer_each(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: graph("ask", "ask again")}) as server:
        [first] = hook(await run(server, run_input(user("Book"), forwardedProps=OLD_PAGE)))
        answer = {"command": {"resume": "Rome", "interruptEvent": first}}
        asked = await run(server, run_input(*await history(server), forwardedProps={**OLD_PAGE, **answer}))
        assert asked.text == "Booked Rome"
        await run(server, run_input(*await history(server), forwardedProps={**OLD_PAGE, **answer}))
        assert [text for role, text in await words(server) if role == "assistant"] == ["Booked Rome"], "a late click is to the first"
        [second] = hook(asked)
        answer = {"command": {"resume": "Oslo", "interruptEvent": second}}
        done = await run(server, run_input(*await history(server), forwardedProps={**OLD_PAGE, **answer}))
        assert done.text == "Booked Oslo"


async def test_cards_come_one_at_a_time_and_each_is_approved_for_itself(tmp_path: Path) -> None:
    shelf = Shelf()
    agent = tool_agent(deleting("a", "b"), [shelf.tool()])
    async with stack(tmp_path, agents={"default": lambda: agent}) as server:
        asked = await run(server, run_input(user("delete both"), forwardedProps=OLD_PAGE))
        assert asked.types.count("on_interrupt") == 1
        for left in (1, 0):
            [card] = hook(asked)
            answer = {"command": {"resume": {"approved": True}, "interruptEvent": card}}
            asked = await run(server, run_input(*await history(server), forwardedProps={**OLD_PAGE, **answer}))
            assert asked.types.count("on_interrupt") == left
        assert cards(asked) == []
    assert sorted(thing for thing, _ in shelf.done) == ["a", "b"]
