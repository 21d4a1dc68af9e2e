"""How the page is started, and what is said where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from middle_core.demo.page import SERVER, page_command


def a_repository(root: Path, *, built: bool) -> Path:
    (root / "package.json").touch()
    if built:
        (root / SERVER).parent.joinpath(".next", "static").mkdir(parents=True)
        (root / SERVER).touch()
    return root


def test_a_built_page_is_started_with_node(tmp_path: Path) -> None:
    node, server = page_command(a_repository(tmp_path, built=True))
    assert (Path(node).name, Path(server)) == ("node", tmp_path / SERVER)


@pytest.mark.parametrize(("inside", "says"), [(True, "Build it: make"), (False, "Run `make run` in the repository")])
def test_what_is_missing_is_said(tmp_path: Path, inside: bool, says: str) -> None:
    with pytest.raises(FileNotFoundError, match=says):
        page_command(a_repository(tmp_path, built=False) if inside else tmp_path)


def test_a_missing_node_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match=r"Install Node\.js"):
        page_command(a_repository(tmp_path, built=True))
