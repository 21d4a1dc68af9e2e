"""The documents the stand-in starts with: the articles in `demo/seed`, and this project's own pages where they are at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from middle_core.backend.contract.models import SourceKind
from middle_core.demo.library import Document
from middle_core.demo.passages import title_of

MAX_DOCUMENT_BYTES: Final = 512 * 1024
HERE: Final = Path(__file__).parent
PROJECT: Final = HERE.parent.parent
"""The repository, where the package is run from a checkout; elsewhere nothing of it is found and the articles remain."""


def documents(project: Path = PROJECT) -> Iterator[Document]:
    """The articles, then README.md, docs/*.md and adr/*.md of the project, by name; oversized or unreadable text is left out."""
    files = [(HERE / "seed", path) for path in sorted((HERE / "seed").glob("*.md"))]
    files += [
        (project, path)
        for path in [project / "README.md", *sorted((project / "docs").glob("*.md")), *sorted((project / "adr").glob("*.md"))]
    ]
    for root, path in files:
        if path.is_file() and path.stat().st_size <= MAX_DOCUMENT_BYTES:
            location = path.relative_to(root).as_posix()
            if root != project:
                location = f"guide/{location}"
            markdown = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL)
            yield Document(source_id_of(location), title_of(markdown, path.stem), SourceKind.document, location, markdown)


def source_id_of(location: str) -> str:
    """`docs/Some_Page.md` as `docs-some-page`."""
    return re.sub(r"[^a-z0-9]+", "-", location.lower().removesuffix(".md")).strip("-")
