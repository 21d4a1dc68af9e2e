"""demo.passages: cut by heading, bounded, and nothing lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.demo.passages import MAX_PASSAGE_CHARS, Passage, passages, slug, title_of

LONG = "Long enough to be a passage of its own, which takes sixty characters."


def test_headings_make_sections() -> None:
    text = f"# The title\n\n{LONG}\n\n## How it `works` #\n\n{LONG} Two.\n\n{LONG} Three.\n"
    assert passages(text) == [
        Passage("The title", "the-title", LONG),
        Passage("How it works", "how-it-works", f"{LONG} Two.\n\n{LONG} Three."),
    ]
    assert title_of(text, "fallback") == "The title"
    assert title_of("no heading", "fallback") == "fallback"


def test_a_hash_in_a_fence_is_no_heading() -> None:
    text = f"# T\n\n```sh\n# a comment\n~~~\n# still code\n```\n{LONG}\n~~~\n# code too\n~~~\n# U\n{LONG}"
    assert [piece.section for piece in passages(text)] == ["T", "U"]


def test_a_very_short_section_goes_with_the_next_or_stands_alone_at_the_end() -> None:
    assert passages(f"# A\n\nDate: today.\n\n## B\n\n{LONG}") == [Passage("B", "b", f"Date: today.\n\n{LONG}")]
    assert passages("# A\n\nShort.") == [Passage("A", "a", "Short.")]
    assert passages("") == []


def test_slugs_are_those_of_github() -> None:
    assert slug("What's new, in 2.0?") == "whats-new-in-20"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="ab #`~\n-", max_size=60) | st.just("x" * 3000) | st.just("word " * 400), max_size=12).map("\n\n".join))
def test_no_word_is_lost_and_every_passage_is_bounded(text: str) -> None:
    cut = passages(text)
    assert all(0 < len(piece.text) <= MAX_PASSAGE_CHARS for piece in cut)
    kept = "".join("".join(piece.text.split()) for piece in cut)
    for letter in "abxw":
        lost = text.count(letter) - kept.count(letter)
        assert 0 <= lost <= sum(line.count(letter) for line in text.splitlines() if line.startswith("#"))
