from __future__ import annotations

from typing import Any

import pytest

from middle_core.agui.endings import CUT_OFF_WORDS, MAX_WORDS, Cancelled, End, Failed, Finished, cut_off, opening, refused, terminal, words
from middle_core.agui.gate import MIN_EVENT_BYTES
from middle_core.agui.jsonable import json_size
from middle_core.errors import ErrorCode
from middle_core.events import ClientRunId, ClientThreadId, Event, RunId

THREAD, RUN = ClientThreadId("t"), ClientRunId("r")


def ended(end: End, max_event_bytes: int = MIN_EVENT_BYTES) -> Event:
    return terminal(end, thread_id=THREAD, run_id=RUN, max_event_bytes=max_event_bytes)[-1]


def test_a_run_opens_with_the_clients_ids_and_then_ours() -> None:
    assert opening(thread_id=THREAD, run_id=RUN, our_run_id=RunId("ours"), agent="a", attempt=2, parent_run_id=ClientRunId("p")) == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": "p"},
        {"type": "CUSTOM", "name": "middle_core.run", "value": {"runId": "ours", "threadId": "t", "agent": "a", "attempt": 2}},
    ]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\x00more\x1b[31m", "two lines and more [31m"),
        ("safe\u202eevil\u200b", "safe evil"),
        ("lone \ud83d", "lone \ufffd"),
        ("👨\u200d👩", "👨\u200d👩"),
        ("", ""),
        ("é" * 600, "é" * (MAX_WORDS - 1) + "…"),
    ],
)
def test_words_are_one_bounded_line(said: str, line: str) -> None:
    assert words(said) == line


def test_a_failure_is_bounded_whatever_the_caller_gives() -> None:
    event = ended(Failed(ErrorCode.INTERNAL, "\x00" * 10_000_000, "c\n" * 10_000, retry_after=float("inf")))
    assert event["code"] == "internal"
    assert event["message"] == "Something went wrong."
    assert event["retryAfter"] == "Infinity"
    assert json_size(event) <= MIN_EVENT_BYTES


@pytest.mark.parametrize("reason", CUT_OFF_WORDS)
def test_each_way_to_be_cut_off_is_told_in_words(reason: str) -> None:
    event = cut_off("m", reason)
    assert (event["type"], event["name"]) == ("CUSTOM", "middle_core.cut_off")
    assert event["value"] == {"messageId": "m", "reason": reason, "text": CUT_OFF_WORDS[reason]}
    assert event["value"]["text"].endswith(".")


def test_usage_keeps_labels_and_counts_and_nothing_else() -> None:
    usage: list[Any] = [
        {"model": "m", "provider": None, "inputTokens": 1, "outputTokens": -1, "totalTokens": 2.5, "prompt": "secret"},
        {"model": "no counts"},
        {"inputTokens": True},
        "nonsense",
    ]
    assert ended(Finished(usage=usage))["usage"] == [{"model": "m", "inputTokens": 1}]
    assert "usage" not in ended(Finished(usage=[]))


def test_interrupts_are_what_the_protocol_knows() -> None:
    odd: list[Any] = [
        {
            "id": "i",
            "reason": None,
            "message": None,
            "metadata": {"when": {1}},
            "responseSchema": {"type": "object"},
            "toolCallId": "c",
            "more": 1,
        },
        {"id": "", "reason": "x"},
        {"reason": "x"},
        None,
    ]
    assert ended(Finished(odd))["outcome"] == {
        "type": "interrupt",
        "interrupts": [
            {"id": "i", "reason": "input_required", "toolCallId": "c", "responseSchema": {"type": "object"}, "metadata": {"when": [1]}}
        ],
    }
    assert "outcome" not in ended(Finished([{"reason": "x"}]))


def test_large_interrupts_keep_what_an_answer_needs() -> None:
    one = {"id": "i", "reason": "approve", "toolCallId": "c", "message": "é" * 3000, "metadata": {"args": "x" * 9000}}
    event = ended(Finished([one]))
    assert event["outcome"]["interrupts"] == [{"id": "i", "reason": "approve", "toolCallId": "c"}]
    assert json_size(event) <= MIN_EVENT_BYTES


def test_a_cancelled_run_says_who_and_why_before_it_ends() -> None:
    told, last = terminal(Cancelled("user", "stop\nbutton"), thread_id=THREAD, run_id=RUN, max_event_bytes=MIN_EVENT_BYTES)
    assert told == {"type": "CUSTOM", "name": "middle_core.run_cancelled", "value": {"by": "user", "reason": "stop button"}}
    assert last["outcome"] == {"type": "cancelled"}


def test_a_refusal_is_told_on_one_line() -> None:
    assert refused("model", "I will\nnot") == {
        "type": "CUSTOM",
        "name": "middle_core.refused",
        "value": {"by": "model", "reason": "I will not"},
    }
