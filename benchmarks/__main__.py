"""`make bench` measures, prints the table, and writes it into the README between its marks.

`python -m benchmarks stream stop` measures only these two and does not change the README.
"""

from __future__ import annotations

import asyncio
import platform
import sys

from benchmarks import cerebras, hop, smooth, stop, stream
from benchmarks.figures import HEADER, Figure
from tests.fakes.process import ROOT

PARTS = {"stream": stream.run, "stop": stop.run, "hop": hop.run, "cerebras": cerebras.run, "smooth": smooth.run}
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"


def main() -> int:
    """0 if every goal is met."""
    names = sys.argv[1:] or list(PARTS)
    figures: list[Figure] = []
    for name in names:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        figures += asyncio.run(PARTS[name]())
    table = "\n".join([HEADER, *(figure.row() for figure in figures)])
    print(table)
    if names == list(PARTS):
        readme = ROOT / "README.md"
        text = readme.read_text(encoding="utf-8")
        head, rest = text.split(BEGIN)
        note = f"Python {platform.python_version()}, 2 cores shared with the client; ratios are what to read."
        readme.write_text(f"{head}{BEGIN}\n{table}\n\n{note}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return 0 if all(figure.ok for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
