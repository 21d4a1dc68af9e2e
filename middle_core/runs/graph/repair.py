"""Make a thread's messages valid before a model sees them, with as little change as can be.

Providers refuse a history in which a tool call has no result right after it, or a result has no call. In langchain-ai/open-swe#1604 one
stopped tool made every later message a 400. So a call without a result gets one, a late result moves to its call, and a second result or
one without a call is dropped. Arguments that are no JSON object become an empty object, and the call's result says so: the tool is never
run with them.

Pure: a list in, a list out. Untouched messages stay the same objects. Ids and order are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from middle_core.contract.outcomes import DONE, OutcomeCode
from middle_core.events import ToolOutcome
from middle_core.node_api.outcomes import ToolResult, metadata, result
from middle_core.runs.graph.ids import Ids

NO_RESULT: Final = result(
    "This call was not carried out: the conversation went on without it.",
    ToolOutcome.NOT_RUN,
    OutcomeCode.UNANSWERED,
    "This was not carried out: the conversation went on without it.",
)
WITHDRAWN: Final = result(
    "This call was not carried out: the user said something else instead of answering.",
    ToolOutcome.NOT_RUN,
    OutcomeCode.WITHDRAWN,
    "This was not carried out: you went on with something else.",
)
NOT_JSON: Final = result(
    "This call was not carried out: its arguments were not a valid JSON object. Call again with valid arguments.",
    ToolOutcome.NOT_RUN,
    OutcomeCode.INVALID_ARGUMENTS,
    "The assistant’s arguments were not valid, so nothing was run.",
)


def repair(messages: Sequence[BaseMessage], *, why: ToolResult = NO_RESULT) -> list[BaseMessage]:
    """A valid history. A history that is valid comes back as it is.

    Args:
        messages: of a thread.
        why: the result of a call that has none.
    """
    results: dict[str, list[ToolMessage]] = {}
    for one in messages:
        if isinstance(one, ToolMessage):
            results.setdefault(one.tool_call_id, []).append(one)
    taken = Ids(
        (str(one.id) for one in messages), (str(call["id"]) for one in messages if isinstance(one, AIMessage) for call in one.tool_calls)
    )
    valid: list[BaseMessage] = []
    for one in messages:
        if isinstance(one, ToolMessage):
            continue  # stands behind its call already, or belongs to none
        if not isinstance(one, AIMessage):
            valid.append(one)
            continue
        refused = {str(call["id"]) for call in one.invalid_tool_calls if call.get("id")}
        message = _with_sound_calls(one, taken)
        if message is None:
            continue
        valid.append(message)
        for call in message.tool_calls:
            call_id = str(call["id"])
            waiting = results.get(call_id) or []
            if waiting:
                valid.append(waiting.pop(0))
            else:
                answer = NOT_JSON if call_id in refused or not _sound(call, one) else why
                valid.append(tool_message(answer, call_id=call_id, name=call["name"], message_id=taken.message(f"{call_id}-result")))
    return valid


def tool_message(answer: ToolResult, *, call_id: str, name: str, message_id: str) -> ToolMessage:
    """What answers a call, as the thread keeps it."""
    return ToolMessage(
        answer.text,
        tool_call_id=call_id,
        name=name,
        id=message_id,
        status="success" if answer.outcome == DONE else "error",
        response_metadata=metadata(answer.outcome),
    )


def _sound(call: Any, original: AIMessage) -> bool:
    return any(call["id"] == one["id"] for one in original.tool_calls)


def _with_sound_calls(message: AIMessage, taken: Ids) -> AIMessage | None:
    """The message with well-formed calls: the same object where they are. None where nothing is left to say."""
    calls: list[dict[str, Any]] = []
    ids: set[str] = set()
    changed = bool(message.invalid_tool_calls)
    for one in message.tool_calls:
        call = dict(one)
        if not call.get("id") or call["id"] in ids:
            call["id"], changed = taken.call(None), True
        if not call.get("name"):
            call["name"], changed = "unknown", True
        ids.add(str(call["id"]))
        calls.append(call)
    for broken in message.invalid_tool_calls:
        call_id = broken.get("id")
        if not call_id or call_id in ids:
            call_id = taken.call(None)
        ids.add(call_id)
        calls.append({"name": broken.get("name") or "unknown", "args": {}, "id": call_id, "type": "tool_call"})
    if not calls and not message.content:
        return None
    if not changed:
        return message
    # No copy: a stored AIMessageChunk would make its calls from its chunks again, when it is read.
    return AIMessage(
        content=message.content,
        id=message.id,
        name=message.name,
        tool_calls=calls,
        usage_metadata=message.usage_metadata,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
    )
