"""CopilotKit's own core shows the server's card, waits for its handler, and sends the answer; one action comes of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.stack import Stack, stack
from tests.scenarios.agents import tool_agent
from tests.scenarios.hitl import Shelf, deleting, results

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "fakes" / "copilotkit_core.mjs"


async def page(server: Stack, **asked: Any) -> dict[str, Any]:
    """What a page with the card tool makes of a turn, follow-up runs included."""
    order = json.dumps({"url": server.url, "token": server.token, "threadId": "t1", **asked})
    node = await asyncio.create_subprocess_exec(
        "node", str(SCRIPT), cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(40):
        out, err = await node.communicate(f"{order}\n".encode())
    assert node.returncode == 0, err.decode()
    told: dict[str, Any] = json.loads(out)
    return told


@pytest.mark.parametrize(
    ("answer", "done", "result"), [({"approved": True}, 2, "deleted"), ({"approved": False}, 0, "The user said no"), (False, 0, "said no")]
)
async def test_the_card_tool_is_answered_by_copilotkits_core(answer: Any, done: int, result: str, tmp_path: Path) -> None:
    shelf = Shelf()
    model = deleting("a", "b")
    async with stack(tmp_path, agents={"default": lambda: tool_agent(model, [shelf.tool()])}) as server:
        seen = await page(server, text="delete both", answer=answer)
        assert seen["errors"] == []
        assert seen["runs"] == 2, "one that asks, and one with both answers"
        assert [card["title"] for card in seen["cards"]] == ["Delete Alpha?", "Delete Beta?"]
        assert seen["messages"][-1]["content"] == "done"
        assert len({message["id"] for message in seen["messages"]}) == len(seen["messages"]) == 9
        told = results(seen["messages"])
        assert all(result in told[call] for call in ("call-a", "call-b"))
    assert len(shelf.done) == shelf.calls == done
