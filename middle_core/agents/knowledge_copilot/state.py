"""What the knowledge copilot keeps of a conversation: the messages, and what the page brought along."""

from __future__ import annotations

from middle_core.agents.frontend import FrontendState


class State(FrontendState):
    """`messages` and `copilotkit` (the page's tools and readables). A client writes nothing else."""
