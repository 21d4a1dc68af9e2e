"""The tool that adds a source: it hands the text or the URL to backend-core and tells how the job goes.

A URL is fetched by backend-core, which guards against internal addresses; this process never opens it. Stopping the
run stops the watching: backend-core may still finish a job that it has begun.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from pydantic import Field

from middle_core.agents.knowledge_copilot.knowledge import Knowledge
from middle_core.backend.contract.models import IngestRequest, Job, JobStatus
from middle_core.errors import BackendUnavailable
from middle_core.node_api import emit

LOOK_EVERY_S: Final = 0.25
WATCH_S: Final = 120.0
"""After that the tool says that the job goes on, and no longer watches it."""
MAX_MISSES: Final = 4
"""Looks in a row that may fail: a service that restarts must not make a job look failed that is not."""

MAX_TEXT_CHARS: Final = 100_000


def ingest_tool(backend: Knowledge, *, look_every_s: float = LOOK_EVERY_S, watch_s: float = WATCH_S) -> BaseTool:
    """ingest_source. It changes the knowledge base, so a crash never makes it run again."""

    @tool
    async def ingest_source(
        tool_call_id: Annotated[str, InjectedToolCallId],
        text: Annotated[
            str | None, Field(min_length=1, max_length=MAX_TEXT_CHARS, description="The text to add, exactly as given.")
        ] = None,
        url: Annotated[str | None, Field(min_length=1, max_length=2_000, description="The address of a public page to add.")] = None,
        title: Annotated[str | None, Field(max_length=200, description="What to call it. Without one it gets its own first words.")] = None,
    ) -> dict[str, Any]:
        """Add a source to the knowledge base: either a text or the address of a public page, not both."""
        if (text is None) == (url is None):
            raise ToolException("Give either text or url, one of them.")
        job = await backend.ingest(IngestRequest(title=title, text=text, url=url))
        try:
            async with asyncio.timeout(watch_s):
                job = await _watched(backend, job, tool_call_id, look_every_s)
        except TimeoutError:
            return {"status": "running", "job": job.id, "note": "It is still being added; it will turn up in the list of sources."}
        if job.status is JobStatus.failed:
            raise ToolException(job.error or "The knowledge service did not say why.")
        if job.source_id is None:
            return {"status": "done", "note": job.step}
        source = await backend.get_source(job.source_id)
        return {"status": "done", "source_id": source.id, "name": source.name, "passages": source.object_count}

    return ingest_source


async def _watched(backend: Knowledge, job: Job, tool_call_id: str, look_every_s: float) -> Job:
    """The job when it is over. Each change is shown."""
    told: tuple[str, float] | None = None
    misses = 0
    while True:
        now = (job.step, job.progress)
        if now != told and job.status is not JobStatus.failed:
            await emit.progress(job.step, job.progress, tool_call_id=tool_call_id)
            told = now
        if job.status in (JobStatus.done, JobStatus.failed):
            return job
        await asyncio.sleep(look_every_s)
        try:
            job, misses = await backend.get_job(job.id), 0
        except BackendUnavailable:
            misses += 1
            if misses >= MAX_MISSES:
                raise
