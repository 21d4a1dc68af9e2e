"""A copy of the Bicep with one fault."""

from __future__ import annotations

import shutil
from pathlib import Path

from infra.checks.__main__ import INFRA


def copy_of(folder: Path) -> Path:
    """Copy everything that the checks read into a folder of its own."""
    for path in (path for kind in ("*.bicep", "*.bicepparam", "*.xml", "*.template") for path in INFRA.rglob(kind)):
        target = folder / path.relative_to(INFRA)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return folder


def change(folder: Path, file: str, old: str, new: str) -> None:
    """Replace `old`, which must be in the file, once."""
    path = folder / file
    source = path.read_text(encoding="utf-8")
    assert old in source, f"{file} no longer has {old!r}: mend this test"
    path.write_text(source.replace(old, new, 1), encoding="utf-8")
