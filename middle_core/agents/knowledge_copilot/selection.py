"""The sources a person works with: a key of the state that the page and the agent both write.

The page sets it as CopilotKit's agent state, the agent with `select_sources`; `search_knowledge` looks only there.
An empty selection means all sources. What comes from a browser is untrusted: it is cut to a list of ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.types import Command
from pydantic import Field

from middle_core.agents.knowledge_copilot.knowledge import Knowledge
from middle_core.agents.tool_text import as_text
from middle_core.backend.contract.models import Source

SELECTED: Final = "selected_sources"
"""The key in the state."""

MAX_SELECTED: Final = 100
"""They travel in the address of a search."""
MAX_ID_CHARS: Final = 200


def chosen(before: list[str], now: Any) -> list[str]:
    """The state's reducer: the newest selection takes the place of the one before, if it is one."""
    if not isinstance(now, list):
        return before
    ids = [one for one in now if isinstance(one, str) and 0 < len(one) <= MAX_ID_CHARS]
    return list(dict.fromkeys(ids))[:MAX_SELECTED]


def selection_tool(backend: Knowledge) -> BaseTool:
    """select_sources. It writes the state and nothing else."""

    @tool
    async def select_sources(
        tool_call_id: Annotated[str, InjectedToolCallId],
        names: Annotated[
            list[Annotated[str, Field(max_length=MAX_ID_CHARS)]],
            Field(
                max_length=MAX_SELECTED,
                description="Names or ids of the sources, or telling parts of their names. Empty: search in all again.",
            ),
        ],
    ) -> Command[Any]:
        """Limit searches to these sources, or to none in particular. The page shows the selection and can change it."""
        found = matching(names, await backend.list_sources() if names else ())
        if names and not found:
            raise ToolException(f"No source is called {' or '.join(names[:5])}. list_sources tells which there are.")
        said = {"selected": [{"id": one.id, "name": one.name} for one in found]}
        message = ToolMessage(as_text(said), tool_call_id=tool_call_id)
        return Command(update={SELECTED: [one.id for one in found], "messages": [message]})

    return select_sources


def matching(names: Sequence[str], sources: Sequence[Source]) -> list[Source]:
    """The sources that are meant: by id, else by name, else all whose name holds the words. Case does not matter."""
    found: dict[str, Source] = {}
    for name in names:
        wanted = name.strip().casefold()
        exact = [one for one in sources if wanted in (one.id.casefold(), one.name.casefold())]
        for one in exact or [one for one in sources if wanted and wanted in one.name.casefold()]:
            found.setdefault(one.id, one)
    return list(found.values())[:MAX_SELECTED]
