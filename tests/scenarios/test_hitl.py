"""Approvals over the AG-UI door, by both of CopilotKit's ways: what a person says happens once, and nothing else happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.agui_verify import verify_streams
from tests.fakes.models import ScriptedModel
from tests.fakes.stack import stack
from tests.scenarios.agents import tool_agent
from tests.scenarios.hitl import CHANNELS, Person, Shelf, cards, deleting, resolved, results

both = pytest.mark.parametrize("channel", CHANNELS)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def agents(model: ScriptedModel, *tools: Any) -> dict[str, Any]:
    return {"default": lambda: tool_agent(model, tools)}


@both
async def test_an_approved_action_is_done_once(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    model = deleting("a")
    async with stack(tmp_path, agents=agents(model, shelf.tool())) as server:
        person = Person(server, channel)
        asked = await person.say("delete alpha")
        [card] = cards(asked)
        assert (card["title"], card["confirm"], card["danger"]) == ("Delete Alpha?", "Delete permanently", True)
        assert card["facts"] == [{"label": "Name", "value": "Alpha"}, {"label": "Id", "value": "a"}]
        assert card["fromModel"] == {"thing_id": "a"}
        assert card["toolCallId"] == "call-a"
        assert card["answerBy"] - card["askedAt"] == server.settings.approval_ttl_s * 1000
        assert "expiresAt" not in asked.raw.decode()
        assert shelf.done == []
        status = (await server.get("/threads/t1")).json()
        assert (status["running"], status["lastRun"]["status"]) == (False, "interrupted")
        done = await person.approve(card)
        assert done.text == "done"
        assert resolved(done) == [(card["interruptId"], "approved"), (card["interruptId"], "executed")]
        assert results(await server.history()) == {"call-a": "deleted a"}
    assert shelf.done == [("a", f"approval-{card['interruptId']}")]
    verdicts = await verify_streams([bytes(asked.raw), bytes(done.raw)])
    assert [one.error for one in verdicts] == [None, None]
    assert len(verdicts[0].pending_interrupts) == (channel == "interrupt")


@both
async def test_a_rejected_action_is_not_done_and_the_model_is_told_why(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    model = deleting("a")
    async with stack(tmp_path, agents=agents(model, shelf.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        done = await person.reject(card, comment="not that\u202e one")
        assert resolved(done) == [(card["interruptId"], "rejected")]
        assert results(await server.history()) == {"call-a": "The user said no. Nothing was done. They wrote: not that one"}
    assert (shelf.done, shelf.calls) == ([], 0)


@both
@pytest.mark.parametrize("payload", [None, False, 0, "", {}, "approved", 1, "yes", {"approved": "true"}, {"approved": 1}, [True]])
async def test_anything_but_a_clear_yes_is_a_no(channel: str, payload: Any, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        assert (await person.answer({card["interruptId"]: payload})).text == "done"
    assert shelf.calls == 0
