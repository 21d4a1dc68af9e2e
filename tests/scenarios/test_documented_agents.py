"""The agents that the README and docs/agents.md show can be copied: each is loaded by a server, and answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.stack import stack

ROOT = Path(__file__).parents[2]


def shown(page: str) -> str:
    """The page's Python block that defines `build`."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    [block] = [block for block in blocks if "def build(" in block]
    return str(block)


@pytest.mark.parametrize("page", ["README.md", "docs/agents.md"])
async def test_the_agent_of_the_page_answers(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"shown_in_{re.sub(r'[^a-z]', '_', page.lower())}"
    (tmp_path / f"{module}.py").write_text(shown(page), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    agents: dict[str, Any] = {"mine": f"{module}:build"}
    async with stack(tmp_path / "data", agents=agents) as server:
        reader = await server.ask("Hello")
    assert "RUN_FINISHED" in reader.types
    assert "offline model" in reader.text
