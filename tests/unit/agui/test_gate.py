"""Each repair once: the events in, the events out, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson
import pytest

from middle_core.agui.gate import MIN_EVENT_BYTES, UNNAMED_TOOL, Cancelled, Failed, Finished, Gate, opening
from middle_core.agui.grammar import EXCEPTIONS, KINDS, MOVES, RULES, Move, State
from middle_core.errors import ErrorCode, MiddleCoreError
from middle_core.events import OUTCOME, ClientRunId, ClientThreadId, Custom, Event, EventType, RunId, custom
from tests.fakes import agui_events as ev
from tests.fakes.agui_verify import verify_streams

THREAD, RUN = ClientThreadId("t"), ClientRunId("r")
OPENING = opening(thread_id=THREAD, run_id=RUN, our_run_id=RunId("ours"), agent="agent", attempt=1)


def new_gate(max_event_bytes: int = MIN_EVENT_BYTES) -> Gate:
    return Gate(thread_id=THREAD, run_id=RUN, max_event_bytes=max_event_bytes)


def fed(events: Sequence[Any], gate: Gate | None = None) -> list[Event]:
    gate = gate or new_gate()
    return [out for event in events for out in gate.feed(event)]


def thought(message_id: str, *deltas: str) -> list[Event]:
    parts = [ev.thought_part(message_id, delta) for delta in deltas]
    return [ev.thought_start(message_id), *parts, ev.thought_end(message_id)]


@dataclass(frozen=True)
class Case:
    said: list[Any]
    out: list[Event]
    repairs: AbstractSet[str] = frozenset()


LEGAL: dict[str, list[Event]] = {
    "text": [ev.text_start("m"), ev.text_part("m", "a"), ev.text_part("m", "b"), ev.text_end("m")],
    "an empty message": [ev.text_start("m"), ev.text_end("m")],
    "two texts at once": [
        ev.text_start("m"),
        ev.text_start("n"),
        ev.text_part("n", "1"),
        ev.text_part("m", "2"),
        ev.text_end("m"),
        ev.text_end("n"),
    ],
    "a call in its message": [
        ev.text_start("m"),
        ev.call_start("c", parentMessageId="m"),
        ev.call_part("c", "{}"),
        ev.call_end("c"),
        ev.text_end("m"),
        ev.result("c"),
    ],
    "a call without arguments": [ev.call_start("c"), ev.call_end("c")],
    "a message that a call announced": [
        ev.call_start("c", parentMessageId="m"),
        ev.call_end("c"),
        ev.text_start("m"),
        ev.text_part("m", "a"),
        ev.text_end("m"),
    ],
    "a result for a call of an earlier run": [ev.result("old")],
    "reasoning": [ev.reasoning_start("r"), *thought("r", "hm"), ev.reasoning_end("r")],
    "two messages in one block": [ev.reasoning_start("r"), *thought("a", "x"), *thought("b", "y"), ev.reasoning_end("r")],
    "steps inside steps, and again": [
        ev.step_start("a"),
        ev.step_start("b"),
        ev.step_end("a"),
        ev.step_end("b"),
        ev.step_start("a"),
        ev.step_end("a"),
    ],
    "state": [
        ev.state({"k": None}),
        ev.state_delta({"op": "replace", "path": "/k", "value": 1}),
        ev.state_delta({"op": "remove", "path": "/k"}),
    ],
    "custom with no value": [ev.custom_event("x.y", None)],
    "history": [ev.history({"id": "u", "role": "user", "content": "hi"})],
    "activity, and again": [
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "plan", "content": {"a": 1}, "replace": True},
        {"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "plan", "patch": [{"op": "add", "path": "/b", "value": 2}]},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "plan", "content": {}},
    ],
    "an encrypted thought": [
        ev.reasoning_start("r"),
        *thought("r", "hm"),
        ev.reasoning_end("r"),
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r", "encryptedValue": "xyz"},
    ],
    "metadata": [ev.text_start("m", metadata={"usage": {"n": 1}}), ev.text_end("m") | {"metadata": {"why": "stop"}}],
    "a user's message": [ev.text_start("u", role="user", name="Ada"), ev.text_part("u", "hi"), ev.text_end("u")],
}


@pytest.mark.parametrize("events", LEGAL.values(), ids=LEGAL)
def test_what_is_legal_passes_as_it_is(events: list[Event]) -> None:
    gate = new_gate()
    assert fed(events, gate) == events
    assert gate.repairs == {}
    assert len(gate.close(Finished())) == 1


REPAIRS: dict[str, Case] = {
    # text
    "content without a start": Case(
        [ev.text_part("m", "a"), ev.text_end("m")], [ev.text_start("m"), ev.text_part("m", "a"), ev.text_end("m")], {"text_opened"}
    ),
    "a start said twice": Case(
        [ev.text_start("m"), ev.text_start("m"), ev.text_part("m", "a")],
        [ev.text_start("m"), ev.text_part("m", "a")],
        {"text_start_started"},
    ),
    "an id started again while open": Case(
        [ev.text_start("m"), ev.text_part("m", "a"), ev.text_start("m"), ev.text_part("m", "b"), ev.text_end("m")],
        [ev.text_start("m"), ev.text_part("m", "a"), ev.text_end("m"), ev.text_start("m~2"), ev.text_part("m~2", "b"), ev.text_end("m~2")],
        {"text_restarted", "renamed"},
    ),
    "an id started again after its end": Case(
        [*LEGAL["text"], ev.text_start("m"), ev.text_part("m", "c"), ev.text_end("m")],
        [*LEGAL["text"], ev.text_start("m~2"), ev.text_part("m~2", "c"), ev.text_end("m~2")],
        {"renamed"},
    ),
    "text after the end": Case(
        [*LEGAL["text"], ev.text_part("m", "late")],
        [*LEGAL["text"], ev.text_start("m~2"), ev.text_part("m~2", "late")],
        {"text_opened", "renamed"},
    ),
    "a suffix that is taken": Case(
        [ev.text_start("m"), ev.text_end("m"), ev.text_start("m~2"), ev.text_end("m~2"), ev.text_start("m"), ev.text_end("m")],
        [ev.text_start("m"), ev.text_end("m"), ev.text_start("m~2"), ev.text_end("m~2"), ev.text_start("m~3"), ev.text_end("m~3")],
        {"renamed"},
    ),
    "an end without a start": Case([ev.text_end("m")], [], {"text_end_absent"}),
    "an end said twice": Case([*LEGAL["text"], ev.text_end("m")], LEGAL["text"], {"text_end_ended"}),
    "empty and missing deltas": Case(
        [
            ev.text_start("m"),
            ev.text_part("m", ""),
            ev.text_part("m", None),
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"},
            ev.text_end("m"),
        ],
        [ev.text_start("m"), ev.text_end("m")],
        {"empty_delta"},
    ),
    "an empty delta opens nothing": Case([ev.text_part("m", "")], [], {"empty_delta"}),
    "a role that text cannot have": Case([ev.text_start("m", role="tool")], [ev.text_start("m")]),
    "an empty id": Case([ev.text_part("", "a")], [ev.text_start("text"), ev.text_part("text", "a")], {"text_opened"}),
    "null and unknown fields": Case(
        [ev.text_start("m", name=None, metadata=None, rawEvent={"prompt": "secret"}, subagentRunId=None, timestamp=None)],
        [ev.text_start("m")],
    ),
    # calls
    "arguments without a start": Case(
        [ev.call_part("c", "{}"), ev.call_end("c")],
        [ev.call_start("c", UNNAMED_TOOL), ev.call_part("c", "{}"), ev.call_end("c")],
        {"call_opened"},
    ),
    "a call without a name": Case([ev.call_start("c", None), ev.call_end("c")], [ev.call_start("c", UNNAMED_TOOL), ev.call_end("c")]),
    "one id for two calls": Case(  # ag-ui-protocol/ag-ui#1016: the second call's arguments went to the first
        [
            ev.call_start("c"),
            ev.call_part("c", '{"q":"alpha"}'),
            ev.call_start("c"),
            ev.call_part("c", '{"q":"beta"}'),
            ev.result("c", "A", message_id="1"),
            ev.result("c", "B", message_id="2"),
        ],
        [
            ev.call_start("c"),
            ev.call_part("c", '{"q":"alpha"}'),
            ev.call_end("c"),
            ev.call_start("c~2"),
            ev.call_part("c~2", '{"q":"beta"}'),
            ev.result("c", "A", message_id="1"),
            ev.call_end("c~2"),
            ev.result("c~2", "B", message_id="2"),
        ],
        {"call_restarted", "renamed", "call_closed"},
    ),
    "arguments after the end": Case(
        [ev.call_start("c"), ev.call_end("c"), ev.call_part("c", "{}")], [ev.call_start("c"), ev.call_end("c")], {"call_part_ended"}
    ),
    "a result before the call is complete": Case(
        [ev.call_start("c"), ev.result("c")], [ev.call_start("c"), ev.call_end("c"), ev.result("c")], {"call_closed"}
    ),
    "a second result": Case([*LEGAL["a call in its message"], ev.result("c", "again")], LEGAL["a call in its message"], {"result_again"}),
    "a result without an id": Case([ev.result("c") | {"messageId": None}], [ev.result("c", message_id="result-c")]),
    "a result under a taken id": Case(
        [*LEGAL["text"], ev.result("c", message_id="m")], [*LEGAL["text"], ev.result("c", message_id="m~2")], {"renamed"}
    ),
    "a call that starts under the id of an answered one": Case(
        [ev.result("c", message_id="1"), ev.call_start("c"), ev.call_end("c"), ev.result("c", message_id="2")],
        [ev.result("c", message_id="1"), ev.call_start("c~2"), ev.call_end("c~2"), ev.result("c~2", message_id="2")],
        {"renamed"},
    ),
    "a parent that was renamed": Case(
        [*LEGAL["text"], ev.text_start("m"), ev.call_start("c", parentMessageId="m")],
        [*LEGAL["text"], ev.text_start("m~2"), ev.call_start("c", parentMessageId="m~2")],
        {"renamed"},
    ),
    "a parent that is no assistant message": Case(
        [ev.result("b", message_id="m"), ev.call_start("c", parentMessageId="m")], [ev.result("b", message_id="m"), ev.call_start("c")]
    ),
    "a call under the id of a message": Case(
        [ev.text_start("m"), ev.call_start("m")], [ev.text_start("m"), ev.call_start("m", parentMessageId="m~2")]
    ),
    # reasoning
    "a thought without a block": Case(thought("r", "hm"), LEGAL["reasoning"], {"reasoning_opened"}),
    "a thought's text alone": Case([ev.thought_part("r", "hm")], LEGAL["reasoning"][:3], {"thought_opened"}),
    "a block that ends before its thought": Case(
        [ev.reasoning_start("r"), ev.thought_start("r"), ev.thought_part("r", "hm"), ev.reasoning_end("r"), ev.thought_end("r")],
        LEGAL["reasoning"],
        {"thought_closed", "thought_end_ended"},
    ),
    "a thought under the id of a text": Case(
        [ev.text_start("m"), *thought("m", "hm")],
        [ev.text_start("m"), ev.reasoning_start("m"), *thought("m~2", "hm"), ev.reasoning_end("m")],
        {"renamed"},
    ),
    "an encrypted value of another kind": Case(
        [{"type": "REASONING_ENCRYPTED_VALUE", "subtype": "x", "entityId": "r", "encryptedValue": "v"}], [], {"encrypted_value_dropped"}
    ),
    # steps
    "a step opened twice": Case(
        [ev.step_start("a"), ev.step_start("a"), ev.step_end("a"), ev.step_end("a"), ev.step_end("a")],
        [ev.step_start("a"), ev.step_end("a")],
        {"step_start_started", "step_end_absent"},
    ),
    # short forms
    "chunks": Case(
        [
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "a"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"},
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "search", "parentMessageId": "m"},
            {"type": "TOOL_CALL_CHUNK", "delta": "{}"},
        ],
        [
            ev.text_start("m"),
            ev.text_part("m", "a"),
            ev.text_part("m", "b"),
            ev.call_start("c", parentMessageId="m"),
            ev.call_part("c", "{}"),
        ],
        {"text_opened", "call_opened"},
    ),
    # what stands alone
    "raw and unknown events": Case(
        [{"type": "RAW", "event": {"prompt": "secret"}}, {"type": "NEW_THING"}], [], {"raw_dropped", "unknown_type_dropped"}
    ),
    "the source's own run events": Case(
        [{"type": "RUN_STARTED"}, {"type": "RUN_FINISHED"}, {"type": "RUN_ERROR", "message": "postgres://u:p@h"}], []
    ),
    "a patch that is none": Case(
        [
            ev.state_delta({"op": "add", "path": "k", "value": 1}),
            ev.state_delta({"op": "add", "path": "/k"}),
            ev.state_delta("x"),
            ev.state_delta({"op": "move", "path": "/a"}),
            ev.state_delta(),
        ],
        [],
        {"state_delta_dropped"},
    ),
    "a state that is null": Case([ev.state(None)], [], {"empty_snapshot"}),
    "an activity under the id of a text": Case(
        [ev.text_start("m"), {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "plan", "content": {}}],
        [ev.text_start("m"), {"type": "ACTIVITY_SNAPSHOT", "messageId": "m~2", "activityType": "plan", "content": {}}],
    ),
    "an activity's patch that is none": Case(
        [{"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "plan", "patch": [1]}], [], {"activity_delta_dropped"}
    ),
    "history with nulls, lists and strangers": Case(
        [
            ev.history(
                {"id": "t", "role": "tool", "toolCallId": "c", "content": ["x", 1], "name": None, "error": None},
                {"id": "q", "role": "robot"},
            )
        ],
        [ev.history({"id": "t", "role": "tool", "toolCallId": "c", "content": '["x",1]'})],
        {"message_dropped"},
    ),
    # text inside
    "a lone surrogate": Case([ev.text_part("m", "a\udc00b")], [ev.text_start("m"), ev.text_part("m", "a\ufffdb")], {"text_opened"}),
    "half a character at the end": Case(
        [ev.text_part("m", "a\ud83d"), ev.text_end("m")],
        [ev.text_start("m"), ev.text_part("m", "a"), ev.text_part("m", "\ufffd"), ev.text_end("m")],
        {"text_opened"},
    ),
    "separators and control characters stay": Case(
        [ev.text_start("m"), ev.text_part("m", "\x00\u2028\x85é")], [ev.text_start("m"), ev.text_part("m", "\x00\u2028\x85é")]
    ),
}


@pytest.mark.parametrize("case", REPAIRS.values(), ids=REPAIRS)
def test_what_is_not_legal_is_repaired(case: Case) -> None:
    gate = new_gate()
    assert fed(case.said, gate) == case.out
    assert case.repairs <= set(gate.repairs), gate.repairs
    assert not gate.ended


async def test_the_browsers_client_and_the_validator_accept_each_repair() -> None:
    gates = [new_gate() for _ in (*LEGAL, *REPAIRS)]
    said = [*LEGAL.values(), *(case.said for case in REPAIRS.values())]
    runs = [[*OPENING, *fed(events, gate), *gate.close(Finished())] for events, gate in zip(said, gates, strict=True)]
    verdicts = await verify_streams(runs)
    assert {
        name: (one.error, one.findings, one.warnings)
        for name, one in zip([*LEGAL, *REPAIRS], verdicts, strict=True)
        if not one.ok or one.warnings
    } == {}


def test_every_kind_has_a_rule_for_every_move_in_every_state() -> None:
    assert set(RULES) == {(move, state) for move in Move for state in State}
    assert {kind for kind, _, _ in EXCEPTIONS} <= set(KINDS)
    alone = {
        EventType.TOOL_CALL_RESULT,
        EventType.STATE_SNAPSHOT,
        EventType.STATE_DELTA,
        EventType.MESSAGES_SNAPSHOT,
        EventType.ACTIVITY_SNAPSHOT,
        EventType.ACTIVITY_DELTA,
        EventType.REASONING_ENCRYPTED_VALUE,
        EventType.CUSTOM,
    }
    runs = {EventType.RUN_STARTED, EventType.RUN_FINISHED, EventType.RUN_ERROR}
    assert {name for name in MOVES if not name.endswith("CHUNK")} | alone | runs == set(EventType)


def test_event_types_of_other_enums_are_understood() -> None:
    foreign = Enum("foreign", {"START": "TEXT_MESSAGE_START"}, type=str)
    assert fed([ev.text_start("m") | {"type": foreign["START"]}, ev.text_end("m") | {"type": EventType.TEXT_MESSAGE_END}]) == [
        ev.text_start("m"),
        ev.text_end("m"),
    ]


# The end ----------------------------------------------------------------------------------------------

EVERYTHING_OPEN = [
    ev.step_start("outer"),
    ev.text_start("m"),
    ev.call_start("c", parentMessageId="m"),
    ev.reasoning_start("r"),
    ev.thought_start("r"),
    ev.step_start("inner"),
    ev.step_start("inner"),
]
CLOSERS = [ev.step_end("inner"), ev.thought_end("r"), ev.reasoning_end("r"), ev.call_end("c"), ev.text_end("m"), ev.step_end("outer")]


@pytest.mark.parametrize(
    ("end", "last"),
    [
        (Finished(), [{"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]),
        (
            Finished(interrupts=[{"id": "i", "reason": "approve"}], usage=[{"model": "m", "inputTokens": 3}]),
            [
                {
                    "type": "RUN_FINISHED",
                    "threadId": "t",
                    "runId": "r",
                    "usage": [{"model": "m", "inputTokens": 3}],
                    "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "approve"}]},
                }
            ],
        ),
        (
            Failed(ErrorCode.MODEL_UNAVAILABLE, "The model failed.", "c1", retry_after=2.5),
            [{"type": "RUN_ERROR", "message": "The model failed.", "code": "model_unavailable", "correlationId": "c1", "retryAfter": 2.5}],
        ),
        (
            Cancelled("user", "stop button"),
            [
                custom(Custom.RUN_CANCELLED, by="user", reason="stop button"),
                {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}},
            ],
        ),
    ],
    ids=["finished", "interrupted", "failed", "cancelled"],
)
def test_closers_come_innermost_first_before_the_one_terminal_event(end: Finished | Failed | Cancelled, last: list[Event]) -> None:
    gate = new_gate()
    fed(EVERYTHING_OPEN, gate)
    assert gate.close(end) == [*CLOSERS, *last]
    assert gate.end == end
    assert gate.feed(ev.text_part("m", "late")) == []
    assert gate.close(Finished()) == []


MALFORMED: dict[str, tuple[Any, str]] = {
    "no mapping": (["x"], "an event is a list, not a mapping"),
    "no type": ({"messageId": "m"}, "type is a NoneType, not a string"),
    "a number for a type": ({"type": 7}, "type is a int, not a string"),
    "a list for a type": ({"type": ["x"], "messageId": "m", "delta": "a"}, "type is a list, not a string"),
    "no id": ({"type": "TEXT_MESSAGE_START"}, "TEXT_MESSAGE_START.messageId is a NoneType, not a string"),
    "a number for an id": (ev.call_start("c") | {"toolCallId": 1}, "TOOL_CALL_START.toolCallId is a int, not a string"),
    "a list for a delta": (ev.text_part("m", ["postgres://u:p@h"]), "TEXT_MESSAGE_CONTENT.delta is a list, not a string"),
    "a number for a tool's name": (ev.call_start("d") | {"toolCallName": 1}, "TOOL_CALL_START.toolCallName is a int, not a string"),
    "no name": ({"type": "CUSTOM", "value": 1}, "CUSTOM.name is a NoneType, not a string"),
    "a patch that is no list": ({"type": "STATE_DELTA", "delta": {}}, "STATE_DELTA.delta is a dict, not a list"),
    "history that is no list": ({"type": "MESSAGES_SNAPSHOT", "messages": None}, "MESSAGES_SNAPSHOT.messages is a NoneType, not a list"),
    "an activity of text": (
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "plan", "content": "x"},
        "ACTIVITY_SNAPSHOT.content is a str, not a mapping",
    ),
}


@pytest.mark.parametrize(("event", "fault"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_beyond_repair_ends_the_run_with_one_typed_error(event: Any, fault: str) -> None:
    gate = new_gate()
    fed(EVERYTHING_OPEN, gate)
    out = gate.feed(event)
    assert out[:-1] == CLOSERS
    assert out[-1] == {
        "type": "RUN_ERROR",
        "message": MiddleCoreError().detail,
        "code": "internal",
        "correlationId": "r",
    }
    assert isinstance(gate.end, Failed)
    assert gate.ended
    assert gate.fault == fault  # and no value of the event in it
    assert gate.close(Finished()) == []


def test_a_fault_in_the_middle_of_a_repair_leaves_a_legal_run() -> None:
    gate = new_gate()
    out = fed([ev.call_start("c"), ev.call_part("c", "{}"), ev.call_start("c") | {"toolCallName": 5}], gate)
    assert out[:3] == [ev.call_start("c"), ev.call_part("c", "{}"), ev.call_end("c")]
    assert [event["type"] for event in out[3:]] == ["RUN_ERROR"]


def test_the_correlation_id_is_the_callers_where_it_gives_one() -> None:
    gate = Gate(thread_id=THREAD, run_id=RUN, max_event_bytes=MIN_EVENT_BYTES, correlation_id="abc")
    assert gate.feed({})[-1]["correlationId"] == "abc"


def test_a_bound_too_small_to_keep_is_refused() -> None:
    with pytest.raises(ValueError, match=f"it must be at least {MIN_EVENT_BYTES}"):
        new_gate(MIN_EVENT_BYTES - 1)


# The next attempt -------------------------------------------------------------------------------------


def test_an_adopted_run_is_closed_and_its_ids_stay_taken() -> None:
    first, second = new_gate(), new_gate()
    logged = [*OPENING, *fed(EVERYTHING_OPEN, first)]
    assert second.recover(logged) == CLOSERS
    assert second.feed(ev.text_start("m")) == [ev.text_start("m~2")]
    assert second.feed(ev.step_start("outer")) == [ev.step_start("outer")]


# Size -------------------------------------------------------------------------------------------------


def size(event: Event) -> int:
    return len(orjson.dumps(event))


@pytest.mark.parametrize("unit", ["a", "é", "🌍", "\x01", '"'], ids=["ascii", "two bytes", "four bytes", "control", "quote"])
@pytest.mark.parametrize("part", [ev.text_part, ev.call_part, ev.thought_part])
def test_a_long_delta_is_split_into_few_legal_ones(part: Any, unit: str) -> None:
    gate = new_gate()
    out = [event for event in gate.feed(part("m", unit * 10_000)) if "delta" in event]
    assert "".join(event["delta"] for event in out) == unit * 10_000
    assert max(map(size, out)) <= MIN_EVENT_BYTES
    assert len(out) <= 2 + sum(map(size, out)) / MIN_EVENT_BYTES * 1.2
    assert gate.repairs["split"] == 1


def test_a_long_result_is_cut_and_says_so() -> None:
    gate = new_gate()
    (event,) = gate.feed(ev.result("c", "é" * 10_000))
    assert size(event) <= MIN_EVENT_BYTES
    assert event["content"].startswith("é" * 1500)
    assert event["content"].endswith("\n[Cut here: the result has 10000 characters, more than one event may carry.]")
    assert gate.repairs["result_cut"] == 1


def test_a_long_structured_result_is_cut_as_json_text() -> None:
    (event,) = fed([ev.result("c", {"rows": list(range(5000))})])
    assert event["content"].startswith('{"rows":[0,1,2,')
    assert "[Cut here: " in event["content"]
    (event,) = fed([ev.result("c", {"rows": ["x" * 100] * 100_000})])
    assert event["content"] == "[The result is much larger than one event may carry; it was left out.]"


@pytest.mark.parametrize(
    ("event", "kind", "label"),
    [
        (ev.custom_event("x.y", ["z" * 9000]), "CUSTOM", "x.y"),
        (ev.custom_event("x.y", ["é" * 3000]), "CUSTOM", "x.y"),
        (ev.state({"k": "z" * 9000}), "STATE_SNAPSHOT", None),
        (ev.state_delta({"op": "add", "path": "/k", "value": "z" * 9000}), "STATE_DELTA", None),
        (ev.history({"id": "m", "role": "user", "content": "z" * 9000}), "MESSAGES_SNAPSHOT", None),
        (ev.history({"id": "m", "role": "user", "content": [{"type": "text", "text": "z" * 9000}]}), "MESSAGES_SNAPSHOT", None),
        ({"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "plan", "content": {"k": "z" * 9000}}, "ACTIVITY_SNAPSHOT", None),
        (
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r", "encryptedValue": "z" * 9000},
            "REASONING_ENCRYPTED_VALUE",
            None,
        ),
    ],
)
def test_what_cannot_be_cut_is_left_out_and_said(event: Event, kind: str, label: str | None) -> None:
    gate = new_gate()
    assert gate.feed(event) == [custom(Custom.OMITTED, type=kind, label=label, maxBytes=MIN_EVENT_BYTES)]
    assert gate.repairs["omitted"] == 1


def test_no_patch_is_sent_onto_a_state_that_was_left_out() -> None:
    gate, adopted = new_gate(), new_gate()
    patch = ev.state_delta({"op": "add", "path": "/k", "value": 1})
    logged = fed([ev.state({}), ev.state({"k": "z" * 9000})], gate)
    adopted.recover(logged)
    assert gate.feed(patch) == adopted.feed(patch) == []
    assert gate.feed(ev.state({"k": 1})) == [ev.state({"k": 1})]
    assert gate.feed(patch) == [patch]


def test_long_ids_names_and_metadata_are_bounded() -> None:
    gate = new_gate()
    long = "x" * 5000
    out = fed(
        [
            ev.text_start(long, name=long, metadata={"k": long}),
            ev.text_part(long, "a"),
            ev.text_start(long + "y"),
            ev.call_start(long, long),
            ev.step_start(long),
        ],
        gate,
    )
    assert max(map(size, out)) <= MIN_EVENT_BYTES
    assert out[1]["messageId"] == out[0]["messageId"] != out[2]["messageId"]
    assert "metadata" not in out[0]
    assert gate.repairs["metadata_dropped"] == 1


@pytest.mark.parametrize("length", [40, 200, 1000])
def test_ids_of_real_providers_are_kept_under_the_default_bound(length: int) -> None:
    gate = new_gate(256 * 1024)
    assert gate.feed(ev.call_start("c" * length))[0]["toolCallId"] == "c" * length


# Values -----------------------------------------------------------------------------------------------


def test_any_value_of_a_tool_becomes_a_string_the_browser_takes() -> None:
    class Opaque:
        def __repr__(self) -> str:
            return "Opaque(password=hunter2)"

    values: list[tuple[Any, str]] = [
        (None, ""),
        ("plain", "plain"),
        (["a", {"b": None}], '["a",{"b":null}]'),
        ([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], "one two"),
        (b"caf\xc3\xa9", "café"),
        (7, "7"),
        (float("nan"), "NaN"),
        (Opaque(), "<Opaque>"),
    ]
    out = [new_gate().feed(ev.result("c", value))[0]["content"] for value, _ in values]
    assert out == [wanted for _, wanted in values]


def test_events_out_are_new_objects() -> None:
    payload = {"k": [1]}
    event = ev.custom_event("x.y", payload)
    (out,) = fed([event])
    payload["k"].append(2)
    assert json.dumps(out["value"]) == '{"k": [1]}'


DONE = {"outcome": "done", "code": None, "message": ""}


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (None, DONE),
        ({"middleCoreOutcome": {"outcome": "brand_new"}}, DONE),
        ({"middleCoreOutcome": {"outcome": ["refused"]}}, DONE),
        (
            {"middleCoreOutcome": {"outcome": "refused", "code": "forbidden", "message": "No."}},
            {"outcome": "refused", "code": "forbidden", "message": "No."},
        ),
        (
            {"middleCoreOutcome": {"outcome": "refused", "code": "forbidden", "message": "é" * 10_000}},
            {"outcome": "refused", "code": "forbidden", "message": ""},
        ),
        (
            {"middleCoreOutcome": {"outcome": "unknown", "code": "x" * 5_000, "message": ""}},
            {"outcome": "unknown", "code": None, "message": ""},
        ),
    ],
    ids=["none", "a word that nobody knows", "no word", "refused", "with too many words", "with a code that is none"],
)
def test_every_result_says_what_became_of_its_call(metadata: Any, told: Any) -> None:
    one = ev.result("c") | {"metadata": metadata}
    [event] = new_gate().feed(one)
    assert event["metadata"] == {OUTCOME: told}


def test_other_metadata_of_a_result_stays() -> None:
    [event] = new_gate().feed(ev.result("c") | {"metadata": {"traced": 1}})
    assert event["metadata"] == {"traced": 1, OUTCOME: DONE}
