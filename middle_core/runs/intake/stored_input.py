"""What a run was asked, as the bytes that are stored with the run, so that another process can go on with it.

It holds what `runs.intake.turn` and `runs.questions` read of a request: the newest messages, the page's tools and readables, the state that
the page may write, the options, the answers. It never holds a token or a header. Knows no log and no graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import orjson
from ag_ui.core import RunAgentInput

from middle_core.events import ClientRunId, ClientThreadId
from middle_core.runs.intake.request import StartRequest

NEWEST_MESSAGES: Final = 64
"""How many of the request's messages are stored, counted from the last. A page replays its whole history with each request."""

_PLAIN: Final = ("digest", "idempotency_key", "continues", "multitask_strategy", "on_disconnect", "title", "interrupts", "intent")
_OPTIONS: Final = ("middleCore", "command")


def encode_input(asked: StartRequest, *, writable: Collection[str]) -> bytes:
    """The request as JSON.

    Args:
        asked: what the client asked.
        writable: the state keys that the client may write. Others are left out.
    """
    body = asked.body
    props = body.forwarded_props if isinstance(body.forwarded_props, Mapping) else {}
    sent = body.model_dump(mode="json", by_alias=True, exclude_none=True, include={"thread_id", "run_id", "tools", "context", "resume"})
    sent["messages"] = _messages(body.messages)
    sent["state"] = {key: body.state[key] for key in writable if key in body.state} if isinstance(body.state, Mapping) else {}
    sent["forwardedProps"] = {key: props[key] for key in _OPTIONS if key in props}
    return orjson.dumps({"body": sent, **{name: getattr(asked, name) for name in _PLAIN}})


def decode_input(stored: bytes) -> StartRequest:
    """The request that `encode_input` stored."""
    found: dict[str, Any] = orjson.loads(stored)
    body = RunAgentInput.model_validate(found["body"])
    return StartRequest(
        thread_id=ClientThreadId(body.thread_id),
        run_id=ClientRunId(body.run_id),
        body=body,
        **{name: found[name] for name in _PLAIN},
    )


def _messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """The newest messages. What the server has itself, the text of assistant messages, is left out; their ids say where the thread stands."""
    return [
        one.model_dump(mode="json", by_alias=True, exclude_none=True)
        if one.role in {"user", "tool"}
        else {"id": one.id, "role": one.role, "content": ""}
        for one in messages[-NEWEST_MESSAGES:]
        if one.role in {"user", "assistant", "tool", "reasoning"}
    ]
