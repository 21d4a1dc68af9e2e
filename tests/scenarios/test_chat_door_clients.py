"""The clients in docs/examples are run, over a connection that breaks: each gets the whole turn."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.relay import Cut, Relay
from tests.fakes.stack import stack
from tests.fakes.tokens import mint
from tests.scenarios.agents import tool_agent
from tests.scenarios.hitl import Shelf, deleting

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ADMIN = mint(roles=["admin"])

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


async def run(*command: str) -> tuple[int, str]:
    """Exit status and what it printed."""
    environment = {"PATH": os.environ["PATH"], "TOKEN": ADMIN, "LC_ALL": "C.UTF-8"}  # noqa: TID251 - for a child
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(40):
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


def command(name: str, url: str, message: str, *more: str) -> list[str]:
    if name == "chat.sh":
        return ["sh", str(EXAMPLES / name), url, f'{{"message": "{message}"}}']
    runner = sys.executable if name.endswith(".py") else str(shutil.which("node"))
    return [runner, str(EXAMPLES / name), url, message, *more]


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.mark.parametrize("name", ["chat.sh", "chat.py", "chat.mjs"])
async def test_an_example_gets_the_whole_turn_over_a_line_that_breaks(tmp_path: Path, name: str) -> None:
    words = ["Ünï ", "\u2028 one line ", "🙂 ", *(f"w{number} " for number in range(50))]
    model = ScriptedModel(turns=[[*words, finish()]] * 2)
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, Relay(port_of(server.url)) as relay:
        relay.cuts += [Cut(after=300), Cut(after=1100, hard=False), Cut(after=700)]
        status, out = await run(*command(name, relay.url, "hi"))
        assert status == 0, out
        assert len(relay.done) == 3
        assert len(model.seen) == 1, "sent again it was the same turn"
        if name == "chat.sh":
            assert out.count("event: turn_completed\n") >= 1
            assert out.rstrip().rpartition("event: ")[2].startswith("turn_completed")
        else:
            assert out.splitlines()[0].startswith("  model: ok, ")
            assert "".join(words).strip() in out
            assert out.endswith("= completed\n")
            assert out.count("model: ok") == 1


@pytest.mark.parametrize("name", ["chat.py", "chat.mjs"])
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_an_example_answers_an_approval(tmp_path: Path, name: str, decision: str) -> None:
    shelf = Shelf()
    async with stack(tmp_path, agents={"default": lambda: tool_agent(deleting("a"), [shelf.tool()])}) as server:
        status, out = await run(*command(name, server.url, "delete a", decision))
    assert status == 0, out
    assert out.count("? Delete Alpha?") == 1
    assert "= paused\n" in out
    assert out.endswith("done\n= completed\n")
    assert len(shelf.done) == (decision == "approve")


@pytest.mark.parametrize("name", ["chat.sh", "chat.py", "chat.mjs"])
async def test_an_example_says_what_hindered_it(tmp_path: Path, name: str) -> None:
    def none() -> Any:
        return chat(ScriptedModel(turns=[]))

    async with stack(tmp_path, agents={"default": none}) as server:
        if name == "chat.sh":
            status, out = await run("sh", str(EXAMPLES / name), server.url, '{"message": 1}')
        else:
            status, out = await run(*command(name, server.url, ""))
    assert status != 0
    assert "invalid_request" in out
    assert ADMIN not in out
