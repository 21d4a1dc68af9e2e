"""The projection of a run's records to the events of /chat: exact sequences, the same bytes, and the same from any cursor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.events import Custom, Event, custom
from middle_core.transports.chat.events import ChatFrames, ChatProjector
from middle_core.transports.sse.frames import Frame, SseParser
from tests.fakes.chat_records import (
    RUN,
    START,
    Log,
    begin,
    called,
    cancelled,
    drawing,
    ended,
    failed,
    finished,
    flat,
    resolved,
    result,
    said,
    started,
    took,
    visit,
)

GOLDEN = Path(__file__).parent / "golden"
LINE = drawing("^>model", "model>$")
ROUTES = drawing("^>guard", "guard?agent", "guard?$", "agent?tools", "agent?$", "tools>agent")
QUESTION = {"id": "q1", "reason": "langgraph:interrupt", "message": "ok?", "metadata": {"langgraph": {"raw": {"message": "ok?"}}}}


def told(log: Log) -> list[str]:
    """The sequence in short: type, then node and outcome, or status."""
    projector = ChatProjector(tokens=True)
    return [short(one.model_dump()) for record in log.records for one in projector.feed(record)]


def short(event: dict[str, Any]) -> str:
    status = (event.get("response") or {}).get("status")
    return " ".join(str(one) for one in (event["type"], ":".join(event.get("path", ())), event.get("outcome"), status) if one)


def last(log: Log) -> dict[str, Any]:
    """The last event."""
    projector = ChatProjector()
    events = [one for record in log.records for one in projector.feed(record)]
    found: dict[str, Any] = json.loads(events[-1].model_dump_json())
    return found


def turn(*parts: Any, **options: Any) -> Log:
    return Log(*flat(begin(**options), took("u1"), *parts))


def test_a_plain_turn() -> None:
    log = turn(LINE, visit("model", *said("m1", "hel", "lo")), finished())
    assert told(log) == [
        "graph_topology",
        "node_started model",
        "token",
        "token",
        "node_completed model ok",
        "turn_completed completed",
    ]


def test_a_route_not_taken_is_told_at_the_end() -> None:
    log = turn(ROUTES, visit("guard"), visit("agent", *said("m1", "hi")), finished())
    assert told(log)[-2:] == ["node_completed tools skipped", "turn_completed completed"]
    skipped = last(log)["response"]["latency"][-1]
    assert skipped == {"node": "tools", "path": ["tools"], "task_id": None, "started_at": None, "latency_ms": 0, "outcome": "skipped"}


def test_a_turn_that_a_node_refuses() -> None:
    refused = custom(Custom.REFUSED, by="node", reason="Not about this.")
    log = turn(ROUTES, visit("guard", refused), finished())
    assert told(log)[3:] == ["node_completed agent skipped", "node_completed tools skipped", "turn_completed refused"]
    assert last(log)["response"]["reason"] == "Not about this."


def test_a_refusal_of_the_model_counts_only_if_it_was_its_last_word() -> None:
    refused = custom(Custom.REFUSED, by="model", reason="The model declined.")
    log = turn(LINE, visit("model", *said("m1", "no"), refused), finished())
    assert last(log)["response"]["status"] == "refused"
    log = turn(LINE, visit("model", *said("m1", "no"), refused, *said("m2", "yes")), finished())
    assert last(log)["response"]["status"] == "completed"
    by_node = custom(Custom.REFUSED, by="node", reason="Not about this.")
    log = turn(LINE, visit("model", by_node, *said("m2", "I may not.")), finished())
    assert last(log)["response"]["status"] == "refused", "a node says why in words"


def test_an_answer_that_the_model_did_not_end_is_truncated_and_says_why() -> None:
    cut = custom(Custom.CUT_OFF, messageId="m1", reason="length", text="The answer was cut off at its length limit.")
    response = last(turn(LINE, visit("model", *said("m1", "Half")), cut, finished()))["response"]
    assert (response["status"], response["reply"]["truncated"], response["reason"]) == ("completed", True, cut["value"]["text"])
    response = last(turn(LINE, visit("model", *said("m1", "Whole")), finished()))["response"]
    assert (response["reply"]["truncated"], response["reason"]) == (False, None)


def test_an_answer_that_is_too_late() -> None:
    notice = flat(said("n1", "This was approved."), custom(Custom.REFUSED, by="server", reason="This was approved."))
    log = Log(*flat(begin(parent="p"), took(), resolved("q1", "approved", answered=START + 9, by="other"), ROUTES, notice, finished()))
    assert told(log) == ["graph_topology", "token", "turn_completed refused"]
    assert last(log)["response"]["reply"]["parts"] == [{"type": "text", "message_id": "n1", "text": "This was approved."}]
    assert "human_wait_ms" not in last(log)


def test_a_paused_turn_skips_what_the_answer_cannot_lead_to() -> None:
    graph = drawing("^>router", "router?ask", "router?other", "ask>after", "other>after", "after>$")
    log = turn(graph, visit("router"), visit("ask", outcome="interrupted"), finished(QUESTION))
    assert told(log) == [
        "graph_topology",
        "node_started router",
        "node_completed router ok",
        "node_started ask",
        "node_completed ask interrupted",
        "node_completed other skipped",
        "paused",
        "turn_completed paused",
    ]
    assert [one["interrupt_id"] for one in last(log)["response"]["interrupts"]] == ["q1"]


def test_a_resumed_turn_does_not_call_skipped_what_was_done_before() -> None:
    graph = drawing("^>first", "first>ask", "ask?then", "ask?instead", "then>$", "instead>$")
    log = Log(
        *flat(begin(parent="p"), took(), resolved("q1", "answered", answered=START + 1234), graph, visit("ask"), visit("then"), finished())
    )
    assert told(log)[-2:] == ["node_completed instead skipped", "turn_completed completed"]
    assert last(log)["human_wait_ms"] == 1234
    assert "human_wait_ms" not in last(log)["response"]


def test_the_longest_of_several_waits_counts_and_only_answers_of_this_run() -> None:
    events = [
        resolved("a", "approved", asked=START, answered=START + 100),
        resolved("b", "rejected", asked=START + 50, answered=START + 110),
        resolved("c", "withdrawn", asked=START, answered=None, by=None),
        resolved("d", "approved", asked=START, answered=START + 900, by="another-run"),
        resolved("e", "expired", asked=START, answered=None, by=None),
        resolved("a", "executed", asked=START, answered=START + 5000),
    ]
    log = Log(*flat(begin(parent="p"), took(), events, LINE, visit("model"), finished()))
    assert last(log)["human_wait_ms"] == 100


def test_a_question_that_the_runs_end_does_not_tell() -> None:
    """With the card tool of a page, the run ends plainly."""
    log = turn(LINE, visit("model", outcome="interrupted"), custom(Custom.WAITING, interrupts=[QUESTION]), finished())
    assert told(log)[-2:] == ["paused", "turn_completed paused"]
    too_large = custom(Custom.OMITTED, type="CUSTOM", label="middle_core.waiting", maxBytes=4096)
    log = turn(LINE, visit("model", outcome="interrupted"), too_large, finished())
    assert told(log)[-2:] == ["paused", "turn_completed paused"]


def test_a_turn_that_fails_midway() -> None:
    log = turn(LINE, started("model"), *said("m1", "half"), ended("model", "error"), failed("model_rate_limited", retryAfter=3))
    assert told(log)[-3:] == ["node_completed model error", "error", "turn_completed failed"]
    assert last(log)["response"]["error"] == {
        "code": "model_rate_limited",
        "message": "It went wrong.",
        "correlation_id": "c0ffee",
        "retry_after": 3.0,
    }
    assert last(log)["response"]["reply"]["parts"][0]["text"] == "half"


def test_nodes_whose_process_died_are_closed_the_innermost_first() -> None:
    log = turn(LINE, started("outer"), started("outer:inner"), failed("run_lost"))
    assert told(log)[-4:] == [
        "node_completed outer:inner error",
        "node_completed outer error",
        "error",
        "turn_completed failed",
    ]
    assert [one["latency_ms"] for one in last(log)["response"]["latency"]] == [10, 20], "by the records' times"


def test_a_turn_that_fails_before_the_graph() -> None:
    assert told(turn(failed("interrupt_unknown"))) == ["error", "turn_completed failed"]


def test_a_cancelled_turn() -> None:
    log = turn(LINE, started("model"), *said("m1", "half"), ended("model", "cancelled"), cancelled())
    assert told(log)[-2:] == ["node_completed model cancelled", "turn_completed cancelled"]
    assert last(log)["response"]["reason"] == "stopped by the user"


def test_another_attempt_closes_what_the_one_before_left_open() -> None:
    attempt = custom(Custom.ATTEMPT, attempt=2, reason="adopted", discardAfterSeq=4)
    log = turn(LINE, started("model", "a"), attempt, started("model", "b"), ended("model", task="b"), finished())
    assert told(log) == [
        "graph_topology",
        "node_started model",
        "node_completed model cancelled",
        "node_started model",
        "node_completed model ok",
        "turn_completed completed",
    ]


def test_a_task_that_another_attempt_runs_again_is_another_task() -> None:
    """LangGraph makes a task's id of the checkpoint, so it is the same id. A client takes a task that it knows for told."""
    attempt = custom(Custom.ATTEMPT, attempt=2, reason="adopted", discardAfterSeq=4)
    again = [started("model", "a"), ended("model", task="a"), finished()]
    log = turn(LINE, started("model", "a"), ended("model", "cancelled", task="a"), attempt, *again)
    tasks = [(one["task_id"], one["outcome"]) for one in last(log)["response"]["latency"]]
    assert tasks == [("a", "cancelled"), ("a~2", "ok")]


def snapshot(*texts: tuple[str, str]) -> Event:
    """The thread as it stands: the user's words, then these assistant messages."""
    spoken = [{"id": one, "role": "assistant", "content": text} for one, text in texts]
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u1", "role": "user", "content": "?"}, *spoken]}


def another_attempt(*kept: tuple[str, str]) -> Log:
    """The first attempt said a whole message and half of another one. The second attempt says that one anew."""
    half = said("m2", "hal")
    attempt = custom(Custom.ATTEMPT, attempt=2, reason="adopted", discardAfterSeq=4)
    first = [started("model", "a"), *said("m1", "One."), *half]
    second = [attempt, snapshot(*kept), started("model", "b"), *said("m3", "half and whole"), ended("model", task="b"), finished()]
    return turn(took("u1"), LINE, *first, *second)


@pytest.mark.parametrize("kept", [[], [("m1", "One.")]])
def test_what_another_attempt_says_anew_is_told_once(kept: list[tuple[str, str]]) -> None:
    log = another_attempt(*kept)
    projector = ChatProjector(tokens=True)
    events = [json.loads(one.model_dump_json()) for record in log.records for one in projector.feed(record)]
    [replaced] = [one for one in events if one["type"] == "text_replaced"]
    assert [(one["message_id"], one["text"]) for one in replaced["parts"]] == kept
    after = [one["delta"] for one in events[events.index(replaced) :] if one["type"] == "token"]
    assert after == ["half and whole"]
    assert [(one["message_id"], one["text"]) for one in events[-1]["response"]["reply"]["parts"]] == [*kept, ("m3", "half and whole")]
    silent = ChatProjector()
    assert not [one for record in log.records for one in silent.feed(record) if one.type == "text_replaced"], "nobody was shown a text"


def test_a_later_snapshot_of_the_same_attempt_replaces_no_text() -> None:
    """The thread that the graph rewrote is in the response, which follows at once."""
    log = another_attempt()
    log.records.pop()
    log.add(snapshot(("m3", "rewritten")), finished())
    assert told(log).count("text_replaced") == 1


def test_what_the_attempt_before_was_cut_off_at_is_not_told_of_the_next_one() -> None:
    cut = custom(Custom.CUT_OFF, messageId="m1", reason="length", text="The answer was cut off.")
    attempt = custom(Custom.ATTEMPT, attempt=2, reason="adopted", discardAfterSeq=4)
    log = turn(took("u1"), LINE, *said("m1", "hal"), cut, attempt, snapshot(), *said("m2", "whole"), finished())
    response = last(log)["response"]
    assert (response["reason"], response["reply"]["truncated"]) == (None, False)


def test_parallel_tasks_of_one_node_are_told_apart() -> None:
    log = turn(
        drawing("^>work", "work>$"),
        started("work", "1"),
        started("work", "2"),
        ended("work", task="1", ms=9),
        ended("work", task="2", ms=3),
    )
    log.add(finished())
    assert [(one["task_id"], one["latency_ms"]) for one in last(log)["response"]["latency"]] == [("1", 9), ("2", 3)]


# frames ---------------------------------------------------------------------------------------------


def frames(log: Log, **options: Any) -> list[Frame]:
    encode = ChatFrames(**options)
    return SseParser().feed(b"".join(encode(record) for record in log.records))


def rich() -> Log:
    """A turn with everything in it: a search, a refused route, an approval."""
    passages = [{"title": "Streams", "location": "p. 3", "source": "streams-1", "score": 0.5, "text": "An event log …"}]
    card = {
        "interruptId": "q2",
        "toolCallId": "c2",
        "tool": "delete_source",
        "kind": "delete_source",
        "title": "Delete “Streams”?",
        "confirm": "Delete permanently",
        "cancel": "Cancel",
        "danger": True,
        "facts": [{"label": "Name", "value": "Streams"}, {"label": "Objects", "value": 12}],
        "fromModel": {"source_id": "streams-1"},
        "editable": [],
        "state": "new",
        "askedAt": START,
        "answerBy": START + 900_000,
    }
    interrupt = {"id": "q2", "reason": "middle_core:approval", "message": "Delete “Streams”?", "toolCallId": "c2"}
    usage = [{"provider": "cerebras", "model": "x-1", "inputTokens": 7, "outputTokens": 5, "totalTokens": 12}]
    return turn(
        ROUTES,
        visit("guard"),
        visit("agent", *said("m1", "Let me ", "look."), *called("c1", "search_knowledge", '{"query":', '"log"}', parent="m1")),
        visit("tools", result("c1", {"query": "log", "passages": passages})),
        visit("agent", *called("c2", "delete_source", '{"source_id":"streams-1"}', parent="m2")),
        visit("tools", outcome="interrupted"),
        finished({**interrupt, "metadata": {"middleCore": card}}, usage=usage),
    )


def test_the_bytes_of_the_response_and_of_the_stream_are_pinned() -> None:
    """A change here affects every client, so it needs a new version."""
    projector = ChatProjector()
    for record in rich().records:
        projector.feed(record)
    assert projector.response is not None
    assert projector.response.encoded() == (GOLDEN / "response.v1.json").read_bytes()
    encode = ChatFrames(tokens=True)
    assert b"".join(encode(record) for record in rich().records) == (GOLDEN / "stream.v1.sse").read_bytes()


def test_the_streams_response_is_the_json_answer_byte_for_byte() -> None:
    projector = ChatProjector()
    for record in rich().records:
        projector.feed(record)
    assert projector.response is not None
    [end] = [frame for frame in frames(rich()) if frame.event == "turn_completed"]
    assert b'"response":' + projector.response.encoded() + b"}" in end.data


def test_only_the_last_frame_of_a_record_has_its_id() -> None:
    log = turn(ROUTES, visit("guard"), failed())
    ids = [frame.id for frame in frames(log)]
    assert ids == [f"{RUN}:4", f"{RUN}:5", f"{RUN}:6", None, f"{RUN}:7"]


def test_tokens_come_only_when_asked_for() -> None:
    assert {frame.event for frame in frames(rich())} == {"graph_topology", "node_started", "node_completed", "paused", "turn_completed"}
    tokens = [json.loads(frame.data)["delta"] for frame in frames(rich(), tokens=True) if frame.event == "token"]
    assert tokens == ["Let me ", "look."]


def test_words_that_are_not_the_assistants_are_no_tokens() -> None:
    log = turn(LINE, visit("model", *said("s1", "a note", role="system"), *said("m1", "hi")), finished())
    assert [json.loads(frame.data)["delta"] for frame in frames(log, tokens=True) if frame.event == "token"] == ["hi"]
    assert len(last(log)["response"]["reply"]["parts"]) == 1


def test_a_held_stream_goes_on_where_the_next_run_does() -> None:
    second = Log(*flat(begin(parent="p"), took(), LINE, visit("model"), finished()), run_id="01900000-0000-7000-8000-000000000002")
    encode = ChatFrames(hold=True)
    found = SseParser().feed(b"".join(encode(record) for record in [*rich().records, *second.records]))
    events = [frame.event for frame in found]
    assert events.count("turn_completed") == 1
    assert events[events.index("paused") + 1 :] == ["graph_topology", "node_started", "node_completed", "turn_completed"]
    paused = found[events.index("paused")]
    assert paused.id == rich().records[-1].cursor, "the last frame that is sent of the record"
    assert {str(frame.id).partition(":")[0] for frame in found[events.index("paused") + 1 :]} == {second.run_id}


@given(after=st.integers(min_value=0, max_value=40), tokens=st.booleans(), hold=st.booleans())
@settings(max_examples=60, deadline=None)
def test_from_any_cursor_the_rest_is_the_same_bytes(after: int, tokens: bool, hold: bool) -> None:
    records = rich().records
    whole = ChatFrames(tokens=tokens, hold=hold)
    parts = [(record.seq, whole(record)) for record in records]
    again = ChatFrames(after=after, tokens=tokens, hold=hold)
    assert b"".join(again(record) for record in records) == b"".join(part for seq, part in parts if seq > after)


PIECES: list[list[Event]] = [
    visit("guard"),
    visit("agent", *said("m1", "a", "b")),
    visit("tools", result("c9", "x")),
    [started("agent", "left open")],
    [custom(Custom.REFUSED, by="model", reason="no")],
    [custom(Custom.PROGRESS, label="x", fraction=None, toolCallId=None)],
    [{"type": "STATE_SNAPSHOT", "snapshot": {}}],
]
ENDS: list[list[Event]] = [[finished()], [finished(QUESTION)], cancelled(), [failed()]]


@given(middle=st.lists(st.sampled_from(PIECES), max_size=6), end=st.sampled_from(ENDS), drawn=st.booleans())
@settings(max_examples=80, deadline=None)
def test_whatever_happens_there_is_one_last_event_and_every_node_is_closed(
    middle: list[list[Event]], end: list[Event], drawn: bool
) -> None:
    log = turn(ROUTES if drawn else [], *middle, end)
    found = [json.loads(frame.data) for frame in frames(log, tokens=True)]
    assert [one["type"] for one in found].count("turn_completed") == 1
    assert found[-1]["type"] == "turn_completed"
    opened = [(one["path"], one["task_id"]) for one in found if one["type"] == "node_started"]
    closed = [(one["path"], one["task_id"]) for one in found if one["type"] == "node_completed" and one["outcome"] != "skipped"]
    assert sorted(opened) == sorted(closed)
    assert found[-1]["response"]["latency"] == [
        {key: one[key] for key in ("node", "path", "task_id", "started_at", "latency_ms", "outcome")}
        for one in found
        if one["type"] == "node_completed"
    ]


@pytest.mark.parametrize("name", ["response.v1.json", "stream.v1.sse"])
def test_golden_files_say_what_they_are(name: str) -> None:
    assert b'"version":"1"' in (GOLDEN / name).read_bytes()
