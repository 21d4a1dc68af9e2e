from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.transports.sse.frames import Frame, FrameTooLong, SseParser, comment, encode_frame

LAWS = settings(deadline=None, max_examples=80)


def parse(wire: bytes, parser: SseParser | None = None) -> list[Frame]:
    return (parser or SseParser()).feed(wire)


def test_a_frame_is_spelt_as_the_standard_says() -> None:
    assert encode_frame(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert (
        encode_frame(b"a\nb\r\nc\rd", id="run:7", event="x", retry=0)
        == b"event: x\nid: run:7\nretry: 0\ndata: a\ndata: b\ndata: c\ndata: d\n\n"
    )
    assert encode_frame(b"") == b"data: \n\n"
    assert encode_frame(b"x", id="") == b"id: \ndata: x\n\n"
    assert comment("beat") == b": beat\n\n"
    assert comment("a\r\nb") == b": a\n: b\n\n"


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\0b"])
def test_what_would_break_out_of_a_field_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="SSE field id may not hold CR, LF or NUL"):
        encode_frame(b"", id=bad)
    with pytest.raises(ValueError, match="SSE field event may not hold CR, LF or NUL"):
        encode_frame(b"", event=bad)


def test_a_negative_retry_is_refused() -> None:
    with pytest.raises(ValueError, match="retry is -1"):
        encode_frame(b"", retry=-1)


one_line = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=8)
payloads = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=20).map(str.encode) | st.sampled_from(
    ["你🌍é\x85\u2028".encode(), b"\x00\xff", b"", b"\n", b" a", b"\xef\xbb\xbf"]
)
frames = st.builds(Frame, payloads, st.none() | one_line, one_line.map(lambda name: name or "message"), st.none() | st.integers(0, 10**9))


@LAWS
@given(st.lists(frames | one_line, max_size=6), st.data())
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(sent: list[Frame | str], data: st.DataObject) -> None:
    wire = b"".join(
        comment(one) if isinstance(one, str) else encode_frame(one.data, id=one.id, event=one.event, retry=one.retry) for one in sent
    )
    cuts = sorted(data.draw(st.sets(st.integers(0, len(wire)), max_size=12)))
    parser = SseParser()
    got = [frame for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True) for frame in parser.feed(wire[a:b])]
    assert got == [one for one in sent if isinstance(one, Frame)]
    assert not parser.pending
    assert parser.comments == sum(isinstance(one, str) for one in sent)


def test_characters_delivered_byte_by_byte_arrive_whole() -> None:  # api7/aisix#111
    words = "你🌍é\x85\u2028\u2029"
    wire = encode_frame(words.encode())
    parser = SseParser()
    (frame,) = [frame for at in range(len(wire)) for frame in parser.feed(wire[at : at + 1])]
    assert frame.data.decode() == words


@pytest.mark.parametrize(
    ("wire", "wanted"),
    [
        (b"data: a\r\rdata: b\r\r", [Frame(b"a"), Frame(b"b")]),
        (b"data: a\r\n\r\ndata: b\n\n", [Frame(b"a"), Frame(b"b")]),
        (b"data:a\ndata: b\ndata:  c\n\n", [Frame(b"a\nb\n c")]),
        (b"data\ndata\n\n", [Frame(b"\n")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Frame(b"a")]),
        (b"id: 1\n\ndata: a\n\n", [Frame(b"a")]),
        (b"event: x\n\ndata: a\n\n", [Frame(b"a")]),
        (b"id: a\0b\ndata: a\n\n", [Frame(b"a")]),
        (b"retry: 1x\nretry: 5\ndata: a\n\n", [Frame(b"a", retry=5)]),
        (b"unknown: x\ndata: a\n: note\n\n", [Frame(b"a")]),
        (b"id\ndata: a\n\n", [Frame(b"a", id="")]),
        (b"\n\n\n", []),
        (b"data: cut off\n", []),
    ],
)
@pytest.mark.parametrize("step", [1, 2, 3, 1000])
def test_the_standards_corner_cases(wire: bytes, wanted: list[Frame], step: int) -> None:
    parser = SseParser()
    assert [frame for at in range(0, len(wire), step) for frame in parser.feed(wire[at : at + step])] == wanted


def test_the_last_event_id_lasts_and_needs_no_data() -> None:
    parser = SseParser()
    assert parse(b"id: 1\ndata: a\n\ndata: b\n\n", parser) == [Frame(b"a", id="1"), Frame(b"b")]
    assert parser.last_event_id == "1"
    assert parse(b"id: 2\n\n", parser) == []
    assert parser.last_event_id == "2"
    assert parse(b"id:\n\n", parser) == []
    assert parser.last_event_id == ""


def test_a_frame_that_was_cut_off_is_pending() -> None:
    for cut in (b"da", b"data: a\n", b"event: x\n", b"id: 1\n", b"retry: 1\n"):
        parser = SseParser()
        assert parse(cut, parser) == []
        assert parser.pending


@pytest.mark.parametrize("wire", [b"x" * 101, b"data: 12345678\n" * 8, b": beat\n" * 20])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_frame_that_never_ends_is_refused(wire: bytes, step: int) -> None:
    parser = SseParser(max_frame_bytes=100)
    pieces = [wire[at : at + step] for at in range(0, len(wire), step)]
    with pytest.raises(FrameTooLong, match="more than 100 bytes"):
        deque(map(parser.feed, pieces), maxlen=0)


def test_heartbeats_and_frames_within_the_bound_go_on_for_ever() -> None:
    parser = SseParser(max_frame_bytes=100)
    assert len(parse((comment("beat") + encode_frame(b"x" * 60)) * 1000, parser)) == 1000
    assert parser.comments == 1000


def test_a_frame_that_is_cut_off_moves_no_cursor() -> None:
    parser = SseParser()
    parser.feed(b"id: r:1\ndata: a\n\nid: r:2\ndata: b\n")
    assert parser.last_event_id == "r:1"
    parser.feed(b"\n")
    assert parser.last_event_id == "r:2"
