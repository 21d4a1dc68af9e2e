"""ingest_source: the job is watched step by step, its end is reported as it is, and only a contributor may add a source."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from middle_core.agents.knowledge_copilot.ingest import MAX_MISSES, ingest_tool
from middle_core.backend.contract.models import Deletion, IngestRequest, Job, JobStatus, SearchResult, Source, Stats
from middle_core.errors import BackendUnavailable
from middle_core.events import Custom
from tests.fakes.models import ScriptedModel, call
from tests.unit.agents.graphs import calls, graph_of, human, results
from tests.unit.agents.knowledge_copilot.test_graph import CONFIG, ask, caller, copilot

__all__ = ["caller"]  # a fixture

TEXT = {"title": "Otters", "text": "Otters hold hands while they sleep."}


async def test_a_text_becomes_a_source_and_its_steps_are_shown_under_the_call(tmp_path: Path, caller: Callable[[str], None]) -> None:
    caller("contributor")
    model = ScriptedModel(turns=[[call("ingest_source", TEXT, call_id="c0")], ["done"]])
    async with copilot(model, tmp_path) as agent:
        shown: list[dict[str, Any]] = [
            dict(event["data"])
            async for event in agent.graph.astream_events({"messages": [("user", "add it")]}, CONFIG, version="v2")
            if event["event"] == "on_custom_event" and event["name"] == Custom.PROGRESS
        ]
        state = (await agent.graph.aget_state(CONFIG)).values
    found = json.loads(results(state)["c0"].text)
    assert (found["status"], found["name"], found["passages"]) == ("done", "Otters", 1)
    assert {one["toolCallId"] for one in shown} == {"c0"}
    assert shown[-1]["fraction"] == 1.0
    assert [one["fraction"] for one in shown] == sorted(one["fraction"] for one in shown)


async def test_a_reader_may_not_and_both_or_none_is_refused(tmp_path: Path, caller: Callable[[str], None]) -> None:
    turns = [[call("ingest_source", args, call_id=key)] for key, args in (("a", TEXT), ("b", {**TEXT, "url": "https://x"}), ("c", {}))]
    async with copilot(ScriptedModel(turns=[*turns, ["x"]]), tmp_path) as agent:
        said = {key: message.text for key, message in results(await ask(agent, "go")).items()}
    assert "your role does not allow this" in said["a"]
    assert "Give either text or url" in said["b"]
    assert "Give either text or url" in said["c"]


async def test_an_internal_address_is_refused_by_the_knowledge_service(tmp_path: Path, caller: Callable[[str], None]) -> None:
    caller("contributor")
    model = ScriptedModel(turns=[[call("ingest_source", {"url": "http://127.0.0.1:80/"}, call_id="c0")], ["x"]])
    async with copilot(model, tmp_path) as agent:
        said = results(await ask(agent, "go"))["c0"].text
    assert said == "The tool ingest_source could not do this. This address is not on the public internet."


class Scripted:
    """A knowledge service whose job goes through these states. If a state is an exception, it is raised."""

    def __init__(self, states: Sequence[Job | Exception]) -> None:
        self.states = list(states)

    async def ingest(self, request: IngestRequest) -> Job:
        return job(JobStatus.queued)

    async def get_job(self, job_id: str) -> Job:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return state

    async def get_source(self, source_id: str) -> Source:
        return Source.model_validate(
            {"id": source_id, "name": "N", "kind": "text", "location": "", "object_count": 2, "created_at": "2026-01-01T00:00:00Z"}
        )

    async def search(self, query: str, *, k: int = 5, sources: Sequence[str] = ()) -> SearchResult:
        raise NotImplementedError

    async def list_sources(self) -> list[Source]:
        raise NotImplementedError

    async def delete_source(self, source_id: str, *, idempotency_key: str) -> Deletion:
        raise NotImplementedError

    async def stats(self) -> Stats:
        raise NotImplementedError


def job(status: JobStatus, **more: Any) -> Job:
    return Job(id="job-1", status=status, step="Step", progress=0.5, **more)


async def said_by(states: Sequence[Job | Exception], **options: float) -> str:
    """What the tool says of a job that goes through these states; the last one stays."""
    tool = ingest_tool(Scripted(states), look_every_s=0, **options)
    graph = graph_of([tool], calls(("c0", "ingest_source", {"text": "x"})))
    return results(await graph.ainvoke(human(), CONFIG))["c0"].text


async def test_a_service_that_restarts_does_not_make_a_job_look_failed() -> None:
    outage: list[Job | Exception] = [BackendUnavailable()] * (MAX_MISSES - 1)
    found = json.loads(await said_by([*outage, job(JobStatus.running), *outage, job(JobStatus.done, source_id="s")]))
    assert found == {"status": "done", "source_id": "s", "name": "N", "passages": 2}
    assert "The tool ingest_source could not do this." in await said_by([BackendUnavailable()])


async def test_a_job_that_takes_too_long_is_left_to_go_on() -> None:
    found = json.loads(await said_by([job(JobStatus.running)], watch_s=0.05))
    assert (found["status"], found["job"]) == ("running", "job-1")


async def test_a_failed_job_is_told_with_its_reason() -> None:
    assert (await said_by([job(JobStatus.failed, error="It is empty.")])).endswith("It is empty.")
    assert (await said_by([job(JobStatus.failed)])).endswith("did not say why.")
