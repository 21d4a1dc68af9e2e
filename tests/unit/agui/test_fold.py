"""Events folded to the messages that a run has shown."""

from __future__ import annotations

from middle_core.agui.fold import REASONING, PartialCall, PartialMessage, fold
from middle_core.events import OUTCOME, Custom, Event, custom


def text(kind: str, message_id: str = "m", delta: str = "") -> Event:
    return {"type": f"TEXT_MESSAGE_{kind}", "messageId": message_id} | ({"delta": delta} if kind == "CONTENT" else {})


def call(kind: str, call_id: str = "c", **more: str) -> Event:
    return {"type": f"TOOL_CALL_{kind}", "toolCallId": call_id, **more}


def test_a_message_that_was_cut_off() -> None:
    [message] = fold([text("START"), text("CONTENT", delta="par"), text("CONTENT", delta="tial")])
    assert (message.text, message.closed) == ("partial", False)


def test_a_whole_message() -> None:
    [message] = fold([text("START"), text("CONTENT", delta="whole"), text("END")])
    assert (message.text, message.closed) == ("whole", True)


def test_interleaved_messages_stay_apart_and_in_order() -> None:
    events = [text("START", "a"), text("START", "b"), text("CONTENT", "b", "2"), text("CONTENT", "a", "1"), text("CONTENT", "b", "2")]
    assert [(one.message_id, one.text) for one in fold(events)] == [("a", "1"), ("b", "22")]


def test_calls_belong_to_their_message_with_arguments_and_result() -> None:
    start = call("START", toolCallName="s", parentMessageId="m")
    refused = {"outcome": "refused"}
    events = [
        text("START"),
        start,
        call("ARGS", delta='{"q":'),
        call("ARGS", delta="1}"),
        call("END"),
        text("END"),
        call("RESULT", content="r") | {"metadata": {OUTCOME: refused}},
    ]
    assert fold(events) == [PartialMessage("m", calls=[PartialCall("c", "s", '{"q":1}', closed=True, result="r", outcome=refused)])]


def test_a_call_that_was_cut_off_leaves_its_message_open() -> None:
    [message] = fold([call("START", toolCallName="s", parentMessageId="m"), call("ARGS", delta='{"q"')])
    assert (message.closed, message.calls[0].arguments, message.calls[0].result) == (False, '{"q"', None)


def test_a_call_without_a_parent_is_a_message_of_its_own() -> None:
    assert [one.message_id for one in fold([call("START", toolCallName="s")])] == ["c"]


def test_what_the_person_said_is_part_of_it() -> None:
    said = {"id": "h", "role": "user", "content": "hi"}
    assert fold([custom(Custom.TURN, messages=[said]), text("START")])[0] == PartialMessage("h", said=said)


def test_other_events_and_results_of_earlier_runs_are_nothing() -> None:
    assert (
        fold(
            [
                call("RESULT", "old", content="r"),
                text("CONTENT", "unknown", "x"),
                text("END", "unknown"),
                {"type": "STEP_STARTED"},
                custom(Custom.RUN),
            ]
        )
        == []
    )


def test_what_the_attempt_before_said_halfway_is_void_and_what_the_run_took_in_is_not() -> None:
    said = {"id": "u", "role": "user", "content": "hi"}
    attempt = custom(Custom.ATTEMPT, attempt=2, reason="", discardAfterSeq=3)
    half = [text("START", "m"), text("CONTENT", "m", "hal"), call("START", toolCallName="s", parentMessageId="m"), call("ARGS", delta="{")]
    again = [text("START", "m"), text("CONTENT", "m", "whole"), text("END", "m")]
    events = [custom(Custom.TURN, messages=[said]), *half, attempt, *again]
    assert [(one.message_id, one.text, one.calls) for one in fold(events)] == [("u", "", []), ("m", "whole", [])]


def test_what_the_model_thought_belongs_to_its_message() -> None:
    thought: Event = {"type": "REASONING_MESSAGE_CONTENT", "messageId": f"m{REASONING}1", "delta": "Hm. "}
    alone: Event = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "n", "delta": "Well."}
    found = fold([thought, thought, text("START"), text("CONTENT", delta="Yes."), text("END"), alone])
    assert [(one.message_id, one.reasoning, one.text) for one in found] == [("m", "Hm. Hm. ", "Yes."), ("n", "Well.", "")]
