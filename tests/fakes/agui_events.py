"""Short builders of AG-UI events, for tests that write streams by hand."""

from __future__ import annotations

from typing import Any

from middle_core.events import OUTCOME, Event


def text_start(message_id: str, **more: Any) -> Event:
    return {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"} | more


def text_part(message_id: str, delta: Any) -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}


def text_end(message_id: str) -> Event:
    return {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def call_start(call_id: str, name: str | None = "search", **more: Any) -> Event:
    return {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name} | more


def call_part(call_id: str, delta: Any) -> Event:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}


def call_end(call_id: str) -> Event:
    return {"type": "TOOL_CALL_END", "toolCallId": call_id}


def result(call_id: str, content: Any = "found", *, message_id: str | None = None) -> Event:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": message_id or f"of-{call_id}",
        "toolCallId": call_id,
        "role": "tool",
        "metadata": {OUTCOME: {"outcome": "done", "code": None, "message": ""}},
        "content": content,
    }


def step_start(name: str) -> Event:
    return {"type": "STEP_STARTED", "stepName": name}


def step_end(name: str) -> Event:
    return {"type": "STEP_FINISHED", "stepName": name}


def reasoning_start(block_id: str) -> Event:
    return {"type": "REASONING_START", "messageId": block_id}


def reasoning_end(block_id: str) -> Event:
    return {"type": "REASONING_END", "messageId": block_id}


def thought_start(message_id: str) -> Event:
    return {"type": "REASONING_MESSAGE_START", "messageId": message_id, "role": "reasoning"}


def thought_part(message_id: str, delta: Any) -> Event:
    return {"type": "REASONING_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}


def thought_end(message_id: str) -> Event:
    return {"type": "REASONING_MESSAGE_END", "messageId": message_id}


def custom_event(name: str, value: Any) -> Event:
    return {"type": "CUSTOM", "name": name, "value": value}


def state(snapshot: Any) -> Event:
    return {"type": "STATE_SNAPSHOT", "snapshot": snapshot}


def state_delta(*operations: Any) -> Event:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def history(*messages: Any) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}
