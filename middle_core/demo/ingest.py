"""The stand-in's ingest jobs: one worker, a bounded queue, steps that can be watched.

`pace_s` is the least time a step takes, so that a person can see a demo's job move; tests set 0.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from middle_core.backend.contract.models import IngestRequest, Job, SourceKind
from middle_core.demo.fetching import FetchRefused, Page
from middle_core.demo.library import Document, Library, new_source_id
from middle_core.demo.passages import title_of
from middle_core.errors import RateLimited

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 20
MAX_NAME_CHARS: Final = 120

Fetch: TypeAlias = Callable[[str], Awaitable[Page]]


class Ingest:
    """Accepts requests and works them off in order, while `run` runs."""

    def __init__(self, library: Library, fetch: Fetch, *, pace_s: float) -> None:
        self._library = library
        self._fetch = fetch
        self._pace_s = pace_s
        self._waiting: asyncio.Queue[tuple[str, IngestRequest]] = asyncio.Queue()
        self._places = MAX_WAITING

    async def submit(self, owner: str, request: IngestRequest) -> Job:
        """Queue a request; the job can be followed. Raises `RateLimited` while the queue is full."""
        if not self._places:
            raise RateLimited("Too many sources are being added. Try again in a moment.", retry_after=max(1.0, self._pace_s * 4))
        self._places -= 1  # taken before the first await, or those who come together would all see a free one
        try:
            job = await asyncio.to_thread(self._library.start_job, owner)
        except BaseException:
            self._places += 1
            raise
        self._waiting.put_nowait((job.id, request))
        return job

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            job_id, request = await self._waiting.get()
            self._places += 1
            try:
                await self._work(job_id, request)
            except FetchRefused as refused:
                await self._move(job_id, "failed", "Stopped", 1.0, error=str(refused))
            except Exception:
                # One bad job must not end the worker: it is logged here and told in the job.
                logger.exception("Ingest job %s failed.", job_id)
                await self._move(job_id, "failed", "Stopped", 1.0, error="Something went wrong while the source was added.")

    async def _work(self, job_id: str, request: IngestRequest) -> None:
        if request.url is not None:
            await self._move(job_id, "running", "Fetching the page", 0.1)
            page = await self._fetch(request.url)
            kind, location, text, title = SourceKind.url, page.url, page.text, page.title
        else:
            await self._move(job_id, "running", "Reading the text", 0.1)
            kind, location, text, title = SourceKind.text, "", request.text or "", ""
        if not text.strip():
            raise FetchRefused("There is no text in it.")
        await self._move(job_id, "running", "Splitting into passages", 0.4)
        name = one_line(request.title or title or title_of(text, "") or location or text)
        document = Document(new_source_id(name), name, kind, location, text)
        await self._move(job_id, "running", "Indexing", 0.7)
        count = await asyncio.to_thread(self._library.add, document)
        await self._move(job_id, "done", f"Added with {count} passages", 1.0, source_id=document.source_id)

    async def _move(
        self, job_id: str, status: str, step: str, progress: float, *, source_id: str | None = None, error: str | None = None
    ) -> None:
        await asyncio.to_thread(
            self._library.move_job, job_id, status=status, step=step, progress=progress, source_id=source_id, error=error
        )
        if status == "running":
            await asyncio.sleep(self._pace_s)


def one_line(text: str) -> str:
    """A name for a source: the start of the text, printable, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: MAX_NAME_CHARS * 2]).split()).lstrip("# ")
    return line if len(line) <= MAX_NAME_CHARS else line[: MAX_NAME_CHARS - 1] + "…"
