"""Approvals over AG-UI, in both of CopilotKit's forms: what a person approves happens once, and nothing else happens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from middle_core.agents.approval import Card, needs_approval
from middle_core.agents.registry import AgentSpec
from middle_core.errors import BackendUnavailable, Forbidden
from tests.fakes import graphs
from tests.fakes.agui_verify import verify_streams
from tests.fakes.database import rows
from tests.fakes.models import ScriptedModel, call, finish
from tests.fakes.stack import Stack, run_input, stack, user
from tests.fakes.tokens import mint
from tests.fakes.until import until
from tests.scenarios.agents import tool_agent
from tests.scenarios.hitl import CHANNELS, Person, Plans, Shelf, cards, deleting, resolved, results

pytestmark = pytest.mark.both_stores

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
async def test_anything_but_a_clear_yes_is_a_no(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    unclear: list[Any] = [None, False, 0, "", {}, [], "approved", 1, "yes", {"approved": "true"}, {"approved": 1}, [True]]
    model = ScriptedModel(turns=deleting("a").turns[:2] * len(unclear), strict=True)
    async with stack(tmp_path, agents=agents(model, shelf.tool())) as server:
        for number, payload in enumerate(unclear):
            person = Person(server, channel, thread=f"t{number}")
            [card] = cards(await person.say("delete alpha"))
            done = await person.answer({card["interruptId"]: payload})
            assert (done.text, resolved(done)) == ("done", [(card["interruptId"], "rejected")]), payload
    assert shelf.calls == 0


@both
async def test_the_time_limit_is_kept_and_told(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool(expires=0.001))) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        opened = await person.open()
        while cards(opened):  # until the clock is past it
            opened = await person.open()
        assert opened.events[-1].get("outcome") is None
        late = await person.approve(card)
        assert resolved(late) == [(card["interruptId"], "expired")]
        assert late.text == "done", "the model is told, and says so"
        assert results(await server.history()) == {"call-a": "The time for the approval is over. Nothing was done."}
    assert shelf.calls == 0


@both
async def test_the_servers_own_limit_expires_what_nobody_answers(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"approval_ttl_s": 0.001, "beat_s": 0.01, "lease_s": 1.0}
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool()), **settings) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        while cards(opened := await person.open()):
            pass
        shown = {m["toolCallId"]: m for m in person.history if m["role"] == "tool"}["call-a"]
        assert shown["metadata"]["middleCore"]["status"] in {"pending", "expired"}
        assert "RUN_FINISHED" in opened.types
        assert (await person.say("go on")).text == "done"
        assert resolved(await person.approve(card)) == [(card["interruptId"], "expired")]
    assert shelf.calls == 0


@both
@pytest.mark.parametrize("then", ["message", "stop"])
async def test_what_has_expired_is_not_withdrawn_by_what_comes_after(channel: str, then: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool(expires=0.001)), beat_s=60.0, lease_s=180.0) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        while cards(await person.open()):
            pass
        if then == "message":
            cancelling = [card["interruptId"]] if channel == "interrupt" else []
            said = await person.say("go on", cancelling=cancelling)
            assert (said.text, resolved(said)[0]) == ("done", (card["interruptId"], "expired"))
        else:
            assert await server.stop()
        await person.open()
        result = next(m for m in person.history if m.get("toolCallId") == "call-a")
        assert result["metadata"]["middleCore"]["status"] == "expired"
    assert shelf.calls == 0


@both
async def test_a_card_comes_back_after_a_reload_and_is_answered_there(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    # CopilotKit/CopilotKit#2418
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        [card] = cards(await Person(server, channel).say("delete alpha"))
        tab = Person(server, channel)
        opened = await tab.open()
        assert cards(opened) == [card]
        assert (await tab.approve(card)).text == "done"
        after = await tab.open()
        assert cards(after) == []
        result = next(m for m in tab.history if m.get("toolCallId") == "call-a")
        told = result["metadata"]["middleCore"]
        assert (told["status"], told["approved"], told["ok"], told["title"]) == ("executed", True, True, "Delete Alpha?")
        if channel == "client_tool":
            answer = next(m for m in tab.history if m.get("toolCallId") == card["interruptId"])
            assert json.loads(answer["content"])["status"] == "executed"
    assert len(shelf.done) == 1
    verdicts = await verify_streams([bytes(opened.raw), bytes(after.raw)])
    assert [one.error for one in verdicts] == [None, None]
    assert [m["role"] for m in verdicts[1].messages] == [m["role"] for m in tab.history]


async def test_a_card_comes_back_on_the_way_that_the_page_has(shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        [card] = cards(await Person(server, "client_tool").say("delete alpha"))
        other = Person(server, "interrupt")
        opened = await other.open()
        assert cards(opened) == [card]
        assert opened.events[-1]["outcome"]["type"] == "interrupt"
        assert (await other.approve(card)).text == "done"
        [row] = await _audit(server)
        assert (row["channel"], row["verdict"], row["decision"]) == ("interrupt", "taken", "approved")
    assert len(shelf.done) == 1


@both
async def test_two_tabs_answer_at_the_same_moment(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        first, second = Person(server, channel), Person(server, channel)
        [card] = cards(await first.say("delete alpha"))
        await second.open()
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(one.approve(card)) for one in (first, second)]
        for one in answers:
            reader = one.result()
            assert reader.types[-1] == "RUN_FINISHED"
            assert (card["interruptId"], "approved") in resolved(reader) or (card["interruptId"], "executed") in resolved(reader)
        assert results(await server.history()) == {"call-a": "deleted a"}
    assert len(shelf.done) == shelf.calls == 1


@both
async def test_the_first_of_two_contrary_answers_counts(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        first, second = Person(server, channel), Person(server, channel)
        [card] = cards(await first.say("delete alpha"))
        await second.open()
        assert (await first.reject(card)).text == "done"
        late = await second.approve(card)
        assert resolved(late) == [(card["interruptId"], "rejected")]
        assert late.text == "This was cancelled. Nothing was done."
        shown = [event["messages"] for event in late.events if event["type"] == "MESSAGES_SNAPSHOT"][-1]
        assert results(shown)["call-a"] == "The user said no. Nothing was done."
        assert [one["verdict"] for one in await _audit(server)] == ["taken", "late"]
    assert shelf.calls == 0
    [verdict] = await verify_streams([bytes(late.raw)])
    assert verdict.ok


@both
async def test_two_cards_are_answered_one_by_one_in_any_order(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a", "b"), shelf.tool())) as server:
        person = Person(server, channel)
        asked = {card["fromModel"]["thing_id"]: card for card in cards(await person.say("delete both"))}
        assert set(asked) == {"a", "b"}
        half = await person.approve(asked["b"])
        assert half.text == "", "the model waits for both"
        assert cards(half) == ([asked["a"]] if channel == "interrupt" else [])
        assert shelf.done == [("b", f"approval-{asked['b']['interruptId']}")]
        assert (await person.reject(asked["a"])).text == "done"
        told = results(await server.history())
        assert told == {"call-a": "The user said no. Nothing was done.", "call-b": "deleted b"}
    assert shelf.calls == 1


@both
async def test_two_cards_are_answered_at_once_each_its_own(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a", "b", "c"), shelf.tool())) as server:
        person = Person(server, channel)
        asked = {card["fromModel"]["thing_id"]: card["interruptId"] for card in cards(await person.say("delete all"))}
        done = await person.answer({asked["c"]: {"approved": True}, asked["a"]: False, asked["b"]: {"approved": True}})
        assert done.text == "done"
    assert sorted(thing for thing, _ in shelf.done) == ["b", "c"]


@both
async def test_a_new_message_withdraws_the_card_and_is_answered(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    # CopilotKit/CopilotKit#1991, #1809
    async with stack(tmp_path, agents=agents(deleting("a", then="it is noon"), shelf.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        said = await person.say("what time is it?", cancelling=[card["interruptId"]] if channel == "interrupt" else [])
        assert resolved(said) == [(card["interruptId"], "withdrawn")]
        assert said.text == "it is noon"
        history = await server.history()
        assert [m["content"] for m in history if m["role"] == "user"] == ["delete alpha", "what time is it?"]
        assert "said something else" in results(history)["call-a"]
        if channel == "client_tool":
            closed = {event["toolCallId"]: event for event in said.events if event["type"] == "TOOL_CALL_RESULT"}
            assert json.loads(closed[card["interruptId"]]["content"])["status"] == "withdrawn"
        late = await person.approve(card)
        assert resolved(late) == [(card["interruptId"], "withdrawn")]
        assert (await person.say("and now?")).text == "and more"
    assert shelf.calls == 0


async def test_a_stock_clients_plain_message_is_answered_too(shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a", then="it is noon"), shelf.tool())) as server:
        person = Person(server, "interrupt")
        [card] = cards(await person.say("delete alpha"))
        said = await person.say("what time is it?")
        assert (resolved(said), said.text) == ([(card["interruptId"], "withdrawn")], "it is noon")
    assert shelf.calls == 0


@both
async def test_an_answer_and_a_message_at_once_are_both_taken(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a", "b"), shelf.tool())) as server:
        person = Person(server, channel)
        asked = {card["fromModel"]["thing_id"]: card["interruptId"] for card in cards(await person.say("delete both"))}
        if channel == "interrupt":
            person.history.append(user("thanks"))
            done = await person.answer({asked["a"]: True})
        else:
            person.history.append({"id": "a1", "role": "tool", "toolCallId": asked["a"], "content": "true"})
            done = await person.say("thanks")
        assert done.text == "doneand more"
        assert set(resolved(done)) == {(asked["a"], "approved"), (asked["b"], "withdrawn"), (asked["a"], "executed")}
        assert [m["content"] for m in await server.history() if m["role"] == "user"] == ["delete both", "thanks"]
    assert [thing for thing, _ in shelf.done] == ["a"]


@both
async def test_stop_during_an_open_card_withdraws_it_and_the_thread_is_usable(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a", then="hello"), shelf.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        assert await server.stop()
        assert not await server.stop(), "there is nothing left to stop"
        opened = await person.open()
        assert cards(opened) == []
        assert opened.events[-1].get("outcome") is None
        assert "stopped it" in results(person.history)["call-a"]
        assert resolved(await person.approve(card)) == [(card["interruptId"], "withdrawn")]
        assert (await person.say("hi")).text == "hello"
    assert shelf.calls == 0


@both
async def test_a_card_waits_through_a_restart(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        [card] = cards(await Person(server, channel).say("delete alpha"))
        await until(lambda: server.parts.supervisor.live == 0)  # the pause holds no task
    model = ScriptedModel(turns=[["done", finish()]], strict=True)
    async with stack(tmp_path, agents=agents(model, shelf.tool())) as server:
        person = Person(server, channel)
        assert cards(await person.open()) == [card]
        assert (await person.approve(card)).text == "done"
    assert shelf.done == [("a", f"approval-{card['interruptId']}")]


@both
async def test_who_clearly_may_not_is_not_even_asked(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        asked = await Person(server, channel, token=mint(roles=["reader"])).say("delete alpha")
        assert cards(asked) == []
        assert results(await server.history()) == {"call-a": "permission denied: admin role required"}
    assert shelf.calls == 0


@both
async def test_a_yes_of_one_who_may_not_any_more_is_a_no(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        [card] = cards(await Person(server, channel).say("delete alpha"))
        demoted = Person(server, channel, token=mint(roles=["reader"]))
        await demoted.open()
        done = await demoted.approve(card)
        assert resolved(done) == [(card["interruptId"], "rejected")]
        assert results(await server.history()) == {"call-a": "permission denied: admin role required"}
        assert [(one["decision"], one["verdict"]) for one in await _audit(server)] == [("rejected", "refused")]
    assert shelf.calls == 0


@both
async def test_another_persons_card_does_not_exist(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        [card] = cards(await Person(server, channel).say("delete alpha"))
        stranger = Person(server, channel, token=mint(sub="mallory"))
        assert cards(await stranger.open()) == []
        stranger.history = [user("hi", "u1")]
        answer = await stranger.answer({card["interruptId"]: {"approved": True}})
        if channel == "interrupt":
            assert (answer.types[-1], answer.events[-1]["code"]) == ("RUN_ERROR", "interrupt_unknown")
        assert shelf.calls == 0
        assert cards(await Person(server, channel).open()) == [card]


async def test_an_id_that_was_never_given_leaves_the_card_as_it_is(shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        person = Person(server, "interrupt")
        [card] = cards(await person.say("delete alpha"))
        refused = await person.answer({"never-given": True, card["interruptId"]: True})
        assert (refused.types[-1], refused.events[-1]["code"]) == ("RUN_ERROR", "interrupt_unknown")
        assert shelf.calls == 0
        assert cards(await person.open()) == [card]
        assert (await person.approve(card)).text == "done"
    assert len(shelf.done) == 1


@both
async def test_a_plan_is_followed_as_the_person_changed_it(channel: str, tmp_path: Path) -> None:
    plans = Plans()
    model = ScriptedModel(
        turns=[[call("confirm_plan", {"steps": ["look", "leap"]}), finish("tool_calls")], ["on it", finish()]], strict=True
    )
    async with stack(tmp_path, agents=agents(model, plans.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("plan"))
        assert (card["kind"], card["editable"], card["fromModel"]) == ("plan", ["steps"], {"steps": ["look", "leap"]})
        wrong = await person.approve(card, edits={"steps": []})
        [again] = cards(wrong)
        assert again["state"] == "invalid"
        assert "steps" in again["problem"]
        wrong = await person.approve(again, edits={"other": 1})
        [again] = cards(wrong)
        assert again["problem"] == "This cannot be changed: other."
        done = await person.approve(again, edits={"steps": ["look", "think\u202e", "stay"]})
        assert done.text == "on it"
        assert resolved(done) == [(again["interruptId"], "edited"), (again["interruptId"], "executed")]
        assert results(await server.history()) == {"call_1": "follow: look, think, stay"}
    assert plans.followed == [["look", "think", "stay"]]


@both
@pytest.mark.parametrize(
    ("error", "tries", "words"),
    [
        (Forbidden("The knowledge service says: your role does not allow this."), 1, "permission denied: "),
        (BackendUnavailable(), 2, "deleted a"),
    ],
)
async def test_a_refusal_is_told_and_a_doubt_is_tried_again(
    channel: str, error: Exception, *, tries: int, words: str, shelf: Shelf, tmp_path: Path
) -> None:
    shelf.fails = [error]
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        assert (await person.approve(card)).text == "done"
        assert words in results(await server.history())["call-a"]
    assert shelf.calls == tries


async def test_a_doubt_that_stays_is_told_and_not_tried_where_a_second_try_could_do_it_twice(shelf: Shelf, tmp_path: Path) -> None:
    shelf.fails = [BackendUnavailable(), BackendUnavailable()]
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool(idempotent=False))) as server:
        person = Person(server, "interrupt")
        [card] = cards(await person.say("delete alpha"))
        done = await person.approve(card)
        assert resolved(done) == [(card["interruptId"], "approved"), (card["interruptId"], "indeterminate")]
        assert "unknown" in results(await server.history())["call-a"]
    assert shelf.calls == 1


async def test_what_does_not_exist_is_not_asked_about(shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("zeta"), shelf.tool())) as server:
        assert cards(await Person(server, "interrupt").say("delete zeta")) == []
        assert "There is no such thing." in results(await server.history())["call-zeta"]


async def test_what_the_model_writes_is_shown_apart_and_without_tricks(shelf: Shelf, tmp_path: Path) -> None:
    trick = "safe\u202e\u0007\u200b \u2066txt.exe"
    model = ScriptedModel(turns=[[call("delete", {"thing_id": "a\u200b", "reason": trick}), finish("tool_calls")], ["done", finish()]])
    async with stack(tmp_path, agents=agents(model, shelf.tool())) as server:
        person = Person(server, "interrupt")
        [card] = cards(await person.say("delete"))
        assert card["fromModel"] == {"thing_id": "a", "reason": "safe txt.exe"}
        assert card["facts"] == [{"label": "Name", "value": "Alpha"}, {"label": "Id", "value": "a"}]
        await person.approve(card)
    assert [thing for thing, _ in shelf.done] == ["a"], "what runs is what was shown"


@both
async def test_a_card_is_gone_with_its_thread(channel: str, shelf: Shelf, tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents(deleting("a"), shelf.tool())) as server:
        person = Person(server, channel)
        [card] = cards(await person.say("delete alpha"))
        assert (await server.http.delete(f"{server.url}/threads/t1", headers=server.headers())).status_code == 204
        assert cards(await person.open()) == []
        assert await _audit(server) == []
        person.history = [user("hi", "u1")]
        await person.answer({card["interruptId"]: True})
    assert shelf.calls == 0


async def test_a_graphs_own_question_is_a_row_as_well(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: graphs.ask({"message": "Which?"})}) as server:
        asked = await server.ask("hi")
        [question] = asked.events[-1]["outcome"]["interrupts"]
        async with server.connect() as reader:
            await reader.rest()
        assert reader.events[-1]["outcome"]["interrupts"] == [question]
        body = run_input(resume=[{"interruptId": question["id"], "status": "resolved", "payload": ""}])
        async with server.stream("POST", "/copilotkit", body=body) as reader:
            await reader.rest()
        assert resolved(reader) == [(question["id"], "answered")]
        async with server.stream("POST", "/copilotkit", body={**body, "runId": "r2"}) as reader:
            await reader.rest()
        assert resolved(reader) == [(question["id"], "answered")]
        assert reader.text == "This was answered."


@pytest.mark.parametrize("answer", ["blue", "", 0, False, None, {}, []])
async def test_a_question_that_is_over_stays_where_it_was_asked(answer: Any, tmp_path: Path) -> None:
    """The stream that brings the answer and a page that opens the thread show the same. So does the browser's own client."""
    async with stack(tmp_path, agents={"default": lambda: graphs.ask({"message": "Which?"})}) as server:
        asked = await server.ask("hi")
        [question] = asked.events[-1]["outcome"]["interrupts"]
        assert "middleCore" not in question
        body = run_input(resume=[{"interruptId": question["id"], "status": "resolved", "payload": answer}])
        async with server.stream("POST", "/copilotkit", body=body) as done:
            await done.rest()
        async with server.connect() as opened:
            await opened.rest()
        last = (await server.get("/threads/t1")).json()["lastRun"]
    content = {"interruptId": question["id"], "status": "answered", "question": {"message": "Which?"}, "answer": answer}
    [told] = [event for event in done.events if event["type"] == "ACTIVITY_SNAPSHOT"]
    assert (told["activityType"], told["content"]) == ("middle_core.question", content)
    [shown] = [event["messages"] for event in opened.events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [one["role"] for one in shown][:2] == ["user", "activity"]
    assert shown[1] == {"id": told["messageId"], "role": "activity", "activityType": "middle_core.question", "content": content}
    [left] = [event["value"]["runId"] for event in opened.events if event.get("name") == "middle_core.run"]
    assert left == last["runId"] != asked.run_id
    for verdict in await verify_streams([bytes(asked.raw), bytes(done.raw), bytes(opened.raw)]):
        assert verdict.error is None


async def test_the_older_hook_asks_and_answers_in_its_own_form(shelf: Shelf, tmp_path: Path) -> None:
    spec = AgentSpec(graph=tool_agent(deleting("a"), [shelf.tool()]), legacy_interrupts=True)
    async with stack(tmp_path, agents={"default": lambda: spec}) as server:
        asked = await server.ask("delete alpha")
        [told] = [event["value"] for event in asked.events if event.get("name") == "on_interrupt"]
        assert json.loads(told)["title"] == "Delete Alpha?"
        assert "outcome" not in asked.events[-1]
        assert (await server.get("/threads/t1")).json()["lastRun"]["status"] == "interrupted"
        async with server.connect() as opened:
            await opened.rest()
        assert [event["value"] for event in opened.events if event.get("name") == "on_interrupt"] == [told]
        assert shelf.calls == 0
        body = run_input(forwardedProps={"command": {"resume": json.dumps({"approved": True})}})
        async with server.stream("POST", "/copilotkit", body=body) as done:
            await done.rest()
        assert done.text == "done"
        assert [one["channel"] for one in await _audit(server)] == ["legacy"]
    assert len(shelf.done) == 1


async def test_the_older_hook_cannot_answer_two_questions_at_once(shelf: Shelf, tmp_path: Path) -> None:
    spec = AgentSpec(graph=tool_agent(deleting("a", "b"), [shelf.tool()]), legacy_interrupts=True)
    async with stack(tmp_path, agents={"default": lambda: spec}) as server:
        await server.ask("delete both")
        body = run_input(forwardedProps={"command": {"resume": True}})
        async with server.stream("POST", "/copilotkit", body=body) as done:
            await done.rest()
        assert (done.types[-1], done.events[-1]["code"]) == ("RUN_ERROR", "invalid_request")
    assert shelf.calls == 0


async def test_a_stop_in_the_middle_of_an_action_leaves_a_doubt_that_is_told(shelf: Shelf, tmp_path: Path) -> None:
    entered = asyncio.Event()

    @needs_approval(describe=plain_card)
    async def slow(thing_id: str) -> str:
        """Take long."""
        entered.set()
        await asyncio.Event().wait()
        return ""

    asks = [call("slow", {"thing_id": "a"}), finish("tool_calls")]
    model = ScriptedModel(turns=[asks, ["hello", finish()]], strict=True)
    async with stack(tmp_path, agents=agents(model, slow)) as server:
        person = Person(server, "interrupt")
        [card] = cards(await person.say("go"))
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(person.approve(card))
            await entered.wait()
            assert await server.stop()
        assert resolved(answer.result()) == [(card["interruptId"], "approved"), (card["interruptId"], "indeterminate")]
        opened = await person.open()
        assert (cards(opened), resolved(opened)) == ([], []), "it was stopped, so it does not go on"
        assert "unknown" in results(person.history)["call_1"]
        assert (await person.say("hi")).text == "hello"


async def test_two_tabs_that_come_back_at_once_see_one_action_go_on(shelf: Shelf, tmp_path: Path) -> None:
    entered = asyncio.Event()
    done: list[str] = []

    @needs_approval(describe=plain_card, idempotent=True)
    async def slow(thing_id: str) -> str:
        """Take long, once."""
        done.append(thing_id)
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()
        return "done slowly"

    asks = [call("slow", {"thing_id": "a"}), finish("tool_calls")]
    model = ScriptedModel(turns=[asks, ["hello", finish()]], strict=True)
    async with stack(tmp_path, agents=agents(model, slow)) as server:
        person = Person(server, "interrupt")
        [card] = cards(await person.say("go"))
        async with person.answering({card["interruptId"]: True}) as answer:
            await entered.wait()
            server.server.should_exit = True  # a deploy, with no time to finish
            await answer.rest()
    async with stack(tmp_path, agents=agents(model, slow)) as server:
        tabs = [Person(server, "interrupt"), Person(server, "client_tool"), Person(server, "interrupt")]
        async with asyncio.TaskGroup() as group:
            opened = [group.create_task(tab.open()) for tab in tabs]
        assert all(one.result().types[-1] == "RUN_FINISHED" for one in opened)
        assert results(await server.history()) == {"call_1": "done slowly"}
    assert done == ["a", "a"], "tried once more, under the same key"


async def plain_card(_: Any) -> Card:
    return Card("Do it?")


async def _audit(server: Stack, thread: str = "t1") -> list[dict[str, Any]]:
    """The audit of a thread, as an operator would look at it."""
    query = "SELECT a.* FROM interrupt_answers AS a JOIN threads AS t USING (thread_id) WHERE t.client_thread_id = :thread"
    return rows(server, query, thread=thread)
