"""Cut Markdown into passages that a search can find and an answer can quote. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_PASSAGE_CHARS: Final = 1200
MIN_PASSAGE_CHARS: Final = 60
HEADING: Final = re.compile(r"(#{1,6})\s+(.+?)\s*#*")
FENCE: Final = re.compile(r"\s{0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A few paragraphs under one heading. anchor: the heading as a URL fragment, empty before the first."""

    section: str
    anchor: str
    text: str


def passages(markdown: str) -> list[Passage]:
    """The passages of a text in order. Long sections are cut at blank lines; a very short one goes with the next, or it would outrank its betters."""
    found: list[Passage] = []
    carried = ""
    for section, lines in sections(markdown):
        cut = list(pieces("\n".join([carried, "", *lines])))
        carried = cut.pop() if cut and len(cut[-1]) < MIN_PASSAGE_CHARS else ""
        found += [Passage(section, slug(section), piece) for piece in cut]
        last = section
    if carried:
        found.append(Passage(last, slug(last), carried))
    return found


def title_of(markdown: str, fallback: str) -> str:
    """The first heading, else the fallback."""
    return next((section for section, _ in sections(markdown) if section), fallback)


def sections(markdown: str) -> Iterator[tuple[str, list[str]]]:
    """(heading, lines below it). A `#` inside a code fence is no heading."""
    heading, lines, fence = "", list[str](), ""
    for line in markdown.splitlines():
        if mark := FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and (found := HEADING.fullmatch(line)):
            yield heading, lines
            heading, lines = found[2].replace("`", ""), []
            continue
        lines.append(line)
    yield heading, lines


def pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most `MAX_PASSAGE_CHARS`, cut between paragraphs, else between words, else anywhere."""
    piece = ""
    for paragraph in re.split(r"\n\s*\n", text):
        rest = paragraph.strip()
        while rest:
            if len(piece) + len(rest) + 2 <= MAX_PASSAGE_CHARS:
                piece, rest = f"{piece}\n\n{rest}" if piece else rest, ""
            elif piece:
                yield piece
                piece = ""
            else:
                cut = max(rest.rfind(" ", 1, MAX_PASSAGE_CHARS), rest.rfind("\n", 1, MAX_PASSAGE_CHARS))
                cut = cut if cut > 0 else MAX_PASSAGE_CHARS - 2
                yield rest[:cut].rstrip()
                rest = rest[cut:].lstrip()
    if piece:
        yield piece


def slug(heading: str) -> str:
    """The heading as GitHub writes it in a fragment."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower()))
