"""What another attempt finds in the log of a run, and what it writes between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from middle_core.agui.endings import Finished
from middle_core.agui.gate import Gate
from middle_core.agui.recovery import Recovered, boundary, recover
from middle_core.events import ClientRunId, ClientThreadId, Custom, Event, Record, RunId, custom
from tests.fakes.agui_rules import violations

STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
TURN = custom(Custom.TURN, messages=[{"id": "h1", "role": "user", "content": "hi"}])
NODE = {"node": "model", "path": ["model"], "taskId": "k1", "startedAt": 1}


def text(message_id: str, *deltas: str, ends: bool = True) -> list[Event]:
    start: Event = {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    end: Event = {"type": "TEXT_MESSAGE_END", "messageId": message_id}
    return [start, *({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": one} for one in deltas), *([end] if ends else [])]


def recovered(events: Sequence[Event], *, kept: Sequence[str] = ()) -> tuple[Gate, Recovered]:
    gate = Gate(thread_id=ClientThreadId("t"), run_id=ClientRunId("r"), max_event_bytes=10_000)
    records = [Record(RunId("r"), seq, 1, 5, str(event["type"]), orjson.dumps(event)) for seq, event in enumerate(events, 1)]
    for record in records:
        gate.feed(record.event)
    return gate, recover(records, kept=kept)


def types(events: Sequence[Event]) -> list[Any]:
    return [event.get("name", event["type"]) for event in events]


@pytest.mark.parametrize(
    ("events", "kept", "discard_after"),
    [
        ([STARTED, TURN], [], 2),
        ([STARTED, TURN, *text("m", "half", ends=False)], [], 2),
        ([STARTED, TURN, *text("m", "whole")], ["m"], 5),
        ([STARTED, TURN, *text("m", "whole"), *text("n", "half", ends=False)], ["m"], 5),
        ([STARTED, {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"}], ["m"], 2),
        ([STARTED, *text("m", "x", ends=False), custom(Custom.ATTEMPT, attempt=2, reason="", discardAfterSeq=1)], [], 4),
    ],
)
def test_void_is_what_the_checkpoint_does_not_hold(events: list[Event], kept: list[str], discard_after: int) -> None:
    assert recovered(events, kept=kept)[1].discard_after_seq == discard_after


def test_what_the_run_took_in_is_known_or_not() -> None:
    assert recovered([STARTED])[1].said is None
    assert recovered([STARTED, TURN])[1].said == TURN["value"]["messages"]


def test_everything_that_was_open_is_closed_before_the_boundary_and_the_stream_is_legal() -> None:
    step: Event = {"type": "STEP_STARTED", "stepName": "model"}
    events = [STARTED, TURN, step, custom(Custom.NODE_STARTED, **NODE), *text("m", "half", ends=False)]
    gate, found = recovered(events)
    between = [*found.nodes, *gate.recover(found.nodes)]
    between += boundary(found, attempt=2, reason="gone", messages=[{"id": "h1", "role": "user", "content": "hi"}], state={"a": 1})
    assert types(between) == [
        "middle_core.node_completed",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "middle_core.attempt",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
    ]
    assert between[0]["value"]["outcome"] == "cancelled"
    assert between[3]["value"] == {"attempt": 2, "reason": "gone", "discardAfterSeq": 4}
    again = [legal for event in text("n", "all of it") for legal in gate.feed(event)]
    assert violations([*events, *between, *again, *gate.close(Finished())]) == []


def test_a_node_that_had_ended_is_not_ended_again() -> None:
    done = custom(Custom.NODE_COMPLETED, **NODE, latencyMs=1, outcome="ok")
    found = recovered([STARTED, custom(Custom.NODE_STARTED, **NODE), done])[1]
    assert found.nodes == []
    assert types(boundary(found, attempt=2, reason="", messages=[], state={})) == ["middle_core.attempt", "MESSAGES_SNAPSHOT"]


def test_an_event_of_another_name_is_no_boundary() -> None:
    found = recovered([STARTED, TURN, custom(Custom.PROGRESS, message="half", current=0.5)])[1]
    assert (found.said, found.discard_after_seq) == (TURN["value"]["messages"], 3)
