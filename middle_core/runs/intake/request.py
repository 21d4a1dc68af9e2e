"""What a client asks for when it starts a run: checked for form, identified for repetition.

What of it may reach the agent is decided later, by `runs.intake.turn`, with the thread at hand. This module knows
no thread, no agent and no HTTP.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from ag_ui.core import RunAgentInput

from middle_core.errors import InvalidRequest
from middle_core.events import ClientRunId, ClientThreadId
from middle_core.runs.intake.turn import command_resume

MultitaskStrategy = Literal["reject", "interrupt"]
OnDisconnect = Literal["continue", "cancel"]
InterruptForm = Literal["outcome", "custom"]
Intent = Literal["turn", "withdraw"]

TITLE_CHARS: Final = 80
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of what stands beside a title."""
_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@~-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class StartRequest:
    """digest: of the whole input, so that a repeated request finds its run.

    continues: the input answers something (a resume, or the result of a client tool). The protocol then reuses the runId
    on purpose, and the run has the one before as its parent.
    interrupts: how this client wants to be asked (see `interrupt_form`).
    title: what the thread is called if it has no title yet; empty where the input holds no words.
    intent: turn, or what the server itself does on an idle thread: withdraw what is asked in it.
    """

    thread_id: ClientThreadId
    run_id: ClientRunId
    body: RunAgentInput
    digest: str
    idempotency_key: str | None
    continues: bool
    multitask_strategy: MultitaskStrategy
    on_disconnect: OnDisconnect
    title: str
    interrupts: InterruptForm | None = None
    intent: Intent = "turn"


def own_request(body: RunAgentInput, *, intent: Intent) -> StartRequest:
    """A run that the server starts itself in the body's thread. Of the body its page's tools and readables count."""
    run_id = f"{intent}-{uuid.uuid4()}"
    quiet = body.model_copy(update={"run_id": run_id, "messages": [], "resume": None, "forwarded_props": {}})
    return StartRequest(
        thread_id=ClientThreadId(check_id("threadId", body.thread_id)),
        run_id=ClientRunId(run_id),
        body=quiet,
        digest=run_id,
        idempotency_key=None,
        continues=True,
        multitask_strategy="reject",
        on_disconnect="continue",
        title="",
        interrupts=interrupt_form(body),
        intent=intent,
    )


def start_request(
    body: RunAgentInput, digest: str, *, idempotency_key: str | None = None, on_disconnect: OnDisconnect = "continue"
) -> StartRequest:
    """Build it from a parsed body and the digest of what was sent. Raises InvalidRequest naming the field."""
    options = _options(body)
    return StartRequest(
        thread_id=ClientThreadId(check_id("threadId", body.thread_id)),
        run_id=ClientRunId(check_id("runId", body.run_id)),
        body=body,
        digest=digest,
        idempotency_key=None if idempotency_key is None else check_id("Idempotency-Key", idempotency_key),
        continues=bool(body.resume) or command_resume(body) is not None or bool(body.messages and body.messages[-1].role == "tool"),
        multitask_strategy=_option(options, "multitask_strategy", MultitaskStrategy, "reject"),
        on_disconnect=_option(options, "on_disconnect", OnDisconnect, on_disconnect),
        title=_title(body),
        interrupts=interrupt_form(body),
    )


def interrupt_form(body: RunAgentInput) -> InterruptForm | None:
    """How the client wants a graph's questions: by its option, else by the form of the answer that it sends; None where neither tells.

    outcome: AG-UI 1.0, in RUN_FINISHED. custom: CopilotKit's `on_interrupt`. Raises InvalidRequest for any other option.
    """
    inferred = "custom" if command_resume(body) is not None else "outcome" if body.resume else None
    form: InterruptForm | None = _option(_options(body), "interrupts", InterruptForm, inferred)
    return form


def _options(body: RunAgentInput) -> dict[str, Any]:
    options = body.forwarded_props.get("middleCore") if isinstance(body.forwarded_props, dict) else None
    return options if isinstance(options, dict) else {}


def check_id(field: str, value: str) -> str:
    """The id, if it is fit for a path, a header and a key of the database. Raises InvalidRequest naming the field."""
    if not _KEY.match(value):
        raise InvalidRequest(
            f"{field}: an id has 1 to 128 characters out of letters, digits and _ . : @ ~ - and starts with a letter or digit."
        )
    return value


def _option(options: dict[str, Any], name: str, choices: Any, default: Any) -> Any:
    """One of the choices. An option that is accepted and ignored would be a lie."""
    if name not in options:
        return default
    value = options[name]
    if value not in get_args(choices):
        raise InvalidRequest(f"forwardedProps.middleCore.{name}: choose one of {', '.join(get_args(choices))}.")
    return value


def _title(body: RunAgentInput) -> str:
    """The first words of the newest user message, on one line."""
    for message in reversed(body.messages):
        if message.role == "user":
            content = message.content
            text = content if isinstance(content, str) else " ".join(getattr(part, "text", "") for part in content)
            words = " ".join(_UNSEEN.sub(" ", text).split())
            return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"
    return ""
