"""One message of a MESSAGES_SNAPSHOT, as AG-UI's schema wants it.

A browser drops the whole run over one `null` field, or one list where a string is due. So each message is rebuilt from the fields that its
role has. The order of messages and the pairing of calls with results are the business of `runs.graph.repair`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from middle_core.agui.jsonable import content_text, jsonable, text
from middle_core.events import Event

_STRINGS: Final[dict[str, tuple[str, ...]]] = {
    "developer": ("name",),
    "system": ("name",),
    "user": ("name",),
    "assistant": ("name", "encryptedValue"),
    "reasoning": ("encryptedValue",),
    "tool": ("toolCallId", "error", "encryptedValue"),
    "activity": ("activityType",),
}
"""The optional string fields of each role; a role not listed is no AG-UI message."""
_REQUIRED: Final = {"tool": "toolCallId", "activity": "activityType"}
_PARTS: Final = frozenset({"text", "image", "audio", "video", "document", "binary"})


def wire_message(message: object, *, budget: int) -> Event | None:
    """The message with only what its role has. None where it has no id, no known role, or lacks a required field.

    Args:
        message: anything.
        budget: characters of its JSON.

    Raises:
        TooBig: the message cannot fit the budget.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("id"), str):
        return None
    role = message.get("role")
    if not isinstance(role, str) or role not in _STRINGS:
        return None
    plain: Event = {"id": text(message["id"]), "role": str(role)}
    plain |= {key: text(message[key]) for key in _STRINGS[role] if isinstance(message.get(key), str)}
    if role in _REQUIRED and _REQUIRED[role] not in plain:
        return None
    content = message.get("content")
    if role == "activity":
        if not isinstance(content, Mapping):
            return None
        plain["content"] = jsonable(content, budget=budget)
    elif role == "user" and _is_parts(content):
        plain["content"] = [_without_nulls(part) for part in jsonable(content, budget=budget)]
    elif role != "assistant" or content is not None:
        plain["content"] = content_text(content, budget=budget)
    if role == "assistant" and isinstance(calls := message.get("toolCalls"), Sequence) and calls:
        plain["toolCalls"] = [call for call in (_call(one, budget) for one in calls) if call]
    if isinstance(metadata := message.get("metadata"), Mapping):
        plain["metadata"] = jsonable(metadata, budget=budget)
    return plain


def _call(call: object, budget: int) -> Event | None:
    if not isinstance(call, Mapping) or not isinstance(call.get("id"), str) or not isinstance(call.get("function"), Mapping):
        return None
    function = call["function"]
    name, arguments = function.get("name"), function.get("arguments")
    plain: Event = {
        "id": text(call["id"]),
        "type": "function",
        "function": {"name": text(name) if isinstance(name, str) else "unknown_tool", "arguments": content_text(arguments, budget=budget)},
    }
    if isinstance(call.get("encryptedValue"), str):
        plain["encryptedValue"] = text(call["encryptedValue"])
    return plain


def _is_parts(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, Mapping) and isinstance(part.get("type"), str) and part["type"] in _PARTS for part in content
    )


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
