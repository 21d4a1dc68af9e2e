"""The knowledge copilot's tools: what it may ask of backend-core, as the person who is asking.

Results are small JSON objects made for a model to read and cite. Who may see what is backend-core's business.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import InjectedState
from pydantic import Field

from middle_core.agents.guard import repeatable
from middle_core.agents.knowledge_copilot.guarded import delete_tool, plan_tool
from middle_core.agents.knowledge_copilot.ingest import ingest_tool
from middle_core.agents.knowledge_copilot.knowledge import Knowledge
from middle_core.agents.knowledge_copilot.selection import SELECTED, selection_tool

DEFAULT_PASSAGES: Final = 5
MAX_PASSAGES: Final = 20
MAX_PASSAGE_CHARS: Final = 4_000
MAX_SOURCES: Final = 200
DAYS: Final = 7
MAX_ITEMS_CHARS: Final = 32_000
"""Of JSON: a longer result would be cut in the middle, and then it is JSON no more and no card can show it."""


def knowledge_tools(backend: Knowledge) -> list[BaseTool]:
    """All tools of the copilot. Those that only read may be repeated after a crash; ingest_source may not; the guarded ones see to it."""

    @tool
    async def search_knowledge(
        selected: Annotated[list[str], InjectedState(SELECTED)],
        query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in key words or as a question.")],
        k: Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="How many passages to return at most.")] = DEFAULT_PASSAGES,
    ) -> dict[str, Any]:
        """Search the knowledge base, or the sources that are selected. Returns the best passages with their titles, best first."""
        found = await backend.search(query, k=k, sources=selected)
        passages = [
            {
                "title": hit.title,
                "location": hit.location,
                "source": hit.source_id,
                "score": hit.score,
                "text": hit.text[:MAX_PASSAGE_CHARS],
            }
            for hit in found.hits[:k]
        ]
        return {"query": query, **({"limited_to": selected} if selected else {}), "passages": fitting(passages)}

    @tool
    async def list_sources() -> dict[str, Any]:
        """List the documents that the knowledge base holds."""
        sources = await backend.list_sources()
        shown = [
            {"id": s.id, "name": s.name, "kind": s.kind.value, "passages": s.object_count, "added": s.created_at.date().isoformat()}
            for s in sources[:MAX_SOURCES]
        ]
        return {"total": len(sources), "sources": fitting(shown)}

    @tool
    async def get_stats() -> dict[str, Any]:
        """How many sources and passages the knowledge base has, how many questions it has answered, the last week day by day."""
        return await _numbers(backend, DAYS)

    @tool
    async def cockpit_metrics() -> dict[str, Any]:
        """The cockpit: what the knowledge base holds and does, with all days that are on record. The page draws it."""
        return await _numbers(backend, None)

    reading = [search_knowledge, list_sources, get_stats, cockpit_metrics, selection_tool(backend)]
    return [*(repeatable(made) for made in reading), ingest_tool(backend), delete_tool(backend), plan_tool()]


def fitting(items: Sequence[dict[str, Any]], room: int = MAX_ITEMS_CHARS) -> list[dict[str, Any]]:
    """As many of the first items as fit into a result."""
    kept: list[dict[str, Any]] = []
    for item in items:
        room -= len(json.dumps(item, ensure_ascii=False)) + 1
        if room < 0:
            break
        kept.append(item)
    return kept


async def _numbers(backend: Knowledge, days: int | None) -> dict[str, Any]:
    stats = await backend.stats()
    shown = stats.per_day if days is None else stats.per_day[-days:]
    return {
        "sources": stats.sources,
        "passages": stats.objects,
        "queries_served": stats.queries_served,
        "jobs_running": stats.jobs_running,
        "last_days": [{"day": d.day.isoformat(), "queries": d.queries, "ingested": d.ingested} for d in shown],
    }
