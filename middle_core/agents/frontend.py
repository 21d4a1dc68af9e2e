"""What the browser brings into a graph's state: its tools, and what the page makes readable to the agent.

The shape is CopilotKit's (`state["copilotkit"]`: `actions` and `context`), as the AG-UI source writes it.
All of it comes from the client: names are checked, sizes bounded, and readables are data, never instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NotRequired

from langgraph.graph import MessagesState
from typing_extensions import TypedDict  # pydantic makes no JSON schema of typing's before Python 3.12

MAX_FRONTEND_TOOLS: Final = 64
MAX_READABLES_CHARS: Final = 20_000

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Frontend(TypedDict, total=False):
    """actions: AG-UI tools as `{name, description, parameters}`; context: `{description, value}`."""

    actions: list[Any]
    context: list[Any]


class FrontendState(MessagesState):
    """The state of a graph that talks to a CopilotKit page."""

    copilotkit: NotRequired[Frontend]


def part(state: Any, key: str) -> Any:
    """A part of a graph's state, which may be a mapping, a dataclass or a pydantic model; None if it is not there."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def frontend_tools(state: Any, *, shadowed_by: Collection[str] = ()) -> list[dict[str, Any]]:
    """The browser's tools in the form `bind_tools` takes; none that has the name of a server tool."""
    tools: dict[str, dict[str, Any]] = {}
    for action in _items(state, "actions"):
        name, parameters = action.get("name"), action.get("parameters")
        if not (isinstance(name, str) and _TOOL_NAME.fullmatch(name)) or name in shadowed_by or name in tools:
            continue
        schema = parameters if isinstance(parameters, dict) and parameters.get("type") == "object" else {"type": "object", "properties": {}}
        function = {"name": name, "description": str(action.get("description") or ""), "parameters": schema}
        tools[name] = {"type": "function", "function": function}
        if len(tools) == MAX_FRONTEND_TOOLS:
            break
    return list(tools.values())


def frontend_tool_names(state: Any) -> frozenset[str]:
    """The names of the tools that the browser runs."""
    return frozenset(tool["function"]["name"] for tool in frontend_tools(state))


def readables(state: Any) -> str:
    """What the page makes readable, one JSON object a line; empty if nothing. No line can close a tag around it."""
    lines: list[str] = []
    room = MAX_READABLES_CHARS
    for item in _items(state, "context"):
        line = json.dumps({"description": item.get("description"), "value": item.get("value")}, ensure_ascii=False, default=str)
        line = line.replace("<", "\\u003c")
        room -= len(line)
        if room < 0:
            lines.append('{"note": "The page shares more than fits; the rest is left out."}')
            break
        lines.append(line)
    return "\n".join(lines)


def _items(state: Any, key: str) -> list[dict[str, Any]]:
    brought = part(state, "copilotkit")
    items = brought.get(key) if isinstance(brought, Mapping) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
