"""Real endpoints: the stock AG-UI endpoint of the SDK, and addresses that are no such endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from copilotkit import LangGraphAGUIAgent
from fastapi import FastAPI

from middle_core.probe import Options, Report, Target, Verdict, probe
from middle_core.probe.door import heartbeats, judged_by
from middle_core.probe.report import Level
from middle_core.probe.wire import Taken
from tests.fakes import hops
from tests.fakes.hops import Hop
from tests.fakes.http_server import HttpServer, always, answer, serving, tls
from tests.scenarios import slow_agent


@pytest.fixture
async def stock() -> AsyncIterator[str]:
    """The SDK's own endpoint, with an agent that counts aloud."""
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, LangGraphAGUIAgent(name="stock", graph=slow_agent.build()), "/agent")
    async with serving(app) as url:
        yield url


async def look(*urls: str, door: Any = "agui", **changes: Any) -> Report:
    options = Options(**{"prompt": "count 40", "tls": tls(), "run_s": 10.0, **changes})
    return await probe([Target(url, door) for url in urls], options)


@pytest.mark.slow
async def test_the_stock_endpoint_and_a_hop_that_buffers_it(stock: str) -> None:
    async with serving(Hop(stock, hops.buffered)) as bad:
        report = await look(stock + "/agent", bad + "/agent")
    direct, behind = report.hops
    assert direct.verdict is Verdict.INCREMENTAL
    assert {check.name for check in direct.headers if check.level is Level.WARN} == {"cache-control", "x-accel-buffering"}
    assert len(direct.streams[0].arrived_ms) > 40
    assert behind.verdict is Verdict.BUFFERED
    assert [(change.what, change.hop) for change in report.changes][:1] == [("verdict with identity", 1)]
    assert report.exit_code == 1


@pytest.mark.slow
async def test_a_hop_that_holds_back_in_groups_and_one_that_compresses(stock: str) -> None:
    async with serving(Hop(stock, hops.bursts(50))) as groups, serving(Hop(stock, hops.gzip_held, encoding="gzip")) as gzip:
        report = await look(groups + "/agent", gzip + "/agent", prompt="count 100")
    assert [[stream.verdict for stream in hop.streams] for hop in report.hops] == [
        [Verdict.PARTIAL, Verdict.PARTIAL],
        [Verdict.INCREMENTAL, Verdict.BUFFERED],
    ]


@pytest.mark.slow
async def test_a_run_that_a_hop_breaks_off_is_bad(stock: str) -> None:
    async with serving(Hop(stock, total_s=0.7)) as url:
        report = await look(url + "/agent", prompt="count 100")
    assert {stream.ended for stream in report.hops[0].streams} <= {"closed", "reset"}
    assert "broken off" in report.hops[0].streams[0].words
    assert report.exit_code == 1


async def test_a_run_that_is_too_short_tells_nothing(stock: str) -> None:
    report = await look(stock + "/agent", prompt="count 2")
    assert report.hops[0].verdict is Verdict.UNCLEAR
    assert report.exit_code == 2


async def test_a_run_that_fails_is_told_by_its_code_and_not_by_its_text(stock: str) -> None:
    report = await look(stock + "/agent", prompt="canary")
    problem = report.hops[0].problem
    assert problem is not None
    assert problem.code == "run_error"
    assert "canary" not in report.model_dump_json()
    assert report.exit_code == 2


STREAM = {"content-type": "text/event-stream"}


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (answer(401), "unauthorized"),
        (answer(403), "forbidden"),
        (answer(404), "not_found"),
        (answer(405), "not_found"),
        (answer(307, headers={"location": "/elsewhere"}), "redirect"),
        (answer(503), "unavailable"),
        (answer(500, b"Traceback"), "refused"),
        (answer(200, b"<html>", {"content-type": "text/html"}), "no_stream"),
        (answer(200, b"", STREAM), "no_events"),
        (answer(200, b": hello\n\n", STREAM), "no_events"),
        (answer(200, b"data: [DONE]\n\n", STREAM), "not_agui"),
        (answer(200, b'data: {"choices": []}\n\n', STREAM), "not_agui"),
        (None, "silent"),
    ],
)
async def test_what_is_no_ag_ui_endpoint(response: bytes | None, code: str) -> None:
    async with HttpServer(always(response)) as server:
        report = await look(server.url)
    problem = report.hops[0].problem
    assert problem is not None
    assert (problem.code, report.exit_code) == (code, 2)
    assert problem.words.endswith((".", "?"))


def test_times_that_the_events_carry_decide_whatever_the_clocks_say() -> None:
    """The other clock is an hour ahead, and the hop holds back three events at a time. Arrival times alone do not show that."""
    made = [3.6e6 + number * 100 for number in range(12)]
    arrived = [(number // 3 * 3 + 2) * 100.0 for number in range(12)]
    sent, judged = judged_by(arrived, [{"type": "T", "timestamp": at} for at in made])
    assert (judged.verdict, judged.burst) == (Verdict.PARTIAL, 3)
    assert sent[:2] == [0.0, 100.0]
    assert judged_by(arrived, [{"type": "T"}] * 12)[0] == []


def test_heartbeats_of_a_silent_answer_are_timed() -> None:
    taken = Taken(reads=[(5.0, 10), (10_005.0, 10), (20_010.0, 10), (20_500.0, 9)], comments=[5.0, 10_005.0, 20_010.0])
    told = heartbeats([taken])
    assert (told.seen, told.interval_ms) == (2, 10_005.0)
    assert heartbeats([Taken()]).interval_ms is None
