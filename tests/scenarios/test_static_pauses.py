"""A graph compiled with `interrupt_before` or `interrupt_after`: its pause is a question, and the node behind it can run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.fakes.stack import Reader, Stack, run_input, stack, user


def planned(**options: Any) -> Any:
    """Two nodes, and a pause between them by the options."""
    builder = StateGraph(MessagesState)
    builder.add_node("plan", lambda state: {"messages": [AIMessage("I will do it.")]})
    builder.add_node("danger", lambda state: {"messages": [AIMessage("Done.")]})
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "danger")
    builder.add_edge("danger", END)
    return builder.compile(**options)


def within(inner: Any) -> Any:
    """The graph as a node of another."""
    builder = StateGraph(MessagesState)
    builder.add_node("outer", inner)
    builder.add_edge(START, "outer")
    return builder


GRAPHS = {
    "before": lambda: planned(interrupt_before=["danger"]),
    "after": lambda: planned(interrupt_after=["plan"]),
    "in a subgraph": lambda: within(planned(interrupt_before=["danger"])),
}


async def run(server: Stack, body: dict[str, Any]) -> Reader:
    async with server.stream("POST", "/copilotkit", body=body) as reader:
        return await reader.rest()


def asked(reader: Reader) -> dict[str, Any]:
    [question] = reader.events[-1]["outcome"]["interrupts"]
    return dict(question)


async def answer(server: Stack, question: dict[str, Any], payload: Any, status: str = "resolved") -> Reader:
    return await run(server, run_input(resume=[{"interruptId": question["id"], "status": status, "payload": payload}]))


@pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS)
async def test_the_pause_is_told_and_the_person_lets_it_go_on(build: Any, tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": build}) as server:
        paused = await run(server, run_input(user("do it")))
        question = asked(paused)
        assert question["message"] == "The agent paused before “danger”. Go on?"
        assert paused.text == "I will do it."
        assert (await server.get("/threads/t1")).json()["lastRun"]["status"] == "interrupted"
        async with server.connect() as opened:
            await opened.rest()
        assert asked(opened) == question
        done = await answer(server, question, True)
        assert "Done." in done.text
        assert "outcome" not in done.events[-1]
        again = await answer(server, question, True)
        assert "Done." not in again.text


@pytest.mark.parametrize(("payload", "status"), [(False, "resolved"), (None, "cancelled")])
async def test_a_person_who_says_no_ends_it(payload: Any, status: str, tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": GRAPHS["before"]}) as server:
        question = asked(await run(server, run_input(user("do it"))))
        ended = await answer(server, question, payload, status)
        assert (ended.text, ended.events[-1].get("outcome")) == ("", None)
        assert (await answer(server, question, True)).text != "Done."
        assert asked(await run(server, run_input(user("again"))))["id"] != question["id"]


async def test_a_message_instead_of_an_answer_withdraws_the_pause(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": GRAPHS["before"]}) as server:
        question = asked(await run(server, run_input(user("do it"))))
        spoken = await run(server, run_input(user("something else")))
        assert asked(spoken)["id"] != question["id"]
        assert "Done." not in spoken.text


async def test_each_pause_of_a_graph_that_stops_everywhere_is_a_question_of_its_own(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: within(planned(interrupt_before="*"))}) as server:
        first = asked(await run(server, run_input(user("do it"))))
        second = asked(await answer(server, first, True))
        assert ("plan" in first["message"], "danger" in second["message"]) == (True, True)
        assert "Done." in (await answer(server, second, True)).text
