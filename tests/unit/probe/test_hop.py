"""Each kind of hop, running on loopback, and what the probe says of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from middle_core.probe import Hop as Told
from middle_core.probe import Options, Report, Target, Verdict, probe
from middle_core.probe.report import Level, said
from tests.fakes import hops
from tests.fakes.hops import Hop
from tests.fakes.http_server import HttpServer, Request, always, answer, serving, tls
from tests.fakes.tokens import mint
from tests.unit.probe.conftest import KEY

pytestmark = pytest.mark.slow  # they take as long as the times that they measure


def options(**changes: Any) -> Options:
    """Quick: streams of 0.6 s, no silences, no cancels."""
    return Options(**{"diag_key": KEY, "events": 12, "gap_ms": 50, "silences_s": (), "cancel": False, "tls": tls(), **changes})


async def look(*urls: str, **changes: Any) -> Report:
    return await probe([Target(url) for url in urls], options(**changes))


async def one(url: str, **changes: Any) -> Told:
    report = await look(url, **changes)
    assert report.hops[0].problem is None, report.hops[0].problem
    return report.hops[0]


@asynccontextmanager
async def hop(origin: str, *args: Any, **options: Any) -> AsyncIterator[str]:
    async with serving(Hop(origin, *args, **options)) as url:
        yield url


# verdicts -----------------------------------------------------------------------------------------
async def test_the_server_itself_is_good(origin: str) -> None:
    report = await look(origin, silences_s=(0.5, 1.0), cancel=True)
    [told] = report.hops
    assert told.verdict is Verdict.INCREMENTAL
    assert [stream.wire_reads >= 12 for stream in told.streams] == [True, True]
    assert told.heartbeats is not None
    assert told.heartbeats.interval_ms == pytest.approx(200, abs=60)
    assert [one.survived for one in told.silences] == [True] * 4
    assert told.cuts == []
    assert all(cancel.took_ms is not None for cancel in told.cancels)
    assert {check.level for check in told.headers} == {Level.OK}
    assert report.exit_code == 0


async def test_a_buffering_hop(origin: str) -> None:
    async with hop(origin, hops.buffered) as url:
        report = await look(url)
    assert [said(stream) for stream in report.hops[0].streams] == ["BUFFERED", "BUFFERED"]
    stream = report.hops[0].streams[0]
    assert stream.headers_ms is not None
    assert stream.headers_ms > 500, "such a hop holds the headers, too"
    assert "at once, at its end" in stream.words
    assert report.exit_code == 1


@pytest.mark.parametrize("size", [2, 3])
async def test_a_hop_that_sends_in_bursts(origin: str, size: int) -> None:
    async with hop(origin, hops.bursts(size)) as url:
        told = await one(url, events=14, gap_ms=100)
    assert [said(stream) for stream in told.streams] == [f"PARTIAL(burst {size})"] * 2


async def test_a_hop_that_is_late(origin: str) -> None:
    async with hop(origin, hops.delayed(0.25)) as url:
        told = await one(url)
    assert [stream.verdict for stream in told.streams] == [Verdict.DELAYED] * 2
    assert told.streams[0].late_ms == pytest.approx(250, abs=100)
    assert "http-no-delay" in told.streams[0].words


async def test_a_request_that_had_to_wait_is_no_late_stream(origin: str) -> None:
    """The machine paused while a stream was requested, and not while it came."""
    async with hop(origin, holds=[0, 0, 0, 0.4]) as url:
        told = await one(url)
    assert [stream.verdict for stream in told.streams] == [Verdict.INCREMENTAL] * 2
    assert max(stream.first_byte_ms or 0 for stream in told.streams) >= 400, "it did wait"


@pytest.mark.parametrize(
    ("bend", "encoding", "verdict"),
    [
        (hops.gzip_held, "gzip", Verdict.BUFFERED),
        (hops.gzip_flushed, "gzip", Verdict.INCREMENTAL),
        (hops.br_held, "br", Verdict.BUFFERED),
        (hops.br_flushed, "br", Verdict.INCREMENTAL),
    ],
)
async def test_a_hop_that_compresses_for_those_who_accept_it(origin: str, bend: hops.Bend, encoding: str, verdict: Verdict) -> None:
    async with hop(origin, bend, encoding=encoding) as url:
        report = await look(url)
    plain, compressed = report.hops[0].streams
    assert (plain.verdict, plain.content_encoding) == (Verdict.INCREMENTAL, None)
    assert (compressed.verdict, compressed.content_encoding) == (verdict, encoding)
    assert len(compressed.arrived_ms) == 12, "the events are read all the same"
    assert ("exclude text/event-stream" in compressed.words) == (verdict is Verdict.BUFFERED)
    assert next(check for check in report.hops[0].headers if check.name == "content-encoding").level is Level.WARN
    assert report.exit_code == (1 if verdict is Verdict.BUFFERED else 0)


async def test_the_first_hop_where_the_verdict_changes_is_named(origin: str) -> None:
    async with hop(origin) as inner, hop(inner, hops.buffered) as bad, hop(bad) as outer:
        report = await look(origin, inner, bad, outer)
    [change] = [change for change in report.changes if change.what == "verdict with identity"]
    assert (change.hop, change.url, change.before, change.after) == (2, bad, "INCREMENTAL", "BUFFERED")
    assert report.exit_code == 1


async def test_a_header_that_a_hop_takes_away_is_named(origin: str) -> None:
    async with hop(origin, changes={"x-accel-buffering": None, "cache-control": "no-cache", "content-type": "text/event-stream"}) as url:
        report = await look(origin, url)
    assert {change.what: change.after for change in report.changes} == {
        "header content-type": "text/event-stream",
        "header x-accel-buffering": "absent",
        "header cache-control": "no-cache",
    }
    assert {check.name for check in report.hops[1].headers if check.level is Level.WARN} == {"x-accel-buffering", "cache-control"}
    assert report.exit_code == 0, "a warning is no verdict"


# silences -----------------------------------------------------------------------------------------
async def test_an_idle_timeout_is_told_from_a_total_one(origin: str) -> None:
    async with hop(origin, idle_s=1.2) as url:
        told = await one(url, silences_s=(0.5, 3.0))
    silent = {rung.asked_s: rung.survived for rung in told.silences if rung.kind == "silent"}
    assert silent == {0.5: True, 3.0: False}
    assert {rung.kind: rung.survived for rung in told.silences if rung.kind != "silent"} == {"talking": True, "heartbeats": True}
    [cut] = told.cuts
    assert (cut.kind, cut.status, cut.body, cut.level) == ("idle", 504, "stream timeout", Level.OK)
    assert cut.after_s == pytest.approx(1.2, abs=0.4)
    assert "Envoy's stream idle timeout" in cut.words
    assert "Heartbeats every 0.2 s keep them open" in cut.words


async def test_a_total_timeout(origin: str) -> None:
    async with hop(origin, total_s=1.5) as url:
        told = await one(url, silences_s=(0.5, 3.0))
    assert {rung.kind: rung.survived for rung in told.silences if rung.asked_s == 3.0} == {
        "silent": False,
        "talking": False,
        "heartbeats": False,
    }
    [cut] = told.cuts
    assert (cut.kind, cut.status, cut.body, cut.level) == ("total", 504, "upstream request timeout", Level.WARN)
    assert cut.after_s == pytest.approx(1.5, abs=0.4)
    assert "MIDDLE_CORE_MAX_STREAM_S" in cut.words


async def test_both_timeouts(origin: str) -> None:
    async with hop(origin, idle_s=1.2, total_s=3.5) as url:
        told = await one(url, silences_s=(5.0,))
    assert [(cut.kind, round(cut.after_s), cut.body) for cut in told.cuts] == [("idle", 1, "stream timeout"), ("total", 4, "")]


async def test_a_hop_that_swallows_heartbeats(origin: str) -> None:
    async with hop(origin, hops.without_comments, idle_s=1.2) as url:
        report = await look(url, silences_s=(3.0,))
    [told] = report.hops
    assert told.heartbeats is not None
    assert told.heartbeats.level is Level.BAD
    assert "swallows them" in told.heartbeats.words
    assert report.exit_code == 1


# leaving ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("notices", "levels", "status"),
    [
        ("at once", [Level.OK, Level.OK], 0),
        ("at a write", [Level.OK, Level.WARN], 0),
        ("never", [Level.BAD, Level.BAD], 1),
    ],
)
async def test_whether_the_server_learns_that_the_client_left(origin: str, notices: Any, levels: list[Level], status: int) -> None:
    async with hop(origin, notices=notices) as url:
        report = await look(url, cancel=True, cancel_s=1.0)
    assert [cancel.level for cancel in report.hops[0].cancels] == levels
    assert [cancel.kind for cancel in report.hops[0].cancels] == ["talking", "silent"]
    assert report.exit_code == status


async def test_leaving_is_timed_also_behind_a_hop_that_shows_nothing_of_the_stream(origin: str) -> None:
    async with hop(origin, hops.buffered) as url:
        told = await one(url, cancel=True, cancel_s=1.0)
    assert all(cancel.took_ms is not None for cancel in told.cancels)


# bounds -------------------------------------------------------------------------------------------
async def test_everything_is_over_within_the_bound(origin: str) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    report = await look(origin, events=100, gap_ms=1000, timeout_s=1.0)
    assert loop.time() - begun < 50, "half of what its events take"
    assert report.bound_s == 1.0
    problem = report.hops[0].problem
    assert problem is not None
    assert problem.code == "timeout"
    assert report.exit_code == 2


async def test_a_token_opens_it_as_the_key_does(origin: str) -> None:
    assert (await one(origin, diag_key="", token=mint())).verdict is Verdict.INCREMENTAL


# what answers instead -----------------------------------------------------------------------------
PAGE = answer(200, b"<html>", {"content-type": "text/html"})
STREAM = {"content-type": "text/event-stream"}
EVENT = '{"type": "diag", "n": 1, "of": 1, "hb_ms": 10000, "received_at": 1.0, "sent_at": 2.0}'
HINT = '{"type": "CUSTOM", "name": "middle_core.reattach", "value": {"reason": "drain"}}'


def frames(*data: str) -> bytes:
    return answer(200, "".join(f"data: {one}\n\n" for one in data).encode(), STREAM)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (PAGE, "no_stream"),
        (answer(404), "no_diag"),
        (answer(302, headers={"location": "/login"}), "redirect"),
        (answer(429), "rate_limited"),
        (answer(503), "unavailable"),
        (answer(200, b"", STREAM), "no_events"),
        (frames('{"type": "diag"}'), "no_diag"),
        (frames("[]"), "no_diag"),
        (frames(HINT), "restarting"),
        (None, "silent"),
    ],
)
async def test_what_answers_need_not_be_middle_core(response: bytes | None, code: str) -> None:
    async with HttpServer(always(response)) as server:
        report = await look(server.url)
    problem = report.hops[0].problem
    assert problem is not None
    assert (problem.code, report.exit_code) == (code, 2)


async def test_a_page_that_answers_every_path_does_not_hide_the_door_below_api(origin: str) -> None:
    """A Next site answers unknown paths with a page."""
    port = int(origin.rsplit(":", 1)[1])

    async def site(request: Request) -> bytes | None:
        if not request.target.startswith("/api/"):
            return PAGE
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {request.target.removeprefix('/api')} HTTP/1.0\r\nx-diag-key: {KEY}\r\n\r\n".encode())
        try:
            return await reader.read()
        finally:
            writer.close()

    async with HttpServer(site) as server:
        told = await one(server.url)
    assert told.verdict is Verdict.BUFFERED, "that site reads all before it answers"


async def test_a_stream_that_a_hop_ends_politely_before_its_end_is_broken_off() -> None:
    async with HttpServer(always(frames(EVENT))) as server:
        report = await look(server.url)
    assert {stream.ended for stream in report.hops[0].streams} == {"closed"}
    assert report.exit_code == 1
