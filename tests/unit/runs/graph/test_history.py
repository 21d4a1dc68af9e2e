"""A thread's messages as a client sees them, and what a stream has shown of them."""

from __future__ import annotations

from datetime import date
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from middle_core.contract.outcomes import DONE, CallOutcome, OutcomeCode
from middle_core.events import ToolOutcome
from middle_core.node_api.outcomes import metadata
from middle_core.runs.graph.history import Shown, history, same

FAILED = CallOutcome(outcome=ToolOutcome.FAILED, code=OutcomeCode.TOOL_ERROR, message="r")


def read(*messages: Any) -> list[dict[str, Any]]:
    return history(messages, lambda message: [{"parts": len(message.content)}])


def test_messages_of_every_role() -> None:
    calls: list[Any] = [{"name": "s", "args": {"q": "é"}, "id": "c1"}]
    assert read(
        HumanMessage("hi", id="h"),
        HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], id="h2"),
        AIMessage("hello", id="a", tool_calls=calls),
        ToolMessage("r", tool_call_id="c1", id="t", status="error"),
        SystemMessage("secret", id="s"),
        RemoveMessage("x"),
    ) == [
        {"id": "h", "role": "user", "content": "hi"},
        {"id": "h2", "role": "user", "content": [{"parts": 2}]},
        {
            "id": "a",
            "role": "assistant",
            "content": "hello",
            "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "s", "arguments": '{"q": "é"}'}}],
        },
        {"id": "t", "role": "tool", "toolCallId": "c1", "content": "r", "error": "r", "metadata": metadata(FAILED)},
    ]


def test_an_empty_answer_is_no_bubble() -> None:
    # ag-ui-protocol/ag-ui#1543
    assert read(AIMessage("", id="a")) == []


def test_broken_arguments_are_shown_as_they_were_streamed() -> None:
    broken: list[Any] = [{"name": None, "args": '{"q":', "id": "c1", "error": None}]
    [message] = read(AIMessage("", id="a", invalid_tool_calls=broken))
    assert message["toolCalls"][0]["function"] == {"name": "tool", "arguments": '{"q":'}


def test_arguments_that_are_no_json_do_not_break_the_history() -> None:
    message = AIMessage("", id="a", tool_calls=[{"name": "s", "args": {"at": date(2026, 1, 1)}, "id": "c"}])
    assert "2026-01-01" in read(message)[0]["toolCalls"][0]["function"]["arguments"]


def test_reasoning_stands_before_its_answer() -> None:
    content: list[Any] = [
        {"type": "thinking", "thinking": "hm", "index": 0},
        {"type": "thinking", "thinking": "ha", "index": 1},
        {"type": "text", "text": "so"},
    ]
    shown = read(AIMessage(content, id="a"))
    assert [(one["id"], one["role"], one["content"]) for one in shown] == [
        ("a-reasoning-0", "reasoning", "hm\n\nha"),
        ("a", "assistant", "so"),
    ]


def test_a_message_that_was_stopped_says_so() -> None:
    assert read(AIMessage("par", id="a", response_metadata={"stopped": "stopped"}))[0]["metadata"] == {"stopped": True}
    lost = read(AIMessage("par", id="a", response_metadata={"stopped": "interrupted"}))[0]
    assert lost["metadata"] == {"stopped": True, "interrupted": True}


def fold(*events: dict[str, Any]) -> list[dict[str, Any]]:
    shown = Shown()
    for one in events:
        shown.feed(one)
    return shown.messages()


def test_a_stream_and_the_history_of_the_same_turn_are_the_same() -> None:
    streamed = fold(
        {"type": "STEP_STARTED", "stepName": "x"},
        {"type": "REASONING_MESSAGE_START", "messageId": "a-reasoning-0"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "a-reasoning-0", "delta": "hm"},
        {"type": "TEXT_MESSAGE_START", "messageId": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "he"},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "s", "parentMessageId": "a"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"q":1}'},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "llo"},
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c1", "content": "r", "metadata": metadata(DONE)},
    )
    stored = read(
        AIMessage("hello", id="a", tool_calls=[{"name": "s", "args": {"q": 1}, "id": "c1"}], additional_kwargs={"reasoning_content": "hm"}),
        ToolMessage("r", tool_call_id="c1", id="t"),
    )
    assert same(streamed, stored)


def test_any_difference_that_a_person_would_see_is_one() -> None:
    call = {"id": "c", "function": {"name": "s", "arguments": "{}"}}
    base: dict[str, Any] = {"id": "a", "role": "assistant", "content": "x", "toolCalls": [call]}
    assert same([base], [dict(base)])
    other_call = {"id": "c", "function": {"name": "s", "arguments": '{"q": 1}'}}
    changes: list[dict[str, Any]] = [
        {"id": "b"},
        {"role": "user"},
        {"content": "y"},
        {"toolCalls": []},
        {"toolCalls": [other_call]},
        {"metadata": {"stopped": True}},
        {"metadata": metadata(FAILED)},
    ]
    for change in changes:
        assert not same([base], [base | change]), change
    assert not same([base], [])
    assert not same([], [base])
