"""No word of the contract is typed by hand where browsers read it: code names it, so that a word that changes or goes is an error there.

Looked for are the words that can be nothing else: error codes, names of CUSTOM events, the keys of metadata, and every compound word. A
plain word such as "failed" is left to the type checker: where it stands for one of the contract's, its type is generated, and a word that
the contract has not got does not compile. Tests type the words: they play the server.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from middle_core.errors import ErrorCode
from middle_core.events import Custom
from tests import typescript
from tests.architecture.test_rules import ROOT, tracked

GENERATED: Final = {typescript.TYPESCRIPT, typescript.JAVASCRIPT}
LITERAL: Final = re.compile(r"""(["'`])([A-Za-z_.]+)\1""")
COMMENT: Final = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
SOURCES: Final = [
    path
    for pattern in ("frontend_core/*.ts", "frontend_core/*.tsx", "middle_core/graph_page/*.js")
    for path in tracked(pattern)
    if path not in GENERATED and ".test." not in path.name and "testing" not in path.parts
]


def unmistakable() -> set[str]:
    """The contract's words that stand for nothing else."""
    compound = {word for words in typescript.word_lists().values() for word in words if typescript.compound(word)}
    return compound | set(ErrorCode) | set(Custom) | set(typescript.CONSTANTS.values())


def typed(text: str) -> set[str]:
    """The unmistakable words that the source types as strings, outside of comments."""
    return {found for _, found in LITERAL.findall(COMMENT.sub("", text))} & unmistakable()


def test_the_check_sees_what_it_looks_for() -> None:
    assert len(SOURCES) > 100
    assert typed("""/* "run_lost" */ if (code === "thread_busy" || name === 'middle_core.run') mark = `middleCore`; state = "failed"; ERROR_CODE.RUN_LOST // "draining"
        """) == {
        "thread_busy",
        "middle_core.run",
        "middleCore",
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_word_of_the_contract_is_typed_by_hand(path: Path) -> None:
    assert typed(path.read_text(encoding="utf-8")) == set(), "take it from frontend_core/contract or graph_page/contract.js"
