"""What both sides of an approval must agree on: arguments that a person sees whole, and their digest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.node_api.approvals import digest, edits_of, idempotency_key, plain
from middle_core.node_api.context import within

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("abc\u202edef", "abcdef"),
        ("\u2066x\u2069\u200f", "x"),
        ("a\u200bb\ufeffc\u00ad", "abc"),
        ("bell\u0007 null\u0000 esc\u001b[31m", "bell null esc[31m"),
        ("two\r\nlines\tand\na tab", "two\nlines\tand\na tab"),
        ("a carriage\rreturn", "a carriagereturn"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("family 👨\u200d👩\u200d👧 نامه\u200cای", "family 👨\u200d👩\u200d👧 نامه\u200cای"),
        ({"k\u202e": ["v\u0000", 1, True, None, 1.5]}, {"k": ["v", 1, True, None, 1.5]}),
        (float("nan"), None),
        (float("inf"), None),
        (("a", b"b"), ["a", "b'b'"]),
    ],
)
def test_nothing_is_hidden_from_a_person(written: Any, shown: Any) -> None:
    assert plain(written) == shown


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_what_is_plain_stays_as_it_is_and_has_one_digest(value: Any) -> None:
    once = plain(value)
    assert plain(once) == once
    args = {"value": once}
    assert digest(args) == digest(json.loads(json.dumps(args)))


def test_the_digest_tells_arguments_apart_and_not_their_order() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    different: list[dict[str, Any]] = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.5}, {"b": 1}, {"a": [1]}, {"a": {"a": 1}}, {}]
    assert len({digest(args) for args in different}) == len(different)


@pytest.mark.parametrize(
    "answer", [None, True, "yes", [], {"approved": True}, {"edits": None}, {"edits": "x"}, {"edits": []}, {"edits": {}}]
)
def test_an_answer_without_changes_has_none(answer: Any) -> None:
    assert edits_of(answer) == {}


def test_changes_are_made_visible_too() -> None:
    assert edits_of({"approved": True, "edits": {"steps": ["a\u202e"]}}) == {"steps": ["a"]}


def test_only_an_approved_action_has_a_key() -> None:
    with pytest.raises(LookupError):
        idempotency_key()
    with within(idempotency_key="approval-1"):
        assert idempotency_key() == "approval-1"
