"""The tool calls in a thread's history: which are asked for, which are open, and a history a model accepts.

Pure functions over LangChain messages. It runs nothing and knows no tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from middle_core.contract.outcomes import OutcomeCode
from middle_core.events import ToolOutcome
from middle_core.models.finish_reasons import Ending, ending_of
from middle_core.node_api.outcomes import ToolResult, result

MAX_CALLS = 32
"""Calls of one message that are run; a model that asks for more asks again."""

REFUSED: Final[Mapping[str, ToolResult]] = MappingProxyType(
    {
        OutcomeCode.TOO_MANY_CALLS: result(
            f"These are more calls than fit into one message: only the first {MAX_CALLS} were run. Ask for the rest again.",
            ToolOutcome.NOT_RUN,
            OutcomeCode.TOO_MANY_CALLS,
            f"The assistant asked for more than {MAX_CALLS} calls at once. This one was not run.",
        ),
        OutcomeCode.LENGTH: result(
            "The message with this call reached the limit of its length, so the call may not be complete. Nothing was run. Be shorter.",
            ToolOutcome.NOT_RUN,
            OutcomeCode.LENGTH,
            "The assistant’s answer was cut off at its length limit, so this was not run.",
        ),
        OutcomeCode.BROKEN_OFF: result(
            "The message with this call was broken off on the model's side, so the call may not be complete. Nothing was run. Ask again.",
            ToolOutcome.NOT_RUN,
            OutcomeCode.BROKEN_OFF,
            "The assistant’s answer was broken off on the model’s side, so this was not run.",
        ),
        OutcomeCode.INVALID_ARGUMENTS: result(
            "The arguments of this call are not a complete JSON object, so nothing was run. Call again with valid arguments.",
            ToolOutcome.NOT_RUN,
            OutcomeCode.INVALID_ARGUMENTS,
            "The assistant’s arguments were not valid, so nothing was run.",
        ),
    }
)
"""What answers a call that is not to be run whatever its arguments are, by `Call.refused`."""
NAMELESS = "unnamed_tool"
NOT_FINISHED = "This call was not finished: there is no result."


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an assistant message.

    args: an object, or None where the model wrote something else; `raw` is what it wrote.
    key: unique in the thread, also where a provider uses an id again; the ledger and the result's id use it.
    refused: why the call is not to be run whatever its arguments are, a key of `REFUSED`; empty if it may run.
    """

    id: str
    name: str
    args: dict[str, Any] | None
    raw: str
    key: str
    refused: str = ""

    @property
    def sound(self) -> bool:
        """Whether it can be run at all, be it by the server or by the page."""
        return not self.refused and self.args is not None


def last_calls(messages: Sequence[BaseMessage]) -> list[Call]:
    """The calls of the newest assistant message, if that is what the thread waits for; malformed ones included."""
    at = _newest_assistant(messages)
    if at is None:
        return []
    message = messages[at]
    assert isinstance(message, AIMessage)
    before = {call.id for earlier in messages[:at] if isinstance(earlier, AIMessage) for call in _calls(earlier, frozenset())}
    return _calls(message, frozenset(before))


def open_calls(messages: Sequence[BaseMessage]) -> list[Call]:
    """The newest assistant message's calls that have no result yet."""
    at = _newest_assistant(messages)
    answered = {m.tool_call_id for m in messages[at or 0 :] if isinstance(m, ToolMessage)}
    return [call for call in last_calls(messages) if call.id not in answered]


def for_model(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The history as every provider accepts it: each call directly followed by exactly one result.

    A call without a result gets one that says so, a late result moves to its call, a result without a call
    or a second one is left out, and a malformed call is shown as one without arguments (its result says
    what was wrong). An assistant message with nothing in it is left out. The thread itself is not changed.
    """
    result: list[AnyMessage] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue  # placed behind its call
        if not isinstance(message, AIMessage):
            result.append(message)
            continue
        calls = _calls(message, frozenset())
        if not calls:
            result += [message] if message.content else []
            continue
        shown = [ToolCall(id=call.id, name=call.name or NAMELESS, args=call.args or {}, type="tool_call") for call in calls]
        result.append(message.model_copy(update={"tool_calls": shown, "invalid_tool_calls": []}))
        result += [_result_of(call, messages, at) for call in calls]
    return result


def _result_of(call: Call, messages: Sequence[AnyMessage], at: int) -> ToolMessage:
    """The first result after the call and before the same id is used again."""
    for message in messages[at + 1 :]:
        if isinstance(message, AIMessage) and any(again.id == call.id for again in _calls(message, frozenset())):
            break
        if isinstance(message, ToolMessage) and message.tool_call_id == call.id:
            return message
    return ToolMessage(content=NOT_FINISHED, tool_call_id=call.id, name=call.name, status="error")


def _newest_assistant(messages: Sequence[BaseMessage]) -> int | None:
    """Where the assistant message is that the thread stands at: nothing but results follow it."""
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], AIMessage):
            return at
        if not isinstance(messages[at], ToolMessage):
            return None
    return None


def _calls(message: AIMessage, used: frozenset[str]) -> list[Call]:
    """All calls of the message in order, well-formed ones first; a missing id is made from the message's id."""
    found: list[Call] = []
    seen: set[str] = set()
    listed: list[tuple[str | None, str, dict[str, Any] | None, str]] = [(c.get("id"), c["name"], c["args"], "") for c in message.tool_calls]
    listed += [(c.get("id"), c.get("name") or "", None, c.get("args") or "") for c in message.invalid_tool_calls]
    for index, (given, name, args, raw) in enumerate(listed):
        call_id = given or f"{message.id}:{index}"
        if call_id in seen:
            continue  # a second call under one id could not be answered on its own
        seen.add(call_id)
        key = f"{call_id}@{message.id}" if call_id in used else call_id
        refused = OutcomeCode.TOO_MANY_CALLS.value if len(found) >= MAX_CALLS else _cut_off(message)
        found.append(Call(id=call_id, name=name, args=args, raw=raw, key=key, refused=refused))
    return found


def _cut_off(message: AIMessage) -> str:
    """Why the message's calls may not be complete, a key of `REFUSED`; empty if they are.

    LangChain completes the arguments of a call that was cut off, and a completed call may mean something else.
    """
    match ending_of(message.response_metadata):
        case Ending.LENGTH | Ending.CONTEXT:
            return OutcomeCode.LENGTH.value
        case Ending.FAILED | Ending.FILTERED:
            return OutcomeCode.BROKEN_OFF.value
    return ""
