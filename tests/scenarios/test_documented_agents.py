"""The agents that the documentation shows can be copied: each is loaded by a server, and answers."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.models import ScriptedModel, call
from tests.fakes.stack import run_input, stack

ROOT = Path(__file__).parents[2]


def shown(page: str) -> str:
    """The page's Python block that defines `build`."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    [block] = [block for block in blocks if "def build(" in block]
    return str(block)


def imported(page: str, folder: Path, patch: pytest.MonkeyPatch) -> str:
    """The page's module, put where Python finds it; its name."""
    module = f"shown_in_{re.sub(r'[^a-z]', '_', page.lower())}"
    (folder / f"{module}.py").write_text(shown(page), encoding="utf-8")
    patch.syspath_prepend(str(folder))
    return module


@pytest.mark.parametrize("page", ["README.md", "docs/agents.md", "docs/hitl.md"])
async def test_the_agent_of_the_page_answers(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agents: dict[str, Any] = {"mine": f"{imported(page, tmp_path, monkeypatch)}:build"}
    async with stack(tmp_path / "data", agents=agents) as server:
        reader = await server.ask("Hello")
    assert "RUN_FINISHED" in reader.types
    assert "offline model" in reader.text


async def test_the_guarded_tool_of_the_page_asks_and_then_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = importlib.import_module(imported("docs/hitl.md", tmp_path, monkeypatch)).build
    model = ScriptedModel(turns=[[call("cancel_order", {"order_id": "A-17"})], ["It is cancelled."]])
    agents = {"shop": lambda deps: build(replace(deps, model=model))}
    async with stack(tmp_path / "data", agents=agents) as server:
        asked = await server.ask("Cancel A-17")
        [question] = asked.events[-1]["outcome"]["interrupts"]
        assert question["message"] == "Cancel the order A-17?"
        answer = [{"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}]
        async with server.stream("POST", "/copilotkit", body=run_input(resume=answer)) as reader:
            await reader.rest()
    assert reader.text == "It is cancelled."
    [result] = [event for event in reader.events if event["type"] == "TOOL_CALL_RESULT"]
    assert '"cancelled":"A-17"' in result["content"]
