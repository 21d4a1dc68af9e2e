"""The messages that a history becomes in a request to the service."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)

from middle_core.errors import InvalidRequest, ModelBadRequest
from middle_core.models.cerebras.request import traits_of, wire_messages
from tests.fakes.cerebras_rules import Refusal, check

TEXT_ONLY = traits_of("gpt-oss-120b")
SEES = traits_of("gemma-4-31b")
CALL = {"name": "search", "args": {"q": "é"}, "id": "c1"}


def wire(*messages: BaseMessage) -> list[dict[str, Any]]:
    return wire_messages(messages, TEXT_ONLY)


def one(message: BaseMessage) -> dict[str, Any]:
    (only,) = wire(message)
    return only


def test_a_whole_turn():
    assert wire(
        SystemMessage("Be kind."),
        HumanMessage("hi", name="ann"),
        AIMessage("Let me see.", tool_calls=[CALL]),
        ToolMessage("found", tool_call_id="c1"),
        AIMessage("Here."),
    ) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi", "name": "ann"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "é"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found", "name": "search"},
        {"role": "assistant", "content": "Here."},
    ]


@pytest.mark.parametrize(
    "content", ["", [], [""], [{"type": "text", "text": ""}], [{"type": "tool_use", "id": "c1", "name": "search", "input": {}}]]
)
def test_nothing_beside_a_tool_call_is_no_content_at_all(content: Any):
    assert "content" not in wire(AIMessage(content, tool_calls=[CALL]), ToolMessage("x", tool_call_id="c1"))[0]


@pytest.mark.parametrize("content", ["", [], [{"type": "reasoning", "reasoning": "hm"}]])
def test_an_assistant_message_that_says_nothing_is_left_out(content: Any):
    assert wire(HumanMessage("hi"), AIMessage(content)) == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("name", ["search", None, "", "not a name!", "x" * 65])
def test_a_tool_message_is_named_if_it_can_be(name: str | None):
    named = wire(AIMessage("", tool_calls=[CALL]), ToolMessage("x", tool_call_id="c1", name=name))[1].get("name")
    assert named == (None if name and name != "search" else "search")


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ("plain", "plain"),
        ("", ""),
        ([], ""),
        (["a", "b"], "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text", "text": None}], ""),
        ([{"text": "untyped"}], "untyped"),
        ([{"type": "json", "json": {"é": [1, None]}}], '{"type": "json", "json": {"é": [1, null]}}'),
        ([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}], "[image left out: this model reads text only]"),
        ([{"type": "text-plain", "text": "file text"}], "file text"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("\u2028 \u0085 🌍", "\u2028 \u0085 🌍"),
    ],
)
def test_a_tool_result_is_text_whatever_it_was(content: Any, sent: str):
    assert wire(AIMessage("", tool_calls=[CALL]), ToolMessage(content, tool_call_id="c1"))[1]["content"] == sent


def test_a_malformed_call_stays_only_where_it_was_answered_and_never_with_its_arguments():
    broken = AIMessage(
        "", invalid_tool_calls=[{"name": "search", "args": '{"q": "a"}{', "id": "c2", "error": None, "type": "invalid_tool_call"}]
    )
    assert wire(HumanMessage("hi"), broken) == [{"role": "user", "content": "hi"}]
    history = wire(HumanMessage("hi"), broken, ToolMessage("Those arguments were no JSON.", tool_call_id="c2"))
    assert history[1]["tool_calls"] == [{"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
    assert history[2]["name"] == "search"


MEDIA = [
    {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
    {"type": "image_url", "image_url": "http://x/y.png"},
    {"type": "image", "url": "http://x/y.png"},
    {"type": "image", "base64": "AAAA", "mime_type": "image/jpeg"},
    {"type": "image", "source_type": "base64", "data": "AAAA", "mime_type": "image/jpeg"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
]
OTHER_MEDIA = [
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
    {"type": "video", "url": "http://x"},
]


@pytest.mark.parametrize("part", MEDIA)
def test_an_image_goes_to_a_model_that_sees_in_one_shape(part: dict[str, Any]):
    (message,) = wire_messages([HumanMessage([{"type": "text", "text": "What?"}, part])], SEES)
    text, image = message["content"]
    assert text == {"type": "text", "text": "What?"}
    assert image["image_url"]["url"] in {"http://x/y.png", "data:image/jpeg;base64,AAAA"}
    check({"authorization": "Bearer k"}, {"model": "gemma-4-31b", "messages": [message]})


@pytest.mark.parametrize("part", MEDIA + OTHER_MEDIA)
def test_an_attachment_that_the_model_cannot_read_is_refused_in_the_newest_message_only(part: dict[str, Any]):
    message = HumanMessage([{"type": "text", "text": "What?"}, part])
    with pytest.raises(InvalidRequest, match="Send it again as text"):
        wire(message)
    assert wire(message, HumanMessage("Never mind."))[0]["content"].startswith("What?\n[")


@pytest.mark.parametrize("part", OTHER_MEDIA)
def test_a_model_that_sees_still_reads_no_documents(part: dict[str, Any]):
    with pytest.raises(InvalidRequest, match="attachment"):
        wire_messages([HumanMessage([part])], SEES)


@pytest.mark.parametrize(
    "history",
    [
        [HumanMessage("hi"), AIMessage("", tool_calls=[CALL]), ToolMessage("x", tool_call_id="c1")],
        [HumanMessage("hi"), AIMessage("")],
        [
            HumanMessage("hi"),
            AIMessage("x", invalid_tool_calls=[{**CALL, "args": "{", "error": None, "type": "invalid_tool_call"}]),
            ToolMessage("no JSON", tool_call_id="c1"),
        ],
        [HumanMessage([{"type": "text", "text": "x"}, {"type": "custom_part", "a": 1}])],
    ],
)
def test_the_service_refuses_what_langchains_own_conversion_gives_and_takes_ours(history: list[BaseMessage]):
    service = {"authorization": "Bearer k"}
    with pytest.raises(Refusal):
        check(service, {"model": "gpt-oss-120b", "messages": convert_to_openai_messages(history)})
    check(service, {"model": "gpt-oss-120b", "messages": wire(*history)})


def test_other_roles():
    assert one(ChatMessage(content="x", role="developer")) == {"role": "developer", "content": "x"}
    for message in (ChatMessage(content="x", role="critic"), FunctionMessage(content="x", name="f"), RemoveMessage("x")):
        with pytest.raises(ModelBadRequest, match="cannot be sent"):
            wire(message)


CONTENTS = st.one_of(st.text(max_size=5), st.lists(st.one_of(st.text(max_size=3), st.just({"type": "text", "text": "t"})), max_size=3))


@st.composite
def histories(draw: st.DrawFn) -> list[BaseMessage]:
    """Valid histories of any shape, contents as odd as they come."""
    messages: list[BaseMessage] = [HumanMessage(draw(CONTENTS))]
    for turn in range(draw(st.integers(0, 4))):
        ids = [f"{turn}-{n}" for n in range(draw(st.integers(0, 2)))]
        calls: list[Any] = [
            {"name": "search", "args": draw(st.dictionaries(st.text(max_size=3), st.none(), max_size=2)), "id": i} for i in ids
        ]
        messages.append(AIMessage(draw(CONTENTS), tool_calls=calls, additional_kwargs={"reasoning_content": draw(st.text(max_size=3))}))
        messages += [ToolMessage(draw(CONTENTS), tool_call_id=i, name=draw(st.none() | st.text(max_size=3))) for i in ids]
        if draw(st.booleans()):
            messages.append(HumanMessage(draw(CONTENTS)))
    return messages


@given(histories(), st.sampled_from(["gpt-oss-120b", "gemma-4-31b", "another"]))
@settings(max_examples=150, deadline=None)
def test_every_valid_history_is_taken_by_the_strict_service(history: list[BaseMessage], model: str):
    messages = wire_messages(history, traits_of(model))
    json.dumps(messages, ensure_ascii=False).encode()
    check({"authorization": "Bearer k"}, {"model": model, "messages": messages})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": [{"role": "assistant", "content": None}]}, "null"),
        ({"messages": [{"role": "assistant", "content": ""}]}, "empty"),
        ({"messages": [{"role": "assistant", "reasoning_content": "x", "content": "y"}]}, "reasoning_content' is unsupported"),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}, "preceding"),
        (
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
                ]
            },
            "without an answer",
        ),
        ({"messages": [{"role": "user", "content": "x"}], "parallel_tool_calls": False}, "parallel_tool_calls=False"),
        ({"messages": [{"role": "user", "content": "x"}], "maxTokens": 1}, "body.maxTokens"),
        ({"messages": []}, "at least one"),
    ],
)
def test_the_simulator_is_strict(body: dict[str, Any], says: str):
    with pytest.raises(Refusal, match=says):
        check({"authorization": "Bearer k"}, {"model": "gpt-oss-120b", **body})
