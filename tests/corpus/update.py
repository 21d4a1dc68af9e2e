"""Write the golden files anew: `python -m tests.corpus.update [case ...]`. Look at the difference before you commit it."""

from __future__ import annotations

import asyncio
import sys

from tests.corpus.cases import CASES
from tests.corpus.stream import GOLDEN, lines, normal, ours


async def update(names: list[str]) -> None:
    """Play the cases and write what they said."""
    GOLDEN.mkdir(exist_ok=True)
    for name in names or CASES:
        (GOLDEN / f"{name}.json").write_text(lines(normal(await ours(CASES[name]))), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(update(sys.argv[1:]))
