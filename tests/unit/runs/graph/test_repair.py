"""A strict provider accepts what `repair` makes of any thread's messages."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage

from middle_core.node_api.outcomes import ToolResult, outcome_of
from middle_core.runs.graph.repair import NO_RESULT, NOT_JSON, repair
from tests.fakes.models import complaints


def ai(message_id: str, *calls: str, text: str = "", **more: Any) -> AIMessage:
    return AIMessage(text, id=message_id, tool_calls=[{"name": "s", "args": {}, "id": one} for one in calls], **more)


def answer(call_id: str, text: str = "r", message_id: str | None = None) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, id=message_id or f"t-{call_id}")


def human(message_id: str) -> HumanMessage:
    return HumanMessage("hi", id=message_id)


def shape(messages: list[BaseMessage]) -> list[str]:
    return [str(one.id) for one in messages]


def test_a_valid_history_is_left_alone() -> None:
    valid = [human("h1"), ai("a1", "c1", "c2"), answer("c1"), answer("c2"), ai("a2", text="done"), human("h2")]
    repaired = repair(valid)
    assert all(one is other for one, other in zip(repaired, valid, strict=True))


def test_a_dangling_call_is_answered_right_behind_it() -> None:
    # langchain-ai/open-swe#1604
    repaired = repair([human("h1"), ai("a1", "c1"), human("h2")], why=ToolResult("stopped", NO_RESULT.outcome))
    assert shape(repaired) == ["h1", "a1", "c1-result", "h2"]
    assert isinstance(repaired[2], ToolMessage)
    assert (repaired[2].content, repaired[2].status, repaired[2].tool_call_id) == ("stopped", "error", "c1")


def test_a_late_result_moves_to_its_call() -> None:
    # CopilotKit/OpenBot#333
    assert shape(repair([ai("a1", "c1"), human("h1"), answer("c1")])) == ["a1", "t-c1", "h1"]


def test_finished_results_are_kept_and_only_the_others_made() -> None:
    repaired = repair([ai("a1", "c1", "c2", "c3"), answer("c2", "kept")])
    assert [(one.tool_call_id, one.content) for one in repaired if isinstance(one, ToolMessage)] == [
        ("c1", NO_RESULT.text),
        ("c2", "kept"),
        ("c3", NO_RESULT.text),
    ]


def test_second_and_orphaned_results_go() -> None:
    assert shape(repair([answer("c0"), ai("a1", "c1"), answer("c1"), answer("c1", "again", "t2"), answer("c9")])) == ["a1", "t-c1"]


def test_results_in_another_order_are_put_in_the_calls_order() -> None:
    assert shape(repair([ai("a1", "c1", "c2"), answer("c2"), answer("c1")])) == ["a1", "t-c1", "t-c2"]


def test_one_id_in_two_turns_keeps_each_result_at_its_own_call() -> None:
    repaired = repair([ai("a1", "c"), answer("c", "one", "t1"), ai("a2", "c"), answer("c", "two", "t2")])
    assert shape(repaired) == ["a1", "t1", "a2", "t2"]


def test_broken_arguments_become_a_call_that_was_refused() -> None:
    broken = AIMessage(
        "", id="a1", invalid_tool_calls=[{"name": "s", "args": '{"q":', "id": "c1", "error": None, "type": "invalid_tool_call"}]
    )
    call, told = repair([broken])
    assert isinstance(call, AIMessage)
    assert [(one["id"], one["args"]) for one in call.tool_calls] == [("c1", {})]
    assert (call.id, call.invalid_tool_calls, told.content) == ("a1", [], NOT_JSON.text)
    assert outcome_of(told) == NOT_JSON.outcome


def test_calls_without_an_id_or_name_get_one() -> None:
    message = ai("a1", "c1", "c1")
    message.tool_calls[0]["name"] = ""
    assert complaints(repair([message])) == []


def test_an_empty_answer_goes() -> None:
    assert shape(repair([human("h1"), ai("a1"), human("h2")])) == ["h1", "h2"]


def test_a_stored_chunk_stays_repaired_when_it_is_read_again() -> None:
    chunk = AIMessageChunk(
        content="", id="a1", tool_call_chunks=[{"name": "s", "args": "[]", "id": "c1", "index": 0, "type": "tool_call_chunk"}]
    )
    repaired = repair([chunk])
    again = [type(one)(**one.model_dump()) for one in repaired]
    assert complaints(again) == []


IDS = st.sampled_from(["c1", "c2", "c3", "", None])


@st.composite
def any_history(draw: st.DrawFn) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for at in range(draw(st.integers(0, 10))):
        kind = draw(st.sampled_from(["human", "ai", "tool"]))
        if kind == "human":
            messages.append(human(f"h{at}"))
        elif kind == "tool":
            messages.append(ToolMessage("r", tool_call_id=draw(st.sampled_from(["c1", "c2", "c3", ""])), id=f"t{at}"))
        else:
            calls: list[Any] = [
                {"name": draw(st.sampled_from(["s", ""])), "args": {}, "id": one} for one in draw(st.lists(IDS, max_size=3))
            ]
            broken: list[Any] = [
                {"name": draw(st.sampled_from(["s", None])), "args": "{", "id": one, "error": None, "type": "invalid_tool_call"}
                for one in draw(st.lists(IDS, max_size=2))
            ]
            messages.append(AIMessage(draw(st.sampled_from(["", "x"])), id=f"a{at}", tool_calls=calls, invalid_tool_calls=broken))
    return messages


@settings(max_examples=200, deadline=None)
@given(any_history())
def test_a_strict_provider_takes_it_and_repairing_again_changes_nothing(messages: list[BaseMessage]) -> None:
    repaired = repair(messages)
    assert complaints(repaired) == []
    again = repair(repaired)
    assert all(one is other for one, other in zip(again, repaired, strict=True))
    if complaints(messages) == []:
        assert all(one is other for one, other in zip(repaired, messages, strict=True))
    # Nothing that was said is lost, and its order holds.
    said = [one.id for one in messages if not isinstance(one, ToolMessage) and (isinstance(one, HumanMessage) or one.content)]
    kept = [one.id for one in repaired if one.id in said]
    assert kept == said
    assert len({one.id for one in repaired}) == len(repaired)
