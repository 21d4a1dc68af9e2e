"""Questions of the shapes that LangChain's own parts ask with: whether tool calls may be made, and how they are answered.

Three parts ask in three forms, and each takes its own form of answer only; anything else ends in its TypeError. Here they are one:
a list of actions with the decisions that each allows, for a page to draw as cards, and `{"decisions": [...]}` as the answer.

    HumanInTheLoopMiddleware           {"action_requests": [...], "review_configs": [...]}
      (deepagents' `interrupt_on` is the same)
    the same with mode "per_call"      {"type": "tool_approval", "name": ..., "args": ...}
    langgraph.prebuilt.interrupt       {"action_request": {...}, "config": {...}}, or a list of these

Pure: knows no log and no graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from middle_core.errors import InvalidRequest

YES: Final = frozenset({"yes", "y", "ok", "approve", "accept", "true"})
NO: Final = frozenset({"no", "n", "reject", "ignore", "cancel", "false"})

_INBOX: Final = {"accept": "approve", "edit": "edit", "ignore": "reject", "response": "respond"}
"""The older form's decisions, in the words of the newer."""
_OF_INBOX: Final = {ours: theirs for theirs, ours in _INBOX.items()}


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call that waits for a decision. allowed: out of approve, edit, reject and respond (a person answers in the tool's place)."""

    name: str
    args: Mapping[str, Any]
    description: str
    allowed: tuple[str, ...]


def actions(raw: Any, schema: Mapping[str, Any] | None = None) -> list[Action]:
    """The actions that a question is about; empty where it is of none of these shapes.

    Args:
        raw: what the graph called `interrupt()` with.
        schema: the JSON schema of the answer, where the graph gave one. In the mode "per_call" it alone says what is allowed.
    """
    if isinstance(raw, Mapping) and isinstance(raw.get("action_requests"), list) and isinstance(raw.get("review_configs"), list):
        return [_batched(one, at, raw["review_configs"]) for at, one in enumerate(raw["action_requests"]) if isinstance(one, Mapping)]
    if isinstance(raw, Mapping) and raw.get("type") == "tool_approval" and isinstance(raw.get("args"), Mapping):
        allowed = _decisions_in(schema) or ("approve", "reject")
        return [Action(str(raw.get("name")), raw["args"], str(raw.get("description") or ""), allowed)]
    asked = raw if isinstance(raw, list) else [raw]
    if asked and all(isinstance(one, Mapping) and isinstance(one.get("action_request"), Mapping) for one in asked):
        return [_inbox(one) for one in asked]
    return []


def wire(found: Sequence[Action]) -> dict[str, Any]:
    """The actions as the page gets them: `contract.cards.ActionReview`."""
    return {
        "actions": [
            {"name": one.name, "args": dict(one.args), "description": one.description, "allowed": list(one.allowed)} for one in found
        ]
    }


def answer_schema(found: Sequence[Action]) -> dict[str, Any]:
    """The JSON schema of the answer, for clients that build a form of it."""
    one = {
        "type": "object",
        "properties": {"type": {"enum": sorted({name for action in found for name in action.allowed})}},
        "required": ["type"],
    }
    decisions = {"type": "array", "minItems": len(found), "maxItems": len(found), "items": one}
    return {"type": "object", "properties": {"decisions": decisions}, "required": ["decisions"]}


def title(found: Sequence[Action]) -> str:
    """The question in words."""
    return f"May {', '.join(dict.fromkeys(one.name for one in found))} be done?"


def answer(raw: Any, found: Sequence[Action], payload: Any, *, cancelled: bool) -> Any:
    """The answer in the form that the asking part takes.

    `{"decisions": [...]}` or a list gives one decision for each action; `true`, `false`, `{"approved": ...}` and a clear word decide all
    of them; any other text rejects all, with the text as the reason, or answers in the tool's place where that alone is allowed.

    Raises:
        InvalidRequest: it is none of these, or a decision that an action does not allow. It names the place.
    """
    decisions = [
        _checked(one, action, at) for at, (one, action) in enumerate(zip(_given(found, payload, cancelled=cancelled), found, strict=True))
    ]
    if isinstance(raw, Mapping) and "action_requests" in raw:
        return {"decisions": decisions}
    if isinstance(raw, Mapping) and raw.get("type") == "tool_approval":
        return decisions[0]
    return [_as_inbox(one) for one in decisions]


def _batched(request: Mapping[str, Any], at: int, configs: Sequence[Any]) -> Action:
    name = str(request.get("name"))
    named = [one for one in configs if isinstance(one, Mapping) and one.get("action_name") == name]
    config = configs[at] if at < len(configs) and configs[at] in named else next(iter(named), {})
    args = request.get("args")
    allowed = tuple(str(one) for one in config.get("allowed_decisions") or ("approve", "reject"))
    return Action(name, args if isinstance(args, Mapping) else {}, str(request.get("description") or ""), allowed)


def _inbox(asked: Mapping[str, Any]) -> Action:
    request, config = asked["action_request"], asked.get("config") or {}
    args = request.get("args")
    flags = {"accept": "allow_accept", "edit": "allow_edit", "ignore": "allow_ignore", "response": "allow_respond"}
    allowed = tuple(_INBOX[theirs] for theirs, flag in flags.items() if config.get(flag))
    return Action(str(request.get("action")), args if isinstance(args, Mapping) else {}, str(asked.get("description") or ""), allowed)


def _decisions_in(schema: Any) -> tuple[str, ...]:
    """The values of `type` in the schema of a decision, wherever it has them."""
    if not isinstance(schema, Mapping):
        return ()
    branches = [schema, *(schema.get("anyOf") or schema.get("oneOf") or ())]
    definitions = schema.get("$defs") or {}
    found: list[str] = []
    for branch in branches:
        ref = str(branch.get("$ref", "")).removeprefix("#/$defs/") if isinstance(branch, Mapping) else ""
        one = definitions.get(ref, branch)
        kind = (one.get("properties") or {}).get("type") if isinstance(one, Mapping) else None
        if isinstance(kind, Mapping):
            found += [str(value) for value in kind.get("enum", [kind["const"]] if "const" in kind else [])]
    return tuple(dict.fromkeys(found))


def _given(found: Sequence[Action], payload: Any, *, cancelled: bool) -> list[Any]:
    """A decision for each action, as it came."""
    if cancelled:
        return [{"type": "reject", "message": "The user cancelled it."} for _ in found]
    given = payload.get("decisions", payload) if isinstance(payload, Mapping) else payload
    if isinstance(given, Mapping) and "type" in given:
        given = [given]
    if isinstance(given, list):
        if len(given) != len(found):
            raise InvalidRequest(f"decisions: {len(found)} are needed, one for each action and in their order; {len(given)} came.")
        return given
    yes, reason = _meaning(given)
    decision: dict[str, Any] = {"type": "approve"} if yes else {"type": "reject", **({"message": reason} if reason else {})}
    return [{"type": "respond", "message": given} if one.allowed == ("respond",) and isinstance(given, str) else decision for one in found]


def _meaning(given: Any) -> tuple[bool, str]:
    """Whether it is a yes, and else the reason. Raises InvalidRequest for what is neither a yes nor a no."""
    if isinstance(given, Mapping) and isinstance(given.get("approved"), bool):
        return given["approved"], str(given.get("comment") or "")
    if isinstance(given, bool):
        return given, ""
    if isinstance(given, str) and given.strip():
        word = given.strip().casefold().rstrip(".!")
        return word in YES, "" if word in YES | NO else given.strip()
    raise InvalidRequest('Answer with {"decisions": [{"type": "approve"}]}: one decision for each action, in their order.')


def _checked(given: Any, action: Action, at: int) -> dict[str, Any]:
    """The decision, if the action allows it and it is whole."""
    decision = dict(given) if isinstance(given, Mapping) else {"type": given}
    kind = decision["type"] = _INBOX.get(str(decision.get("type")), str(decision.get("type")))
    if kind not in action.allowed:
        raise InvalidRequest(f"decisions[{at}].type: {action.name} allows {', '.join(action.allowed)}.")
    edited = decision.get("edited_action") or decision.pop("args", None)
    if kind == "edit":
        args = edited.get("args") if isinstance(edited, Mapping) else None
        if not isinstance(args, Mapping):
            raise InvalidRequest(f'decisions[{at}].edited_action: send {{"name": "{action.name}", "args": {{...}}}} with all arguments.')
        decision["edited_action"] = {"name": str(edited.get("name") or edited.get("action") or action.name), "args": dict(args)}
    if kind == "respond":
        decision.setdefault("message", edited if isinstance(edited, str) else None)
        if not isinstance(decision["message"], str):
            raise InvalidRequest(f"decisions[{at}].message: the text that answers in the tool's place is missing.")
    return decision


def _as_inbox(decision: Mapping[str, Any]) -> dict[str, Any]:
    args: Any = None
    if decision["type"] == "edit":
        args = {"action": decision["edited_action"]["name"], "args": decision["edited_action"]["args"]}
    elif decision["type"] == "respond":
        args = decision["message"]
    return {"type": _OF_INBOX[decision["type"]], "args": args}
