"""The probe through the real Next: `/api/diag` shows what this tier does. The probe finds every real endpoint and cleans up after itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from middle_core.probe import Options, Target, Verdict, probe
from middle_core.probe.report import Level
from tests.fakes.http_server import tls
from tests.fakes.stack import stack
from tests.integration.lab import port_of, web_tier

AGENT = {"slow": "tests.scenarios.slow_agent:build"}


async def test_next_passes_streams_silences_and_a_leaving_on(tmp_path: Path) -> None:
    async with stack(tmp_path / "data", heartbeat_s=1, agents=AGENT) as server, web_tier(tmp_path, FRONTEND_CORE_DIAG="1") as web:
        web.core.target = port_of(server)
        options = Options(token=server.token, silences_s=(3.0,), real_doors=True, prompt="count 60", tls=tls())
        report = await probe([Target(server.url), Target(web.url)], options)
        threads = (await server.get("/threads")).json()["threads"]
    assert report.exit_code == 0, report.model_dump_json(indent=2)
    assert [(hop.door, hop.url.removeprefix(server.url).removeprefix(web.url)) for hop in report.hops] == [
        ("diag", ""),
        ("diag", ""),
        ("agui", "/copilotkit"),
        ("chat", "/chat"),
        ("agui", "/api/copilotkit/agent/default/run"),
    ]
    assert {hop.verdict for hop in report.hops} == {Verdict.INCREMENTAL}
    assert {check.level for hop in report.hops for check in hop.headers} == {Level.OK}, "each hop says its headers again"
    behind = report.hops[1]
    assert all(rung.survived for rung in behind.silences)
    assert behind.heartbeats is not None
    assert behind.heartbeats.interval_ms == pytest.approx(1000, abs=300)
    assert all(cancel.took_ms is not None and cancel.took_ms < 1000 for cancel in behind.cancels)
    assert report.changes == []
    assert threads == [], "what the probe began is gone"


async def test_next_without_the_switch_says_what_to_switch_on(tmp_path: Path) -> None:
    async with stack(tmp_path / "data", agents=AGENT) as server, web_tier(tmp_path) as web:
        web.core.target = port_of(server)
        report = await probe([Target(web.url)], Options(token=server.token, tls=tls()))
    problem = report.hops[0].problem
    assert problem is not None
    assert problem.code == "no_diag"
    assert "FRONTEND_CORE_DIAG=1" in problem.words
    assert report.exit_code == 2
