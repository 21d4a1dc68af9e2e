from __future__ import annotations

from typing import Any

import pytest

from middle_core.agui.gate import Finished, Gate, opening
from middle_core.agui.jsonable import TooBig
from middle_core.agui.snapshot_messages import wire_message
from middle_core.events import ClientRunId, ClientThreadId, RunId
from tests.fakes.agui_verify import verify_streams

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

TABLE: dict[str, tuple[Any, Any]] = {
    "user": ({"id": "1", "role": "user", "content": "hi", "name": None, "extra": 1}, {"id": "1", "role": "user", "content": "hi"}),
    "user with parts": (
        {"id": "1", "role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "url", "value": "u", "mimeType": None}}]},
        {"id": "1", "role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "url", "value": "u"}}]},
    ),
    "user with parts of another protocol": (
        {"id": "1", "role": "user", "content": [{"type": "image_url", "image_url": "u"}]},
        {"id": "1", "role": "user", "content": '[{"type":"image_url","image_url":"u"}]'},
    ),
    "user with parts of no protocol": (
        {"id": "1", "role": "user", "content": [{"type": ["text"]}]},
        {"id": "1", "role": "user", "content": '[{"type":["text"]}]'},
    ),
    "system": ({"id": "1", "role": "system", "content": None}, {"id": "1", "role": "system", "content": ""}),
    "developer": ({"id": "1", "role": "developer", "content": "be kind"}, {"id": "1", "role": "developer", "content": "be kind"}),
    "assistant with calls only": (
        {"id": "1", "role": "assistant", "content": None, "toolCalls": [CALL | {"encryptedValue": None}, None, {"id": 7}]},
        {"id": "1", "role": "assistant", "toolCalls": [CALL]},
    ),
    "assistant with odd calls": (
        {"id": "1", "role": "assistant", "content": "", "toolCalls": [{"id": "c", "function": {"name": None, "arguments": {"a": 1}}, "encryptedValue": "e"}]},
        {
            "id": "1",
            "role": "assistant",
            "content": "",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "unknown_tool", "arguments": '{"a":1}'}, "encryptedValue": "e"}],
        },
    ),
    "assistant without calls": (
        {"id": "1", "role": "assistant", "content": [{"type": "text", "text": "a"}], "toolCalls": None},
        {"id": "1", "role": "assistant", "content": "a"},
    ),
    "tool": (
        {"id": "1", "role": "tool", "toolCallId": "c", "content": {"a": b"b"}, "error": None, "name": None},
        {"id": "1", "role": "tool", "toolCallId": "c", "content": '{"a":"b"}'},
    ),
    "tool that failed": (
        {"id": "1", "role": "tool", "toolCallId": "c", "content": "", "error": "no", "metadata": {"a": None}},
        {"id": "1", "role": "tool", "toolCallId": "c", "content": "", "error": "no", "metadata": {"a": None}},
    ),
    "reasoning": (
        {"id": "1", "role": "reasoning", "content": "hm", "encryptedValue": "e"},
        {"id": "1", "role": "reasoning", "content": "hm", "encryptedValue": "e"},
    ),
    "activity": (
        {"id": "1", "role": "activity", "activityType": "plan", "content": {"a": {1}}},
        {"id": "1", "role": "activity", "activityType": "plan", "content": {"a": [1]}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("message", "wanted"), TABLE.values(), ids=TABLE)
def test_a_message_has_the_fields_of_its_role(message: Any, wanted: Any) -> None:
    assert wire_message(message, budget=10_000) == wanted


@pytest.mark.parametrize(
    "message",
    [
        None,
        "text",
        {"role": "user", "content": "x"},
        {"id": None, "role": "user"},
        {"id": "1", "role": "robot"},
        {"id": "1", "role": ["user"]},
        {"id": "1"},
        {"id": "1", "role": "tool", "content": "x"},
        {"id": "1", "role": "activity", "content": {}},
        {"id": "1", "role": "activity", "activityType": "plan", "content": "x"},
    ],
)
def test_what_is_no_message_is_none(message: Any) -> None:
    assert wire_message(message, budget=10_000) is None


def test_a_message_that_cannot_fit_says_so() -> None:
    with pytest.raises(TooBig):
        wire_message({"id": "1", "role": "tool", "toolCallId": "c", "content": ["x" * 500]}, budget=100)


async def test_the_browsers_client_parses_each() -> None:
    runs = []
    for message, _ in TABLE.values():
        gate = Gate(thread_id=ClientThreadId("t"), run_id=ClientRunId("r"), max_event_bytes=65536)
        first = opening(thread_id=ClientThreadId("t"), run_id=ClientRunId("r"), our_run_id=RunId("o"), agent="a", attempt=1)
        runs.append([*first, *gate.feed({"type": "MESSAGES_SNAPSHOT", "messages": [message]}), *gate.close(Finished())])
    verdicts = await verify_streams(runs)
    assert {name: (one.error, one.findings) for name, one in zip(TABLE, verdicts, strict=True) if not one.ok} == {}
    assert [verdict.messages for verdict in verdicts] == [[wanted] for _, wanted in TABLE.values()]
