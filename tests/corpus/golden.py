"""Golden files: the streams of a case, written so that a diff can be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.corpus.case import Case, all_cases
from tests.corpus.normal import essence, stable
from tests.corpus.playing import Played

FOLDER = Path(__file__).parent / "golden"
MAX_TEXT = 500


def path(case: Case) -> Path:
    """The path of a case's golden file."""
    return FOLDER / case.family / f"{case.name}.json"


def orphans() -> list[Path]:
    """Golden files that no case makes."""
    return sorted(set(FOLDER.rglob("*.json")) - {path(one) for one in all_cases().values()})


def made(case: Case, ours: Played, theirs: Played) -> dict[str, Any]:
    """The content of the golden file for a played case."""
    differs = difference(case, ours, theirs)
    header: dict[str, Any] = {"case": case.key, "about": case.about, "upstream": list(case.upstream)}
    header |= {"oracle": "ours", "why": case.why, "sdk": differs} if case.why else {"oracle": "sdk"}
    ours = stable(ours)
    return header | {"saw": ours.saw, "did": ours.did, "streams": ours.streams}


def difference(case: Case, ours: Played, theirs: Played) -> dict[str, Any]:
    """The aspects in which the SDK's stream differs from ours, as the SDK has them."""
    mine, other = (plain(essence(one, case.beside)) for one in (ours, theirs))
    return {aspect: _shortened(other[aspect]) for aspect in mine if mine[aspect] != other[aspect]}


def _shortened(value: Any) -> Any:
    """Shorten long texts, because people read golden files."""
    match value:
        case str():
            return value if len(value) <= MAX_TEXT else f"{value[:80]}... ({len(value)} characters)"
        case list():
            return [_shortened(one) for one in value]
        case dict():
            return {key: _shortened(one) for key, one in value.items()}
        case _:
            return value


def plain(value: Any) -> Any:
    """The value after a round trip through JSON."""
    return json.loads(json.dumps(value))


def read(case: Case) -> dict[str, Any]:
    """The golden file. Raises FileNotFoundError that says how to make it."""
    if not path(case).exists():
        raise FileNotFoundError(f"{case.key} has no golden file; make it with: python -m tests.corpus.regold {case.key}")
    found: dict[str, Any] = json.loads(path(case).read_text(encoding="utf-8"))
    return found


def write(case: Case, golden: Mapping[str, Any]) -> bool:
    """Write the file. Returns whether it changed."""
    text = as_text(golden)
    place = path(case)
    if place.exists() and place.read_text(encoding="utf-8") == text:
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return True


def as_text(golden: Mapping[str, Any]) -> str:
    """JSON with one event a line."""
    return _text(golden, depth=0) + "\n"


def _text(value: Any, depth: int) -> str:
    whole = json.dumps(value, ensure_ascii=False)
    if depth == 3 or not isinstance(value, (dict, list)) or not value or (len(whole) < 100 and depth > 1):
        return whole
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        if depth > 1:
            return whole
        parts = [f"{json.dumps(key)}: {_text(one, depth + 1)}" for key, one in value.items()]
        opening, closing = "{}"
    else:
        parts = [_text(one, depth + 1) for one in value]
        opening, closing = "[]"
    return f"{opening}\n{pad}" + f",\n{pad}".join(parts) + f"\n{'  ' * depth}{closing}"
