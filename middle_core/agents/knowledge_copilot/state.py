"""What the knowledge copilot keeps of a conversation: the messages, what the page brought along, and the selection."""

from __future__ import annotations

from typing import Annotated, NotRequired

from middle_core.agents.frontend import FrontendState
from middle_core.agents.knowledge_copilot.selection import chosen


class State(FrontendState):
    """`messages` and `copilotkit` (the page's tools and readables).

    selected_sources: ids of the sources that searches look in; empty: all. The only key that a client writes.
    """

    selected_sources: NotRequired[Annotated[list[str], chosen]]
