"""What a model streamed is taken literally: nothing is completed, nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from middle_core.agents.answer import answer
from tests.fakes.models import Item, ScriptedModel, args, call, finish


async def said(*items: Item, streams: bool = True) -> AIMessage:
    return await answer(ScriptedModel(turns=[list(items)], streams=streams), [HumanMessage("go")])


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"path": "/home/user"}', {"path": "/home/user"}),
        (" {} ", {}),
        ("", {}),
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ('{"path": "/home/us', None),
        ('{"path":', None),
        ("{", None),
        ('{"q":"a"}{"q":"b"}', None),
        ("[]", None),
        ('"x"', None),
        ("null", None),
        ("[" * 100_000, None),
    ],
)
async def test_arguments_are_whole_json_objects_or_malformed(text: str, arguments: dict[str, Any] | None) -> None:
    pieces = [args(text[i : i + 7]) for i in range(0, min(len(text), 70), 7)] if len(text) < 70 else [args(text)]
    message = await said(call("write"), *pieces, finish("tool_calls"))
    if arguments is None:
        assert message.tool_calls == []
        assert [(c["id"], c["name"], c["args"]) for c in message.invalid_tool_calls] == [("call_1", "write", text)]
    else:
        assert [(c["id"], c["name"], c["args"]) for c in message.tool_calls] == [("call_1", "write", arguments)]
        assert message.invalid_tool_calls == []


async def test_text_calls_usage_and_reason_arrive_in_one_message() -> None:
    message = await said(
        "Let me ",
        "look.",
        call("a", call_id="1", index=0),
        call("b", '{"k":', call_id="2", index=1),
        args("{}", index=0),
        args("1}", index=1),
        finish("tool_calls"),
    )
    assert type(message) is AIMessage
    assert message.text == "Let me look."
    assert [(c["id"], c["args"]) for c in message.tool_calls] == [("1", {}), ("2", {"k": 1})]
    assert message.usage_metadata is not None
    assert message.response_metadata["finish_reason"] == "tool_calls"
    assert message.id


async def test_a_model_that_does_not_stream_is_taken_at_its_word() -> None:
    message = await said(call("look", {"x": 1}), finish(), streams=False)
    assert [c["args"] for c in message.tool_calls] == [{"x": 1}]


async def test_what_the_model_raises_is_raised() -> None:
    with pytest.raises(RuntimeError, match="gone"):
        await said("half of ", RuntimeError("gone"))
