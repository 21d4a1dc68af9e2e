"""The copilot's tools that a person has to approve: deleting a source, and following a plan.

What a card shows of a source is what backend-core says of it at that moment; the model only names the id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from middle_core.agents.approval import Card, needs_approval
from middle_core.agents.knowledge_copilot.knowledge import Knowledge
from middle_core.node_api.approvals import idempotency_key

MAX_STEPS: Final = 12
MAX_STEP_CHARS: Final = 300


def delete_tool(backend: Knowledge) -> BaseTool:
    """delete_source: for admins, once, and only the source that was on the card."""

    async def describe(args: Mapping[str, Any]) -> Card:
        source = await backend.get_source(args["source_id"])
        return Card(
            f"Delete “{source.name}” permanently?",
            {"Name": source.name, "Id": source.id, "Objects": source.object_count, "Kind": source.kind.value},
            confirm="Delete permanently",
            cancel="Cancel",
            danger=True,
            kind="delete_source",
        )

    @needs_approval(describe=describe, roles=("admin",), doing="Deleting", idempotent=True)
    @tool
    async def delete_source(
        source_id: Annotated[str, Field(min_length=1, max_length=200, description="The source's id, from list_sources.")],
        reason: Annotated[str, Field(max_length=500, description="Why, in a sentence, for the person who has to approve it.")] = "",
    ) -> dict[str, Any]:
        """Delete a source from the knowledge base for good. The user is shown it and has to confirm first; do not ask them yourself."""
        gone = await backend.delete_source(source_id, idempotency_key=idempotency_key())
        return {"deleted": True, "id": gone.source_id, "name": gone.name, "passages": gone.deleted_objects}

    return delete_source


def plan_tool() -> BaseTool:
    """confirm_plan: the person may change the steps before they are followed."""

    async def describe(_args: Mapping[str, Any]) -> Card:
        # No facts: goal and steps are the model's words, and the card shows them as such.
        return Card("Follow this plan?", confirm="Follow the plan", cancel="Drop it", kind="confirm_plan")

    @needs_approval(describe=describe, editable=("steps",), idempotent=True)
    @tool
    async def confirm_plan(
        goal: Annotated[str, Field(min_length=1, max_length=MAX_STEP_CHARS, description="What the plan is for, in a few words.")],
        steps: Annotated[
            list[Annotated[str, Field(min_length=1, max_length=MAX_STEP_CHARS)]],
            Field(min_length=1, max_length=MAX_STEPS, description="The steps, in order, each a short sentence."),
        ],
    ) -> dict[str, Any]:
        """Show the user a plan of several steps before following it. They may change the steps; follow what comes back."""
        return {"goal": goal, "steps": steps}

    return confirm_plan
