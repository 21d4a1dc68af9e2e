"""What of a request may reach the agent: the turn, rebuilt from an allow-list.

The server's thread is the truth. Of a client's message list only new user messages, an edit or a regenerate of the
last one, and results of its own pending tool calls are taken; what else it replays is ignored, never an error,
because CopilotKit sends its whole history each time. Of forwardedProps nothing is taken here: the SDK makes graph
state of them, by which a client could jump over an approval.

Pure: no graph, no SDK. Sizes and ids are checked; InvalidRequest names the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from middle_core.agui.endings import words
from middle_core.contract.cards import CARD_TOOL
from middle_core.contract.outcomes import CallOutcome
from middle_core.errors import InvalidRequest
from middle_core.events import OUTCOME

MAX_NEW_MESSAGES: Final = 32
MAX_CONTEXT_ITEMS: Final = 64
MAX_CONTEXT_CHARS: Final = 100_000
MAX_TOOLS: Final = 128
MAX_TOOL_CHARS: Final = 32_000
MAX_STATE_CHARS: Final = 256_000
MAX_RESUMES: Final = 32
MAX_PAYLOAD_CHARS: Final = 256_000

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@~+/=-]{0,199}\Z")
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentRules:
    """What clients of an agent may do, and how they are asked.

    client_writable: state keys; server_tools: names that no client tool may take; legacy_interrupts: by CUSTOM `on_interrupt`.
    recorded_tools: those of the server's tools whose calls are written to the ledger; repeatable_tools: those that only read, or do
    nothing more the second time.
    """

    client_writable: frozenset[str] = frozenset()
    server_tools: frozenset[str] = frozenset()
    legacy_interrupts: bool = False
    recorded_tools: frozenset[str] = frozenset()
    repeatable_tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ThreadView:
    """The thread as the client sees it.

    messages: AG-UI messages with the ids that were streamed. pending_client_calls: ids of the calls of client tools
    that wait for their result. interrupts: the open questions, as AG-UI interrupts. run_id: the run whose graph wrote the newest
    checkpoint. basis: see `Turn`.
    """

    messages: Sequence[Message] = ()
    pending_client_calls: frozenset[str] = frozenset()
    interrupts: Sequence[dict[str, Any]] = ()
    run_id: str | None = None
    basis: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Resume:
    """The answer to one open question. A payload is delivered exactly, None and other falsy ones too."""

    interrupt_id: str
    payload: Any = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What reaches the agent.

    messages: new user messages. results: tool messages for pending client calls. restart_at: the id of the user
    message from which on the thread is dropped first (an edit or a regenerate; the message itself stands in `messages`).
    unwritable: state that the client sent and may not write; for a warning only.
    basis: the source's own reading of the thread, so that it need not read a long one twice; nobody else looks into it.
    """

    messages: tuple[Message, ...] = ()
    results: tuple[Message, ...] = ()
    restart_at: str | None = None
    resume: tuple[Resume, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    unwritable: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    context: tuple[dict[str, str], ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    basis: object = field(default=None, repr=False, compare=False)


def rebuild(body: RunAgentInput, view: ThreadView, rules: AgentRules) -> Turn:
    """The turn that a request asks for. Raises InvalidRequest naming the field."""
    resume = _resume(body)
    talk = [one for one in body.messages if one.role in ("user", "assistant", "tool", "reasoning")]
    command = command_resume(body)
    if command is not None:
        _bounded("forwardedProps.command.resume", command.value, MAX_PAYLOAD_CHARS)
    # An answer of any form is no request to answer the last message anew, though the history that it replays may end there.
    messages, restart_at = _user_messages(talk, view, resuming=bool(resume) or command is not None)
    return Turn(
        messages=messages,
        results=_results(talk, view),
        restart_at=restart_at,
        resume=resume,
        state=_state(body.state, rules),
        unwritable=_unwritable(body.state, rules),
        context=_context(body),
        tools=tuple(_tools(body, rules)),
        basis=view.basis,
    )


@dataclass(frozen=True, slots=True)
class CommandResume:
    """An answer in the form of CopilotKit's `on_interrupt` hooks: `forwardedProps.command`.

    value: the answer as it came. interrupt_event: the value of the CUSTOM event that it answers; None where the page did not send it.
    """

    value: Any
    interrupt_event: Any = None


def command_resume(body: RunAgentInput) -> CommandResume | None:
    """The answer that a request gives by `forwardedProps.command.resume`, which may be null; None where it gives none."""
    command = body.forwarded_props.get("command") if isinstance(body.forwarded_props, Mapping) else None
    if not isinstance(command, Mapping) or "resume" not in command:
        return None
    return CommandResume(command["resume"], command.get("interruptEvent"))


def check_id(name: str, value: Any) -> str:
    """The id, if its length and characters are fit for a key and a header. Raises InvalidRequest."""
    if not isinstance(value, str) or not _ID.match(value):
        raise InvalidRequest(f"{name}: an id has 1 to 200 characters out of letters, digits and _ . : @ ~ + / = -")
    return value


def _user_messages(talk: Sequence[Any], view: ThreadView, *, resuming: bool) -> tuple[tuple[Message, ...], str | None]:
    known = {one["id"]: one for one in view.messages}
    last_known = max((at for at, one in enumerate(talk) if one.id in known), default=-1)
    if last_known == -1 and known:
        # Nothing in common with the thread (it was shortened, or is another tab's): only the newest words are new.
        last_known = max((at for at, one in enumerate(talk) if one.role != "user"), default=-1)
    fresh: dict[str, Message] = {}
    for at in range(last_known + 1, len(talk)):
        if talk[at].role == "user":
            fresh.setdefault(check_id(f"messages[{at}].id", talk[at].id), _user(talk[at]))
    if len(fresh) > MAX_NEW_MESSAGES:
        raise InvalidRequest(f"messages: {len(fresh)} new ones; send at most {MAX_NEW_MESSAGES} in a turn.")
    if fresh or resuming or not talk:
        return tuple(fresh.values()), None
    # CopilotKit edits and regenerates by sending the history up to a user message that the thread has already.
    last = talk[-1]
    if last.role == "user" and last.id in known and known[last.id].get("role") == "user":
        return (_user(last),), str(last.id)
    return (), None


def _user(message: Any) -> Message:
    content = message.content
    if not isinstance(content, str):
        content = [one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in content]
    return {"id": message.id, "role": "user", "content": content}


def _results(talk: Sequence[Any], view: ThreadView) -> tuple[Message, ...]:
    """Results of the client's own pending calls, the first for each."""
    results: dict[str, Message] = {}
    for at, one in enumerate(talk):
        if one.role != "tool" or one.tool_call_id not in view.pending_client_calls or one.tool_call_id in results:
            continue
        content = one.content
        if not isinstance(content, str):
            content = orjson.dumps([part.model_dump(by_alias=True, exclude_none=True, mode="json") for part in content]).decode()
        result: Message = {"id": check_id(f"messages[{at}].id", one.id), "role": "tool", "toolCallId": one.tool_call_id, "content": content}
        if one.error:
            result["error"] = one.error
        if (outcome := _outcome(one.metadata)) is not None:
            result["metadata"] = {OUTCOME: outcome.model_dump(mode="json", by_alias=True)}
        results[one.tool_call_id] = result
    return tuple(results.values())


def _outcome(metadata: Any) -> CallOutcome | None:
    """What the page says became of its own tool's call; None where it says nothing that can be read."""
    try:
        told = CallOutcome.model_validate((metadata or {})[OUTCOME])
    except (KeyError, ValidationError):
        return None
    return told.model_copy(update={"message": words(told.message)})


def _resume(body: RunAgentInput) -> tuple[Resume, ...]:
    entries = body.resume or []
    if len(entries) > MAX_RESUMES:
        raise InvalidRequest(f"resume: {len(entries)} entries; send at most {MAX_RESUMES}.")
    answers: dict[str, Resume] = {}
    for at, one in enumerate(entries):
        interrupt_id = check_id(f"resume[{at}].interruptId", one.interrupt_id)
        if interrupt_id in answers:
            raise InvalidRequest(f"resume[{at}].interruptId: answered twice in one request.")
        _bounded(f"resume[{at}].payload", one.payload, MAX_PAYLOAD_CHARS)
        answers[interrupt_id] = Resume(interrupt_id, one.payload, one.status == "cancelled")
    return tuple(answers.values())


def _state(state: Any, rules: AgentRules) -> dict[str, Any]:
    if not isinstance(state, Mapping):
        return {}
    taken = {key: value for key, value in state.items() if key in rules.client_writable}
    _bounded("state", taken, MAX_STATE_CHARS)
    return taken


def _unwritable(state: Any, rules: AgentRules) -> dict[str, Any]:
    """What the client writes and may not. A page sends back all that it was shown, so most of it is no wish to change anything."""
    return {key: value for key, value in state.items() if key not in rules.client_writable} if isinstance(state, Mapping) else {}


def _context(body: RunAgentInput) -> tuple[dict[str, str], ...]:
    items = [{"description": one.description, "value": one.value} for one in body.context or []]
    if len(items) > MAX_CONTEXT_ITEMS:
        raise InvalidRequest(f"context: {len(items)} items; send at most {MAX_CONTEXT_ITEMS}.")
    if sum(len(one["description"]) + len(one["value"]) for one in items) > MAX_CONTEXT_CHARS:
        raise InvalidRequest(f"context: more than {MAX_CONTEXT_CHARS} characters.")
    return tuple(items)


def _tools(body: RunAgentInput, rules: AgentRules) -> Iterator[dict[str, Any]]:
    tools = body.tools or []
    if len(tools) > MAX_TOOLS:
        raise InvalidRequest(f"tools: {len(tools)} of them; send at most {MAX_TOOLS}.")
    taken: set[str] = set()
    for at, one in enumerate(tools):
        if not _TOOL_NAME.match(one.name):
            raise InvalidRequest(f"tools[{at}].name: 1 to 64 letters, digits, _ and -.")
        # A client tool that took a server tool's name would be called in its place, without its approval. The card tool is
        # the server's to call.
        if one.name in rules.server_tools or one.name in taken or one.name == CARD_TOOL:
            continue
        taken.add(one.name)
        tool = {"name": one.name, "description": one.description, "parameters": one.parameters}
        _bounded(f"tools[{at}]", tool, MAX_TOOL_CHARS)
        yield tool


def _bounded(name: str, value: Any, limit: int) -> None:
    try:
        size = len(orjson.dumps(value))
    except TypeError as error:  # orjson: not JSON, too deep, or an integer beyond 64 bits
        raise InvalidRequest(f"{name}: not plain JSON.") from error
    if size > limit:
        raise InvalidRequest(f"{name}: more than {limit} characters.")
