"""Two tools for the browser tests: letters, which nobody can take back or tell apart, and questions.

Each posted letter is a line in the file that `E2E_POST` names. The post office knows no Idempotency-Key. While a file E2E_POST.hold
exists, posting hangs `before` or `after` the letter is written, as the file says, and notes that in E2E_POST.held.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, tool
from langgraph.types import interrupt
from pydantic import Field

from middle_core.agents.approval import Card, needs_approval

STEP_S = 0.02


def _post() -> Path:
    return Path(os.environ["E2E_POST"])  # noqa: TID251 - how the test tells its server's process


async def _stand_still(place: str) -> None:
    hold = _post().with_suffix(".hold")
    if not hold.exists() or hold.read_text() != place:
        return
    _post().with_suffix(".held").write_text(place)
    while hold.exists():  # noqa: ASYNC110 - a file of another process has no event
        await asyncio.sleep(STEP_S)


def post_letter() -> BaseTool:
    """post_letter: each argument may be changed, and repeating it is not safe."""

    async def describe(_args: Mapping[str, Any]) -> Card:
        return Card("Post this letter?", {"Post office": "Main street"}, confirm="Post it", cancel="Do not post", kind="letter")

    @needs_approval(describe=describe, editable=("to", "copies", "weight", "urgent", "tone", "note", "lines"))
    @tool
    async def post_letter(
        *,
        to: Annotated[str, Field(min_length=1, max_length=40)],
        copies: Annotated[int, Field(ge=1, le=5)] = 1,
        weight: float = 20.0,
        urgent: bool = False,
        tone: Literal["dry", "warm"] = "dry",
        note: str | None = None,
        lines: Annotated[list[Annotated[str, Field(max_length=60)]], Field(max_length=4)] = [],  # noqa: B006 - pydantic copies it
    ) -> str:
        """Post a letter."""
        letter = {"to": to, "copies": copies, "weight": weight, "urgent": urgent, "tone": tone, "note": note, "lines": lines}
        await _stand_still("before")
        with _post().open("a") as file:
            file.write(json.dumps(letter) + "\n")
        await _stand_still("after")
        return f"posted to {to}"

    return post_letter


def ask_user() -> BaseTool:
    """ask_user: a plain question in the middle of a tool."""

    @tool
    async def ask_user(question: str) -> str:
        """Ask the user."""
        return f"they said {interrupt(question)}"

    return ask_user
