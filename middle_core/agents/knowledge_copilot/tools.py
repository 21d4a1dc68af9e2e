"""The knowledge copilot's tools: what it may ask of backend-core, as the person who is asking.

Results are small JSON objects made for a model to read and cite. Who may see what is backend-core's business.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Protocol

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from middle_core.agents.guard import repeatable
from middle_core.backend.contract.models import SearchResult, Source, Stats

DEFAULT_PASSAGES: Final = 5
MAX_PASSAGES: Final = 20
MAX_PASSAGE_CHARS: Final = 4_000
MAX_SOURCES: Final = 200


class Knowledge(Protocol):
    """What the tools need of `backend.client.BackendClient`."""

    async def search(self, query: str, *, k: int = 5) -> SearchResult: ...
    async def list_sources(self) -> list[Source]: ...
    async def stats(self) -> Stats: ...


def knowledge_tools(backend: Knowledge) -> list[BaseTool]:
    """search_knowledge, list_sources and get_stats. All of them only read, so a crash may repeat them."""

    @tool
    async def search_knowledge(
        query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in key words or as a question.")],
        k: Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="How many passages to return at most.")] = DEFAULT_PASSAGES,
    ) -> dict[str, Any]:
        """Search the knowledge base. Returns the best passages with their titles, best first."""
        found = await backend.search(query, k=k)
        return {
            "query": query,
            "passages": [{"title": hit.title, "location": hit.location, "text": hit.text[:MAX_PASSAGE_CHARS]} for hit in found.hits[:k]],
        }

    @tool
    async def list_sources() -> dict[str, Any]:
        """List the documents that the knowledge base holds."""
        sources = await backend.list_sources()
        shown = [{"name": s.name, "kind": s.kind.value, "passages": s.object_count} for s in sources[:MAX_SOURCES]]
        return {"total": len(sources), "sources": shown}

    @tool
    async def get_stats() -> dict[str, Any]:
        """Numbers about the knowledge base: how many sources and passages it has, how many questions it has answered."""
        stats = await backend.stats()
        return {
            "sources": stats.sources,
            "passages": stats.objects,
            "queries_served": stats.queries_served,
            "jobs_running": stats.jobs_running,
            "last_days": [{"day": d.day.isoformat(), "queries": d.queries, "ingested": d.ingested} for d in stats.per_day[-7:]],
        }

    return [repeatable(made) for made in (search_knowledge, list_sources, get_stats)]
