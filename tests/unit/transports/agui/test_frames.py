from __future__ import annotations

from typing import Any

import orjson
import pytest

from middle_core.agui.endings import Cancelled, End, Failed, Finished, opening, terminal
from middle_core.errors import ErrorCode
from middle_core.events import ClientRunId, ClientThreadId, Event, EventType, Record, RunId
from middle_core.transports.agui import frames as agui
from middle_core.transports.sse import streams
from middle_core.transports.sse.frames import Frame, SseParser
from tests.fakes import agui_events as ev
from tests.fakes.agui_verify import known_event_types, verify_streams

FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def record(event: Event, seq: int = 7) -> Record:
    return Record(run_id=RunId("run"), seq=seq, attempt=1, at=0, type=event["type"], data=orjson.dumps(event))


def sent(wire: bytes) -> tuple[Any, str | None]:
    (frame,) = SseParser().feed(wire)
    return orjson.loads(frame.data), frame.id


@pytest.mark.parametrize(
    "event", [ev.text_part("m", "é\u2028"), ev.custom_event("x.y", None), {"type": "RUN_ERROR", "message": "m", "code": "c"}, FINISHED]
)
@pytest.mark.parametrize("profile", [agui.CLIENT_0_0_59, agui.CLIENT_1_0])
def test_a_record_goes_out_as_it_is_with_its_cursor(event: Event, profile: agui.ClientProfile) -> None:
    assert sent(agui.frames(record(event), profile)) == (event, "run:7")


def test_the_bytes_of_the_log_are_sent_untouched() -> None:
    odd = Record(run_id=RunId("run"), seq=1, attempt=1, at=0, type="CUSTOM", data=b'{"type":"CUSTOM", "name":"x.y" ,"value":1.0}')
    assert SseParser().feed(agui.frames(odd)) == [Frame(odd.data, id="run:1")]


DOWNGRADES: dict[str, tuple[Event, Event]] = {
    "cancelled": ({"outcome": {"type": "cancelled"}}, {"result": {"status": "cancelled"}}),
    "an outcome of a later protocol": ({"outcome": {"type": "paused"}}, {}),
    "an expiry": (
        {"outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "expiresAt": "2020-01-01T00:00:00Z"}]}, "usage": []},
        {"outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}]}, "usage": []},
    ),
    "success": ({"outcome": {"type": "success"}}, {"outcome": {"type": "success"}}),
    "null": ({"outcome": None}, {"outcome": None}),
}


@pytest.mark.parametrize(("logged", "wanted"), DOWNGRADES.values(), ids=DOWNGRADES)
def test_what_todays_browser_cannot_take_is_taken_away(logged: Event, wanted: Event) -> None:
    event = FINISHED | logged
    before = orjson.dumps(event)
    assert sent(agui.frames(record(event))) == (FINISHED | wanted, "run:7")
    assert sent(agui.synthetic(event)) == (FINISHED | wanted, None)
    assert orjson.dumps(event) == before


@pytest.mark.parametrize("name", ["cancelled", "an expiry"])
def test_a_client_of_the_current_protocol_gets_the_log(name: str) -> None:
    event = FINISHED | DOWNGRADES[name][0]
    assert sent(agui.frames(record(event), agui.CLIENT_1_0)) == (event, "run:7")


def test_events_that_the_client_does_not_know_are_dropped_and_terminals_never() -> None:
    old = agui.ClientProfile(event_types=frozenset({"RUN_FINISHED"}), outcomes=frozenset(), keeps_expiry=True)
    assert agui.frames(record(ev.custom_event("x", 1)), old) == agui.synthetic(ev.custom_event("x", 1), old) == b""
    assert agui.frames(record({"type": "LATER"})) == b""
    for profile in (agui.CLIENT_0_0_59, agui.CLIENT_1_0):
        assert {EventType.RUN_FINISHED, EventType.RUN_ERROR} <= profile.event_types


async def test_the_browsers_client_knows_every_type_it_is_sent() -> None:
    assert await known_event_types() >= agui.CLIENT_0_0_59.event_types


def test_reattach_has_no_id_so_that_the_cursor_stays() -> None:
    assert sent(streams.reattach("drain", 1000)) == (
        ev.custom_event("middle_core.reattach", {"reason": "drain", "retryAfterMs": 1000}),
        None,
    )


ENDS: dict[str, End] = {
    "finished": Finished(usage=[{"model": "m", "inputTokens": 1}]),
    "interrupted": Finished([{"id": "i", "reason": "approve", "expiresAt": "2020-01-01T00:00:00Z"}]),
    "failed": Failed(ErrorCode.MODEL_UNAVAILABLE, "The model failed.", "c1", retry_after=2.0),
    "cancelled": Cancelled("user", "stop"),
}


async def test_every_end_keeps_the_text_in_the_browser() -> None:
    thread, run = ClientThreadId("t"), ClientRunId("r")
    begun = [
        *opening(thread_id=thread, run_id=run, our_run_id=RunId("ours"), agent="a", attempt=1),
        ev.text_start("m"),
        ev.text_part("m", "abc"),
        ev.text_end("m"),
    ]
    streams: list[bytes] = []
    for end in ENDS.values():
        logged = [*begun, *terminal(end, thread_id=thread, run_id=run, max_event_bytes=65536)]
        streams.append(b"".join(agui.frames(record(event, seq)) for seq, event in enumerate(logged, 1)))
    verdicts = dict(zip(ENDS, await verify_streams(streams), strict=True))
    assert {name: (one.ok, one.texts) for name, one in verdicts.items()} == dict.fromkeys(ENDS, (True, {"m": "abc"}))
    assert verdicts["failed"].run_error == {
        "type": "RUN_ERROR",
        "message": "The model failed.",
        "code": "model_unavailable",
        "correlationId": "c1",
        "retryAfter": 2.0,
    }
    assert verdicts["interrupted"].pending_interrupts == [{"id": "i", "reason": "approve"}]
    assert verdicts["cancelled"].types[-2:] == ["CUSTOM", "RUN_FINISHED"]


async def test_without_the_downgrade_the_browser_would_lose_the_text() -> None:
    """The reason for the profile. If this fails, a newer client is installed, and the profile may be removed."""
    logged = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, ev.text_start("m"), ev.text_part("m", "abc"), ev.text_end("m")]
    logged.append(FINISHED | {"outcome": {"type": "cancelled"}})
    (verdict,) = await verify_streams([b"".join(agui.synthetic(event, agui.CLIENT_1_0) for event in logged)])
    assert verdict.error is not None
    assert verdict.messages == []
