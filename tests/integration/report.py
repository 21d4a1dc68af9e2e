"""What a test run prints at its end: what could not be tested on this machine, and the lab's figures as a table.

The figures come from the tests themselves (`lab.Figures`), so each figure in the table has a passed test. The table is
written between the marks of `infra/ingress-lab/README.md`. This module is loaded by every test run, so it imports nothing of ours.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

README = Path(__file__).parents[2] / "infra" / "ingress-lab" / "README.md"
MARKS = ("<!-- lab -->", "<!-- /lab -->")

FIGURE = "figure"
"""The name of a figure among a report's properties."""

NOT_TESTED = "NOT TESTED: "
"""The beginning of the reason of a skip that must be visible."""

COLUMNS = (
    "headers",
    "a token",
    "a token, /chat",
    "client leaves, talking",
    "client leaves, silent",
    "stop, talking",
    "stop, silent",
    "probe says",
)

Row = tuple[str, str, str, str]
"""Table, row, column, value."""


def markdown(figures: Iterable[Row]) -> str:
    """Both tables. An empty cell was not measured."""
    hops: dict[str, dict[str, str]] = {}
    facts: dict[str, list[str]] = {}
    for table, row, column, value in figures:
        if table == "hops":
            hops.setdefault(row, {})[column] = value
        else:
            facts.setdefault(row, []).append(value)
    columns = [column for column in COLUMNS if any(column in cells for cells in hops.values())]
    lines = [
        f"| through | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(f"| {hop} | {' | '.join(cells.get(column, '') for column in columns)} |" for hop, cells in sorted(hops.items())),
        "",
        "| what happens | what is measured |",
        "|---|---|",
        *(f"| {what} | {'; '.join(values)} |" for what, values in facts.items()),
        "",
        f"Python {platform.python_version()}, one machine, servers and clients on the same cores.",
    ]
    return "\n".join(lines)


def write(text: str, to: Path = README) -> None:
    """Replace the text between the marks. Raises ValueError if the marks are missing."""
    before, begin, rest = to.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise ValueError(f"{to.name} has no marks {MARKS[0]} and {MARKS[1]} to write the table between.")
    to.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
