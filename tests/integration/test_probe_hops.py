"""What `python -m middle_core probe` says of the lab's hops: the command itself, as an operator and a pipeline run it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel
from tests.fakes.stack import Stack, stack
from tests.integration.hops import HOPS, Made, bad_nginx, envoy
from tests.integration.lab import PROBE_KEY, Figures, port_of, probe, verdicts

pytestmark = pytest.mark.asyncio(loop_scope="module")

BEAT_S = 0.3
IDLE_S = 1.5
QUICK = ("--quick", "--events", "10")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    folder = tmp_path_factory.mktemp("probed")
    async with stack(folder, agents={"default": lambda: chat(ScriptedModel(turns=[]))}, heartbeat_s=BEAT_S, diag_key=PROBE_KEY) as server:
        yield server


@pytest.mark.parametrize("hop", HOPS)
async def test_a_good_hop_is_incremental(
    hop: Made, server: Stack, tmp_path: Path, figures: Figures, request: pytest.FixtureRequest
) -> None:
    async with hop(tmp_path, port_of(server)) as front:
        status, report = await probe(*QUICK, server.url, front.url)
    assert status == 0
    assert [verdicts(each) for each in report["hops"]] == [{"INCREMENTAL"}] * 2
    assert report["changes"] == []
    for each in report["hops"]:
        assert {cancel["kind"]: cancel["took_ms"] < 1000 for cancel in each["cancels"]} == {"talking": True, "silent": True}
    figures.hop(request.node.callspec.id, "probe says", "INCREMENTAL")


async def test_the_bad_nginx_is_named_as_the_hop_that_buffers(server: Stack, tmp_path: Path, figures: Figures) -> None:
    """The bad nginx stands behind Envoy. The probe names the first hop whose verdict changes."""
    async with envoy(tmp_path, port_of(server)) as ingress, bad_nginx(tmp_path, ingress.port) as bad:
        status, report = await probe(*QUICK, server.url, ingress.url, bad.url)
    assert status == 1
    behind, in_front = report["hops"][1:]
    assert verdicts(behind) == {"INCREMENTAL"}
    assert {stream["accept_encoding"]: stream["verdict"] for stream in in_front["streams"]}["gzip, br"] == "BUFFERED"
    named = {change["what"]: change["url"] for change in report["changes"]}
    assert named["verdict with gzip, br"] == bad.url
    assert named["content-encoding with gzip, br"] == bad.url
    figures.hop("nginx, badly configured", "probe says", "BUFFERED")


async def test_the_idle_timeout_of_the_ingress_is_found_and_named(server: Stack, tmp_path: Path) -> None:
    async with envoy(tmp_path, port_of(server), idle_s=IDLE_S) as ingress:
        status, report = await probe("--events", "10", "--silence", "0.5", "--silence", "3", ingress.url)
    [hop] = report["hops"]
    assert status == 0, "heartbeats keep streams open, so it is no fault"
    [cut] = hop["cuts"]
    assert (cut["kind"], cut["status"], cut["body"]) == ("idle", 504, "stream timeout")
    assert abs(cut["after_s"] - IDLE_S) < 0.5
    assert hop["heartbeats"]["level"] == "ok"
    assert abs(hop["heartbeats"]["interval_ms"] - BEAT_S * 1000) < 150


async def test_a_total_timeout_of_the_ingress_is_told_from_an_idle_one(server: Stack, tmp_path: Path) -> None:
    async with envoy(tmp_path, port_of(server), total_s=IDLE_S) as ingress:
        _, report = await probe("--events", "10", "--gap-ms", "50", "--silence", "3", ingress.url)
    [hop] = report["hops"]
    assert [cut["kind"] for cut in hop["cuts"]] == ["total"]
    assert hop["cuts"][0]["body"] == "upstream request timeout"
