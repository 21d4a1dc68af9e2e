"""LangChain's own HumanInTheLoopMiddleware: its questions reach a page as actions, and any answer that a person can give is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.stack import Reader, Stack, run_input, stack, user

DELETE = call("delete", {"thing": "a"}, call_id="c1", index=0)
BOTH = [DELETE, call("mail", {"to": "x"}, call_id="c2", index=1)]


class Office:
    """Two tools with effects, and what was done."""

    def __init__(self, *calls: Any, mode: Any = "batched") -> None:
        self.done: list[str] = []
        self.model = ScriptedModel(turns=[[*calls, finish("tool_calls")], ["Done.", finish()]], strict=True)

        @tool
        async def delete(thing: str) -> str:
            """Delete a thing."""
            self.done.append(f"delete {thing}")
            return "deleted"

        @tool
        async def mail(to: str) -> str:
            """Send a mail."""
            self.done.append(f"mail {to}")
            return "sent"

        gate = HumanInTheLoopMiddleware(interrupt_on={"delete": True, "mail": True}, interrupt_mode=mode)
        self.agent = create_agent(self.model, [delete, mail], middleware=[gate])


async def ask(server: Stack) -> list[dict[str, Any]]:
    asked = await run(server, run_input(user("do it")))
    return [dict(one) for one in asked.events[-1]["outcome"]["interrupts"]]


async def run(server: Stack, body: dict[str, Any]) -> Reader:
    async with server.stream("POST", "/copilotkit", body=body) as reader:
        return await reader.rest()


async def answer(server: Stack, payload: Any, *questions: dict[str, Any], status: str = "resolved") -> Reader:
    return await run(server, run_input(resume=[{"interruptId": one["id"], "status": status, "payload": payload} for one in questions]))


@pytest.mark.parametrize(
    ("payload", "done"),
    [
        ({"decisions": [{"type": "approve"}, {"type": "reject"}]}, ["delete a"]),
        ({"decisions": [{"type": "reject"}, {"type": "edit", "edited_action": {"name": "mail", "args": {"to": "y"}}}]}, ["mail y"]),
        ("yes", ["delete a", "mail x"]),
        (True, ["delete a", "mail x"]),
        ("no", []),
        ("not before noon", []),
    ],
)
async def test_two_actions_are_decided_together(payload: Any, done: list[str], tmp_path: Path) -> None:
    office = Office(*BOTH)
    async with stack(tmp_path, agents={"default": lambda: office.agent}) as server:
        [question] = await ask(server)
        [delete, mail] = question["metadata"]["middleCoreReview"]["actions"]
        assert (delete["name"], delete["args"], mail["args"]) == ("delete", {"thing": "a"}, {"to": "x"})
        assert set(delete["allowed"]) >= {"approve", "edit", "reject"}
        assert question["message"] == "May delete, mail be done?"
        ended = await answer(server, payload, question)
        assert (ended.text, ended.types[-1]) == ("Done.", "RUN_FINISHED")
    assert sorted(office.done) == done
    told = "".join(str(one.content) for one in office.model.seen[1] if isinstance(one, ToolMessage))
    assert ("before noon" in told) == (payload == "not before noon")


async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(tmp_path: Path) -> None:
    office = Office(*BOTH)
    async with stack(tmp_path, agents={"default": lambda: office.agent}) as server:
        [question] = await ask(server)
        refused = await answer(server, {"decisions": [{"type": "approve"}]}, question)
        assert (refused.events[-1]["code"], "2 are needed" in refused.events[-1]["message"]) == ("invalid_request", True)
        assert office.done == []
        assert (await answer(server, True, question)).text == "Done."
    assert len(office.done) == 2


async def test_a_cancelled_question_rejects_and_a_message_withdraws(tmp_path: Path) -> None:
    office = Office(DELETE)
    async with stack(tmp_path, agents={"default": lambda: office.agent}) as server:
        [question] = await ask(server)
        assert (await answer(server, None, question, status="cancelled")).text == "Done."
    assert office.done == []
    office = Office(DELETE)
    async with stack(tmp_path, agents={"default": lambda: office.agent}) as server:
        [question] = await ask(server)
        body = run_input(user("leave it"), resume=[{"interruptId": question["id"], "status": "cancelled"}])
        assert (await run(server, body)).text == "Done."
    assert office.done == []


async def test_a_question_for_each_call_is_answered_by_its_own_decision(tmp_path: Path) -> None:
    office = Office(*BOTH, mode="per_call")
    async with stack(tmp_path, agents={"default": lambda: office.agent}) as server:
        questions = await ask(server)
        by_name = {one["metadata"]["middleCoreReview"]["actions"][0]["name"]: one for one in questions}
        assert set(by_name["mail"]["metadata"]["middleCoreReview"]["actions"][0]["allowed"]) >= {"approve", "edit", "reject"}
        await answer(server, {"decisions": [{"type": "reject"}]}, by_name["delete"])
        assert (await answer(server, "yes", by_name["mail"])).text == "Done."
    assert office.done == ["mail x"]
