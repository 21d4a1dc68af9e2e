"""What teams write against: where each name is imported from, and what it takes. Code of theirs that runs today runs tomorrow.

A parameter may be added if it has a default. A name or a parameter that goes, moves or is called otherwise breaks their code: that is a
change of version, said in CHANGELOG.md, and only then is it changed here.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any, Final

import pytest

from middle_core import emit
from middle_core.agents.frontend import FrontendState
from middle_core.models.coalesce import Coalesce

SURFACE: Final = {
    "middle_core.emit": {
        "emit_chunk": "kind, data, *, config=",
        "emit_message": "text, *, message_id=, config=",
        "emit_state": "state, *, config=",
        "emit_token": "delta, *, message_id, config=",
        "new_message_id": "",
        "progress": "label, fraction=, *, tool_call_id=, config=",
        "refuse": "reason, *, config=",
    },
    "middle_core.agents.registry": {
        "AgentDeps": "checkpointer, model, backend",
        "AgentSpec": "graph, description=, client_writable=, tools=, legacy_interrupts=",
    },
    "middle_core.agents.approval": {
        "Card": "title, facts=, confirm=, cancel=, danger=, kind=",
        "needs_approval": "*, describe, roles=, doing=, expires=, editable=, idempotent=",
    },
    "middle_core.agents.dispatch": {
        "add_tools": "graph, tools, *, agent=, node=",
        "route_tools": "tools, *, node=",
        "tools_node": "tools, *, max_result_chars=, pool=",
    },
    "middle_core.agents.guard": {"FailRun": "detail=, *, retry_after=", "repeatable": "tool"},
    "middle_core.agents.sync_tools": {"stop_requested": ""},
    "middle_core.agents.answer": {"answer": "model, messages"},
    "middle_core.agents.calls": {"for_model": "messages"},
    "middle_core.node_api.approvals": {"idempotency_key": ""},
    "middle_core.errors": {"Forbidden": "detail=, *, retry_after=", "Unauthorized": "detail=, *, retry_after="},
}
NAMES: Final = [(module, name, promised) for module, names in SURFACE.items() for name, promised in names.items()]


def parameters(callee: Any) -> list[str]:
    """As in `SURFACE`: a name, with "=" where it has a default; "*" before those that are given by name only."""
    found: list[str] = []
    for one in inspect.signature(callee).parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        found.append(one.name if one.default is one.empty else f"{one.name}=")
    return found


def broken(promised: str, found: Sequence[str]) -> list[str]:
    """What a caller of the promised parameters would miss or not know of; nothing where all of its calls still work."""
    wanted = [one for one in promised.split(", ") if one]
    rest = iter(found)
    added: list[str] = []
    for one in wanted:
        for other in rest:
            if other in (one, f"{one}="):
                break
            added.append(other)
        else:
            return [f"{one} is gone, or has moved"]
    positional = wanted[: wanted.index("*")] if "*" in wanted else wanted
    last = next((at for at, one in enumerate(found) if positional and one.rstrip("=") == positional[-1].rstrip("=")), 0)
    before = [one for one in added if one in found[:last]]
    needed = [one for one in (*added, *rest) if one != "*" and not one.endswith("=")]
    return [*(f"{one} stands before {positional[-1]}" for one in before), *(f"{one} has no default" for one in needed)]


@pytest.mark.parametrize(("module", "name", "promised"), NAMES, ids=[f"{module}.{name}" for module, name, _ in NAMES])
def test_what_teams_call_can_be_called_as_before(module: str, name: str, promised: str) -> None:
    assert broken(promised, parameters(getattr(importlib.import_module(module), name))) == []


def test_emit_offers_what_is_promised_and_nothing_else() -> None:
    assert set(emit.__all__) == set(SURFACE["middle_core.emit"])


def test_a_model_is_wrapped_and_a_state_extended_as_before() -> None:
    assert {name for name, field in Coalesce.model_fields.items() if field.is_required()} == {"inner"}
    assert {"frame_s", "limit"} <= set(Coalesce.model_fields)
    assert set(FrontendState.__annotations__) >= {"messages"}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (["tool", "*", "roles="], []),
        (["tool", "*", "new=", "roles="], []),
        (["tool", "new=", "*", "roles="], []),
        (["tool", "*", "roles=", "new"], ["new has no default"]),
        (["new=", "tool", "*", "roles="], ["new= stands before tool"]),
        (["tool=", "*", "roles="], []),
        (["tool", "*", "role="], ["roles= is gone, or has moved"]),
    ],
)
def test_the_check_tells_what_breaks_a_caller(found: list[str], why: list[str]) -> None:
    assert broken("tool, *, roles=", found) == why
