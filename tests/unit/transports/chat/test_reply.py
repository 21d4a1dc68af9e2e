"""What the assistant said and did, taken from the events of a run."""

from __future__ import annotations

from typing import Any

from middle_core.contract.cards import CARD_TOOL
from middle_core.events import Event
from middle_core.transports.chat.reply import MAX_CHARS, ReplyBuilder
from tests.fakes.chat_records import DONE, called, flat, result, said, took


def reply(*parts: Any) -> Any:
    builder = ReplyBuilder()
    for event in flat(*parts):
        builder.feed(event)
    found = builder.reply()
    return None if found is None else found.model_dump()


def snapshot(*messages: dict[str, Any]) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def test_nothing_said_is_no_reply() -> None:
    assert reply(took("u1")) is None
    assert reply(said("m1")) is None


def test_parts_stand_in_the_order_in_which_they_began() -> None:
    found = reply(said("m1", "a"), called("c1", "look", '{"q": 1}', parent="m1"), result("c1", "seen"), said("m2", "b", "c"))
    assert found["parts"] == [
        {"type": "text", "message_id": "m1", "text": "a"},
        {"type": "tool_call", "tool_call_id": "c1", "name": "look", "arguments": {"q": 1}},
        {"type": "tool_result", "tool_call_id": "c1", "content": "seen", **DONE},
        {"type": "text", "message_id": "m2", "text": "bc"},
    ]
    assert found["message_id"] == "m2"


REFUSED = {"outcome": "refused", "code": "forbidden", "message": "Deleting needs the role admin."}


def test_a_result_says_what_became_of_its_call_streamed_and_in_a_snapshot() -> None:
    call, refused = called("c1", "delete", parent="m1"), result("c1", "permission denied", REFUSED)
    told = {"type": "tool_result", "tool_call_id": "c1", "content": "permission denied", **REFUSED}
    assert reply(call, refused)["parts"][-1] == told
    message = {"id": "c1-result", "role": "tool", "toolCallId": "c1", "content": "permission denied", "metadata": refused["metadata"]}
    assert reply(took("u1"), call, refused, snapshot({"id": "u1", "role": "user", "content": "?"}, message))["parts"] == [told]


def test_an_error_by_its_words_is_done() -> None:
    assert reply(result("c1", "Error: that is what stood in the log"))["parts"][0]["outcome"] == "done"


def test_a_log_that_tells_no_outcome_is_read_all_the_same() -> None:
    old = {key: value for key, value in result("c1", "seen").items() if key != "metadata"}
    assert reply(old)["parts"][0]["outcome"] == "done"


def test_arguments_that_are_no_object_are_told_as_they_are() -> None:
    found = reply(called("c1", "look", '{"q": '), called("c2", "look", "[1]"), called("c3", "look"))
    assert [part["arguments"] for part in found["parts"]] == ['{"q": ', "[1]", {}]
    assert found["message_id"] is None


def test_the_card_tool_is_the_servers_and_no_part() -> None:
    assert reply(called("q1", CARD_TOOL, "{}"), result("q1", "{}")) is None


def test_a_snapshot_is_the_truth_of_this_turn_and_no_more() -> None:
    thread = snapshot(
        {"id": "u0", "role": "user", "content": "before"},
        {"id": "m0", "role": "assistant", "content": "before"},
        {"id": "u1", "role": "user", "content": "now"},
        {
            "id": "m9",
            "role": "assistant",
            "content": "rewritten",
            "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q":2}'}}],
        },
        {"id": "c1-result", "role": "tool", "toolCallId": "c1", "content": "seen"},
    )
    found = reply(took("u1"), said("m1", "draft"), thread)
    assert [(part["type"], part.get("text")) for part in found["parts"]] == [
        ("text", "rewritten"),
        ("tool_call", None),
        ("tool_result", None),
    ]
    assert reply(took("u1"), said("m1", "draft"), thread, said("n1", "more"))["parts"][-1]["text"] == "more"


def test_a_snapshot_in_a_turn_without_words_begins_with_its_first_message() -> None:
    thread = snapshot(
        {"id": "m0", "role": "assistant", "content": "before"},
        {"id": "c1-result", "role": "tool", "toolCallId": "c1", "content": "done"},
        {"id": "m1", "role": "assistant", "content": "after"},
    )
    found = reply(took(), result("c1", "done"), said("m1", "aft"), thread)
    assert [part.get("content", part.get("text")) for part in found["parts"]] == ["done", "after"]
    assert reply(took(), thread) is None, "none of it is known to be this turn's"


def test_passages_of_a_search_are_citations_once_each() -> None:
    passages = [
        {"title": "A", "location": "1", "source": "s1", "score": 1, "text": "x" * 1000},
        {"title": "A", "location": "1", "source": "s1", "score": 0.2, "text": "x" * 1000},
        {"title": "B", "source": "s2"},
        {"source": "no title"},
        "nonsense",
    ]
    found = reply(result("c1", {"passages": passages}), result("c2", "no json {"), result("c3", {"passages": 3}), result("c4", []))
    assert [(one["title"], one["location"], one["score"], len(one["excerpt"])) for one in found["citations"]] == [
        ("A", "1", 1.0, 300),
        ("B", "", None, 0),
    ]


def test_what_is_too_long_is_cut_and_says_so() -> None:
    half = "x" * (MAX_CHARS // 2 + 1)
    found = reply(said("m1", half), result("c1", half), said("m2", "y"))
    assert [len(part.get("text", part.get("content"))) for part in found["parts"]] == [len(half), len(half) - 2, 0]
    assert found["truncated"]
    assert not reply(said("m1", half))["truncated"]
