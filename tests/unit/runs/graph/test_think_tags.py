"""Reasoning in tags: taken apart the same way however it is cut, and only where it is a tag."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.runs.graph.think_tags import TAGS, ThinkTags

CASES = {
    "closed": ("<think>I wonder.</think>\n\nYes.", "Yes.", "I wonder."),
    "never closed": ("<think>I wonder", "", "I wonder"),
    "nothing in it": ("<think>\n\n</think>\n\nYes.", "Yes.", "\n\n"),
    "blanks before it": ("\n  <think>a</think>Yes.", "\n  Yes.", "a"),
    "twice": ("<think>a</think>Yes.\n<think>b</think>\nNo.", "Yes.\nNo.", "ab"),
    "no tag at all": ("a < b, <b>bold</b>\n<thin", "a < b, <b>bold</b>\n<thin", ""),
    "in the middle of a line": ("The <think> tag opens it.", "The <think> tag opens it.", ""),
    "in a code block": ("Write:\n```xml\n<think>\nx\n</think>\n```\n", "Write:\n```xml\n<think>\nx\n</think>\n```\n", ""),
    "behind a code block": ("```\nx\n```\n<think>a</think>Yes.", "```\nx\n```\nYes.", "a"),
    "a closing tag alone": ("</think>Yes.", "</think>Yes.", ""),
    "another tag inside": ("<think>a <b> </thin </think>Yes.", "Yes.", "a <b> </thin "),
    "empty": ("", "", ""),
}


def apart(pieces: list[str]) -> tuple[str, str]:
    tags = ThinkTags()
    parts = [*(tags.feed(one) for one in pieces), tags.feed("", last=True)]
    return "".join(one.text for one in parts), "".join(one.reasoning for one in parts)


@pytest.mark.parametrize(("answer", "text", "reasoning"), CASES.values(), ids=CASES)
def test_an_answer_is_taken_apart(answer: str, text: str, reasoning: str) -> None:
    assert apart([answer]) == apart(list(answer)) == (text, reasoning)
    assert ThinkTags().feed(answer, last=True) == (text, reasoning)


@pytest.mark.parametrize("name", TAGS)
def test_every_known_name_of_the_tag(name: str) -> None:
    assert apart(list(f"<{name}>a</{name}>b")) == ("b", "a")


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "\n", "```", "a ", ">", "<thinking>", " "]), max_size=12), st.data())
@settings(max_examples=300, deadline=None)
def test_cuts_make_no_difference(words: list[str], data: st.DataObject) -> None:
    answer = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=6)))
    pieces = [answer[start:end] for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert apart(pieces) == apart([answer])


def test_text_is_not_held_back() -> None:
    tags = ThinkTags()
    assert tags.feed("Hello") == ("Hello", "")
    assert tags.feed(" <b") == (" <b", ""), "in the middle of a line no tag begins"
    assert tags.feed("\n<") == ("\n", "")
    assert tags.feed("b>") == ("<b>", "")
