"""Write golden files again: `python -m tests.corpus.regold [case or family ...]`. It says what changed; review that like code."""

from __future__ import annotations

import asyncio
import difflib
import logging
import sys
from collections.abc import Sequence

from tests.corpus import golden
from tests.corpus.case import all_cases
from tests.corpus.playing import ours, theirs


async def regold(names: Sequence[str]) -> int:
    """Write what differs. Returns the number of cases whose claim about the SDK is false; they need another `why`."""
    wrong = 0
    wanted = {key: one for key, one in all_cases().items() if not names or key in names or one.family in names}
    for key, case in wanted.items():
        before = golden.path(case).read_text(encoding="utf-8") if golden.path(case).exists() else ""
        mine, sdk = await ours(case), await theirs(case)
        made = golden.made(case, mine, sdk)
        if golden.write(case, made):
            lines = list(difflib.unified_diff(before.splitlines(), golden.as_text(made).splitlines(), lineterm="", n=0))[2:]
            print(f"{'changed' if before else 'new    '} {key}")
            print(*([f"    {line[:200]}" for line in lines if line[:2] != "@@"] if before else []), sep="\n", end="\n" if before else "")
        differs = golden.difference(case, mine, sdk)
        if bool(differs) != bool(case.why):
            wrong += 1
            print(f"WRONG   {key}: the SDK " + (f"differs in {differs}; say why" if differs else "tells the same; drop `why`"))
    for orphan in golden.orphans():
        print(f"orphan  {orphan}: no case makes it; remove it if its case is gone for good")
    print(f"{len(wanted)} cases, {wrong} with a wrong claim")
    return wrong


if __name__ == "__main__":
    logging.disable()  # what a graph raises in a case is part of the case
    sys.exit(1 if asyncio.run(regold(sys.argv[1:])) else 0)
