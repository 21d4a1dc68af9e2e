"""demo.ingest: a job moves through its steps, one bad job does not end the worker, and the queue is bounded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from middle_core.backend.contract.models import IngestRequest, Job, JobStatus
from middle_core.demo.fetching import FetchRefused, Page
from middle_core.demo.ingest import MAX_WAITING, Fetch, Ingest, one_line
from middle_core.demo.library import Library
from middle_core.errors import RateLimited


async def no_fetch(url: str) -> Page:
    raise FetchRefused(f"{url} is not fetched here.")


@asynccontextmanager
async def working(folder: Path, fetch: Fetch = no_fetch) -> AsyncIterator[tuple[Ingest, Library]]:
    with Library(folder / "b.db") as library:
        ingest = Ingest(library, fetch, pace_s=0)
        async with asyncio.TaskGroup() as group:
            worker = group.create_task(ingest.run())
            yield ingest, library
            worker.cancel()


async def end_of(library: Library, job: Job) -> Job:
    async with asyncio.timeout(10):
        while job.status not in (JobStatus.done, JobStatus.failed):
            job = await asyncio.to_thread(library.get_job, job.id, "a")
    return job


async def test_a_text_becomes_a_source(tmp_path: Path) -> None:
    async with working(tmp_path) as (ingest, library):
        job = await ingest.submit("a", IngestRequest(text="# Otters\n\nThey hold hands."))
        assert (job.status, job.progress, job.source_id) == (JobStatus.queued, 0, None)
        job = await end_of(library, job)
        assert (job.status, job.progress, job.error) == (JobStatus.done, 1.0, None)
        assert job.source_id is not None
        source = library.get_source(job.source_id)
        assert (source.name, source.kind, source.location, source.object_count) == ("Otters", "text", "", 1)


async def test_a_page_becomes_a_source_with_its_address(tmp_path: Path) -> None:
    async def fetch(url: str) -> Page:
        return Page(url + "?final", "The page", "Words.")

    async with working(tmp_path, fetch) as (ingest, library):
        job = await end_of(library, await ingest.submit("a", IngestRequest(url="https://example.org/")))
        source = library.get_source(job.source_id or "")
        assert (source.name, source.kind, source.location) == ("The page", "url", "https://example.org/?final")


async def test_its_progress_can_be_watched(tmp_path: Path) -> None:
    gate = asyncio.Event()
    reached = asyncio.Event()

    async def fetch(url: str) -> Page:
        reached.set()
        await gate.wait()
        return Page(url, "", "Words.")

    async with working(tmp_path, fetch) as (ingest, library):
        job = await ingest.submit("a", IngestRequest(url="https://example.org/"))
        await asyncio.wait_for(reached.wait(), 5)
        seen = library.get_job(job.id, "a")
        assert (seen.status, seen.step, seen.progress) == (JobStatus.running, "Fetching the page", 0.1)
        gate.set()
        assert (await end_of(library, job)).step == "Added with 1 passages"


async def test_a_refused_page_and_an_empty_text_fail_in_words_and_the_worker_goes_on(tmp_path: Path) -> None:
    async with working(tmp_path) as (ingest, library):
        jobs = [await ingest.submit("a", request) for request in (IngestRequest(url="http://10.0.0.1/"), IngestRequest(text=" \n "))]
        ended = [await end_of(library, job) for job in jobs]
        assert [(job.status, job.error) for job in ended] == [
            (JobStatus.failed, "http://10.0.0.1/ is not fetched here."),
            (JobStatus.failed, "There is no text in it."),
        ]
        assert library.list_sources() == []
        assert (await end_of(library, await ingest.submit("a", IngestRequest(text="Fine.")))).status is JobStatus.done


async def test_a_bug_is_logged_told_without_its_text_and_the_worker_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_: str) -> Page:
        raise RuntimeError("secret://internals")

    async with working(tmp_path, broken) as (ingest, library):
        with caplog.at_level(logging.ERROR):
            job = await end_of(library, await ingest.submit("a", IngestRequest(url="https://example.org/")))
        assert job.status is JobStatus.failed
        assert "secret" not in (job.error or "")
        assert "secret://internals" in caplog.text
        assert (await end_of(library, await ingest.submit("a", IngestRequest(text="Fine.")))).status is JobStatus.done


async def test_the_queue_is_bounded_also_for_those_who_come_together(tmp_path: Path) -> None:
    with Library(tmp_path / "b.db") as library:
        ingest = Ingest(library, no_fetch, pace_s=0)
        results = await asyncio.gather(
            *(ingest.submit("a", IngestRequest(text="x")) for _ in range(MAX_WAITING + 5)), return_exceptions=True
        )
        refused = [result for result in results if isinstance(result, RateLimited)]
        assert len(refused) == 5
        assert all(error.retry_after for error in refused)
        assert library.stats().jobs_running == MAX_WAITING
        async with asyncio.TaskGroup() as group, asyncio.timeout(10):
            worker = group.create_task(ingest.run())
            while library.stats().jobs_running:
                await asyncio.to_thread(library.list_sources)
            assert (await ingest.submit("a", IngestRequest(text="x"))).status is JobStatus.queued
            worker.cancel()


def test_a_name_is_one_short_line() -> None:
    assert one_line("# A\u202e\n title") == "A title"
    assert len(one_line("word " * 100)) <= 120
