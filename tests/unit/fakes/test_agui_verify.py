"""The validators find illegal streams. A validator that accepts everything would prove nothing."""

from __future__ import annotations

from middle_core.events import Event
from tests.fakes import agui_events as ev
from tests.fakes.agui_rules import violations
from tests.fakes.agui_verify import decode, findings, verify_streams

BEGIN: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED: Event = {"type": "RUN_ERROR", "message": "no"}

ILLEGAL: dict[str, list[Event]] = {
    "a tail": [ev.text_part("m", "b"), ev.text_end("m"), END],
    "two beginnings": [BEGIN, BEGIN, END],
    "text without a start": [BEGIN, ev.text_part("m", "a"), END],
    "a message left open": [BEGIN, ev.text_start("m"), END],
    "a call left open": [BEGIN, ev.call_start("c"), END],
    "arguments without a call": [BEGIN, ev.call_part("c", "{}"), END],
    "a step left open": [BEGIN, ev.step_start("a"), END],
    "a step that was not started": [BEGIN, ev.step_end("a"), END],
    "an event after the end": [BEGIN, END, ev.custom_event("x.y", 1)],
    "an event after a failure": [BEGIN, FAILED, ev.text_start("m")],
}
ONLY_THE_BROWSER: dict[str, list[Event]] = {
    "a step opened twice": [BEGIN, ev.step_start("a"), ev.step_start("a"), ev.step_end("a"), ev.step_end("a"), END],
    "a null in a message": [BEGIN, ev.history({"id": "m", "role": "user", "content": "x", "name": None}), END],
}
ONLY_THE_VALIDATOR: dict[str, list[Event]] = {
    "no end": [BEGIN],
    "an id used twice": [BEGIN, ev.text_start("m"), ev.text_end("m"), ev.text_start("m"), ev.text_end("m"), END],
    "reasoning without a start": [BEGIN, ev.thought_part("r", "a"), END],
}


async def test_illegal_streams_are_called_so() -> None:
    cases = ILLEGAL | ONLY_THE_BROWSER | ONLY_THE_VALIDATOR
    verdicts = dict(zip(cases, await verify_streams(list(cases.values())), strict=True))
    assert [name for name, verdict in verdicts.items() if verdict.ok] == []
    assert {name for name, verdict in verdicts.items() if verdict.error is None} == set(ONLY_THE_VALIDATOR)
    assert {name for name, verdict in verdicts.items() if not verdict.findings} == set(ONLY_THE_BROWSER)


def test_the_tests_own_checker_calls_them_so_too() -> None:
    assert [name for name, events in (ILLEGAL | ONLY_THE_BROWSER | ONLY_THE_VALIDATOR).items() if not violations(events)] == []
    assert violations([BEGIN, END]) == []


async def test_a_verdict_shows_what_the_browser_shows() -> None:
    stream = [BEGIN, ev.state({"k": 1}), ev.text_start("n"), ev.text_part("n", "new"), ev.text_end("n"), FAILED | {"code": "internal"}]
    (verdict,) = await verify_streams([stream], messages=[{"id": "old", "role": "user", "content": "hi"}])
    assert verdict.ok
    assert verdict.texts == {"old": "hi", "n": "new"}
    assert verdict.state == {"k": 1}
    assert verdict.run_error == FAILED | {"code": "internal"}
    assert verdict.events == stream
    assert verdict.types == [event["type"] for event in stream]


async def test_wire_bytes_are_judged_as_they_are() -> None:
    wire = b": hello\n\nid: r:1\ndata: " + b'{"type":"RUN_STARTED","threadId":"t","runId":"r"}' + b"\n\ndata: not json\n\n"
    assert decode(wire[: wire.index(b"data: not")]) == [BEGIN]
    rest = b'data: {"type":"NEW_THING"}\n\n'
    (verdict,) = await verify_streams([wire[: wire.index(b"data: not")] + rest])
    assert verdict.error is not None
    assert any(one.startswith("AGUI503") for one in verdict.findings)


def test_allowed_rules_do_not_count() -> None:
    stream = [BEGIN, ev.result("of an earlier run"), END]
    assert findings(stream) == []
    assert [one[:7] for one in findings(stream, allowed=frozenset())] == ["AGUI207"]
