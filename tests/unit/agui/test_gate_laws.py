"""Property tests: what holds for every sequence of events. The checker is `tests.fakes.agui_rules`, written independently of the gate."""

from __future__ import annotations

from collections import defaultdict
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from middle_core.agui.gate import Cancelled, End, Failed, Finished, Gate, opening
from middle_core.errors import ErrorCode
from middle_core.events import ClientRunId, ClientThreadId, Event, EventType, RunId
from tests.fakes import agui_events as ev
from tests.fakes import agui_rules
from tests.fakes.agui_verify import verify_streams

MAX_BYTES = 4096
THREAD, RUN = ClientThreadId("t"), ClientRunId("r")
LAWS = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

# Sequences --------------------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "a~2", "", "x" * 100])
few = st.sampled_from(["a", "b"])
pieces = st.text(max_size=8) | st.sampled_from(["", "\ud83d", "\ude00", "\x00\x1b", "é" * 3000, "\u2028", "🌍你"])
odd: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.datetimes()
    | st.just(object()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers() | st.none(), inner, max_size=3),
    max_leaves=6,
)
big = st.sampled_from(["y" * 9000, ["y" * 9000], {"k": "\u0001" * 1000}])
messages = st.fixed_dictionaries(
    {"id": ids | st.none(), "role": st.sampled_from(["user", "assistant", "tool", "reasoning", "robot"])},
    optional={
        "content": odd,
        "name": st.none() | st.just("n"),
        "toolCallId": ids,
        "toolCalls": st.none() | st.just([{"id": "a", "function": {"name": None}}]),
    },
)
operations = st.fixed_dictionaries({"op": st.just("add"), "path": st.just("/k"), "value": odd})


def move(build: Any, *args: st.SearchStrategy[Any]) -> st.SearchStrategy[Event]:
    return st.builds(build, *args)


moves = st.one_of(
    move(ev.text_start, ids),
    move(ev.text_part, ids, pieces),
    move(ev.text_end, ids),
    move(ev.call_start, ids, st.sampled_from(["search", "delete", None])),
    move(ev.call_part, ids, pieces),
    move(ev.call_end, ids),
    st.builds(lambda i, c, m: ev.result(i, c, message_id=m), ids, odd | big, ids),
    move(ev.step_start, ids),
    move(ev.step_end, ids),
    move(ev.reasoning_start, ids),
    move(ev.reasoning_end, ids),
    move(ev.thought_start, ids),
    move(ev.thought_part, ids, pieces),
    move(ev.thought_end, ids),
)
others = st.one_of(
    st.builds(ev.custom_event, st.sampled_from(["middle_core.chunk", "x.y"]), odd | big),
    st.builds(ev.state, st.dictionaries(st.sampled_from(["k", "l"]), odd | big, max_size=2) | st.none()),
    st.builds(ev.state_delta, operations),
    st.builds(ev.history, messages, messages),
    st.builds(
        lambda i, content: {"type": "ACTIVITY_SNAPSHOT", "messageId": i, "activityType": "plan", "content": {"c": content}}, ids, odd | big
    ),
    st.builds(
        lambda i, kind: {"type": "REASONING_ENCRYPTED_VALUE", "entityId": i, "subtype": kind, "encryptedValue": "s"},
        ids,
        st.sampled_from(["message", "tool-call", "other"]),
    ),
    st.builds(
        lambda kind, i, delta: {"type": kind, "messageId": i, "toolCallId": i, "delta": delta},
        st.sampled_from(["TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"]),
        ids | st.none(),
        pieces | st.none(),
    ),
    st.sampled_from(
        [{"type": "RAW", "event": 1}, {"type": "FOO"}, {"type": "RUN_STARTED"}, {"type": "RUN_FINISHED"}, {"type": "RUN_ERROR"}]
    ),
)
fields = [
    "messageId",
    "toolCallId",
    "toolCallName",
    "parentMessageId",
    "stepName",
    "role",
    "name",
    "delta",
    "content",
    "snapshot",
    "messages",
    "value",
]
fields += ["activityType", "patch", "replace", "subtype", "entityId", "encryptedValue", "metadata", "timestamp", "rawEvent"]
nonsense: st.SearchStrategy[Any] = st.sampled_from(
    [None, "text", [], {}, {"type": None}, {"type": ["x"], "messageId": "a", "delta": "b"}]
) | st.fixed_dictionaries(
    {"type": st.sampled_from([*EventType, "TOOL_CALL_CHUNK"])},
    optional={field: odd | ids | st.lists(messages, max_size=2) for field in fields},
)
sequences = st.lists(moves | moves | others, max_size=30)
adversarial = st.lists(moves | others | nonsense, max_size=30)
ends: st.SearchStrategy[End] = st.one_of(
    st.just(Finished()),
    st.builds(Failed, st.sampled_from(ErrorCode), st.text(max_size=900), st.text(max_size=9), st.none() | st.floats()),
    st.builds(Cancelled, st.just("user"), st.text(max_size=9)),
    st.builds(
        Finished, st.lists(st.fixed_dictionaries({"id": st.text(max_size=3)}, optional={"reason": odd, "metadata": odd}), max_size=3)
    ),
)


def gate() -> Gate:
    return Gate(thread_id=THREAD, run_id=RUN, max_event_bytes=MAX_BYTES)


def whole_run(events: list[Any], end: End) -> list[Event]:
    one = gate()
    out = opening(thread_id=THREAD, run_id=RUN, our_run_id=RunId("ours"), agent="agent", attempt=1)
    for event in events:
        out += one.feed(event)
    return out + one.close(end)


# Laws -------------------------------------------------------------------------------------------------


@LAWS
@given(adversarial, ends)
def test_whatever_comes_in_a_legal_run_comes_out(events: list[Any], end: End) -> None:
    assert agui_rules.violations(whole_run(events, end), max_bytes=MAX_BYTES) == []


@LAWS
@given(sequences)
def test_what_a_gate_let_out_passes_a_second_gate_unchanged(events: list[Any]) -> None:
    *told, _ = whole_run(events, Finished())
    second = gate()
    again = [out for event in told for out in second.feed(event)]
    assert again == told[1:]  # RUN_STARTED is the engine's
    assert len(second.close(Finished())) == 1  # everything is closed already


@LAWS
@given(adversarial, ends, ends)
def test_nothing_comes_out_after_the_end(events: list[Any], end: End, other: End) -> None:
    one = gate()
    one.close(end)
    assert one.ended
    assert one.end == end
    assert [one.feed(event) for event in events] == [[] for _ in events]
    assert one.close(other) == []
    assert one.end == end


@LAWS
@given(st.lists(moves, max_size=25), st.lists(moves, max_size=25))
def test_an_attempt_taken_over_closes_what_the_one_before_left_open(before: list[Any], after: list[Any]) -> None:
    first = gate()
    logged = opening(thread_id=THREAD, run_id=RUN, our_run_id=RunId("ours"), agent="agent", attempt=1)
    logged += [out for event in before for out in first.feed(event)]
    second = gate()
    logged += second.recover(logged)
    logged += [out for event in after for out in second.feed(event)]
    assert agui_rules.violations(logged + second.close(Finished()), max_bytes=MAX_BYTES) == []


plain_pieces = st.text(alphabet="ab😀é\u2028", max_size=5)
text_moves = st.one_of(
    st.builds(ev.text_start, few),
    st.builds(ev.text_part, few, plain_pieces),
    st.builds(ev.text_end, few),
    st.builds(ev.thought_start, few),
    st.builds(ev.thought_part, few, plain_pieces),
    st.builds(ev.thought_end, few),
    st.builds(ev.call_start, few),
    st.builds(ev.call_end, few),
    st.builds(ev.history, messages),
)


@LAWS
@given(st.lists(text_moves, max_size=40))
def test_no_text_is_lost_or_moved_to_another_message(events: list[Event]) -> None:
    assert spoken(whole_run(events, Finished())) == spoken(events)


def spoken(events: list[Event]) -> dict[tuple[str, str], str]:
    """All text by the source's ids, without the suffix that the gate may have added."""
    said: dict[tuple[str, str], str] = defaultdict(str)
    for event in events:
        if event["type"] in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT") and event["delta"]:
            said[event["type"], event["messageId"].partition("~")[0]] += event["delta"]
    return dict(said)


@LAWS
@given(st.data())
def test_interleaved_calls_and_parallel_texts_never_mix(data: st.DataObject) -> None:
    wanted = {name: data.draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6), label=name) for name in "abcd"}
    starts: dict[str, Any] = {"a": ev.text_start, "b": ev.text_start, "c": ev.call_start, "d": ev.call_start}
    part: dict[str, Any] = {"a": ev.text_part, "b": ev.text_part, "c": ev.call_part, "d": ev.call_part}
    order = data.draw(st.permutations([name for name, deltas in wanted.items() for _ in deltas]))
    left = {name: iter(deltas) for name, deltas in wanted.items()}
    events = [start(name) for name, start in starts.items()] + [part[name](name, next(left[name])) for name in order]
    got: dict[str, str] = defaultdict(str)
    for event in whole_run(events, Finished()):
        if "delta" in event:
            got[event.get("messageId") or event["toolCallId"]] += event["delta"]
    assert got == {name: "".join(deltas) for name, deltas in wanted.items()}


@LAWS
@given(st.text(alphabet="a😀你\U0010ffff", max_size=12), st.data())
def test_a_character_cut_in_two_by_utf16_comes_out_whole(words: str, data: st.DataObject) -> None:
    units = words.encode("utf-16-le")
    halves = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(halves)))))
    deltas = ["".join(halves[a:b]) for a, b in zip([0, *cuts], [*cuts, len(halves)], strict=True)]
    out = whole_run([ev.text_part("m", delta) for delta in deltas], Finished())
    assert "".join(event["delta"] for event in out if "delta" in event) == words


@LAWS
@given(
    st.text(alphabet=st.sampled_from('a\x01"\\é你😀'), min_size=1, max_size=20000),
    st.sampled_from([ev.text_part, ev.call_part, ev.thought_part]),
)
def test_a_delta_of_any_length_arrives_in_pieces_that_fit(delta: str, part: Any) -> None:
    out = whole_run([part("m", delta)], Finished())
    assert agui_rules.violations(out, max_bytes=MAX_BYTES) == []
    assert "".join(event["delta"] for event in out if "delta" in event) == delta


# Second opinions --------------------------------------------------------------------------------------


def collected(strategy: st.SearchStrategy[list[Any]], count: int) -> list[list[Any]]:
    found: list[list[Any]] = []

    @settings(
        deadline=None, max_examples=count, database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def take(events: list[Any]) -> None:
        found.append(events)

    take()
    return found


@pytest.mark.slow
async def test_the_browsers_client_and_the_validator_accept_every_run() -> None:
    all_ends: list[End] = [
        Finished(),
        Failed(ErrorCode.INTERNAL, "no", "c"),
        Cancelled("user", "stop"),
        Finished([{"id": "i", "reason": "approve"}]),
    ]
    mixed, told = st.lists(moves | others, min_size=8, max_size=40), st.lists(moves, min_size=8, max_size=40)
    sources = [*collected(mixed, 120), *collected(told, 120), *collected(adversarial, 60)]
    runs = [whole_run(events, end) for events, end in zip(sources, cycle(all_ends), strict=False)]
    assert len(runs) > 250
    verdicts = await verify_streams(runs)
    assert [(verdict.error, verdict.findings) for verdict in verdicts if not verdict.ok] == []
    texts = 0
    for run, verdict in zip(runs, verdicts, strict=True):
        if "MESSAGES_SNAPSHOT" not in {event["type"] for event in run}:
            assert verdict.warnings == []
            said = by_message(run)
            assert {message: verdict.texts[message] for message in said} == said
            texts += len(said)
    assert texts > 200  # the comparison is not empty


def by_message(events: list[Event]) -> dict[str, str]:
    said: dict[str, str] = defaultdict(str)
    for event in events:
        if event["type"] in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"):
            said[event["messageId"]] += event["delta"]
    return dict(said)
