"""What the model of the browser tests says when a person must approve something.

    erase ID [ID...]    one `delete_source` for each id
    plan                `confirm_plan` with three steps
    letter              `post_letter`
    erase ID and ask    one `delete_source`, and beside it a plain question

Afterwards it repeats what the last tool said, in a few words.
"""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.cerebras_server import Call, Reply

STEPS = ["List what is there", "Look for what is missing", "Say what to do next"]
REASON = "You asked for it."
LETTER = {"to": "Ann", "copies": 2, "weight": 20.5, "urgent": False, "tone": "dry", "note": None, "lines": ["Dear Ann,", "Yours"]}
QUESTION = "Which colour shall the rest have?"
RATE = 200


def propose(messages: list[dict[str, Any]], asked: str) -> Reply | None:
    """The answer to one request, if it is about any of this."""
    last, number = messages[-1], len(messages)
    if asked == "plan" and last["role"] == "user":
        return Reply(calls=[Call("confirm_plan", {"goal": "Tidy up", "steps": STEPS}, id=f"call_{number}")], rate=RATE)
    if asked == "letter" and last["role"] == "user":
        return Reply(calls=[Call("post_letter", LETTER, id=f"call_{number}")], rate=RATE)
    if asked.startswith("erase ") and asked.endswith(" and ask") and last["role"] == "user":
        erase = Call("delete_source", {"source_id": asked.split()[1], "reason": REASON}, id=f"call_{number}_0")
        return Reply(calls=[erase, Call("ask_user", {"question": QUESTION}, id=f"call_{number}_1")], rate=RATE)
    if asked.startswith("erase ") and last["role"] == "user":
        ids = asked.split()[1:]
        calls = [Call("delete_source", {"source_id": one, "reason": REASON}, id=f"call_{number}_{at}") for at, one in enumerate(ids)]
        return Reply(calls=calls, rate=RATE)
    if asked in {"plan", "letter"} or asked.startswith("erase "):
        return Reply(_said(str(last["content"])), rate=RATE)
    return None


def _said(content: str) -> str:
    try:
        told = json.loads(content)
    except json.JSONDecodeError:
        return f"The tool says: {content}"
    if "steps" in told:
        return "Agreed: " + ", then ".join(told["steps"])
    return f"Gone is {told['name']}."
