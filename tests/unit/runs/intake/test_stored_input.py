"""What is stored of a request is what another process needs of it, and nothing secret."""

from __future__ import annotations

from typing import Any

import orjson
from ag_ui.core import RunAgentInput

from middle_core.runs.intake.request import start_request
from middle_core.runs.intake.stored_input import NEWEST_MESSAGES, decode_input, encode_input
from middle_core.runs.intake.turn import AgentRules, ThreadView, rebuild
from tests.fakes.stack import run_input, user

RULES = AgentRules(client_writable=frozenset({"draft"}))


def asked(*messages: dict[str, Any], **more: Any) -> Any:
    return start_request(RunAgentInput.model_validate(run_input(*messages, run="run-1", **more)), "digest")


def test_the_same_turn_comes_of_it() -> None:
    history = [user("first", "h1"), {"id": "a1", "role": "assistant", "content": "long " * 1_000}, user("second", "h2")]
    request = asked(
        *history,
        tools=[{"name": "toast", "description": "d", "parameters": {"type": "object"}}],
        context=[{"description": "page", "value": "home"}],
        state={"draft": "mine", "internal": "not mine"},
        resume=[{"interruptId": "i1", "status": "resolved", "payload": False}],
        forwardedProps={"middleCore": {"on_disconnect": "cancel", "interrupts": "custom"}, "command": {"resume": None}},
    )
    stored = decode_input(encode_input(request, writable=RULES.client_writable))
    for view in (ThreadView(), ThreadView(messages=[{"id": "h1", "role": "user"}, {"id": "a1", "role": "assistant"}])):
        made, expected = rebuild(stored.body, view, RULES), rebuild(request.body, view, RULES)
        assert (made.messages, made.resume, made.state, made.context, made.tools) == (
            expected.messages,
            expected.resume,
            expected.state,
            expected.context,
            expected.tools,
        )
    for name in ("thread_id", "run_id", "digest", "continues", "on_disconnect", "interrupts", "title", "intent"):
        assert getattr(stored, name) == getattr(request, name), name


def test_results_of_the_pages_tools_are_kept() -> None:
    called = {
        "id": "a1",
        "role": "assistant",
        "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    request = asked(user("go", "h1"), called, {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "done", "error": "none"})
    view = ThreadView(messages=[{"id": "h1", "role": "user"}, {"id": "a1", "role": "assistant"}], pending_client_calls=frozenset({"c1"}))
    stored = decode_input(encode_input(request, writable=()))
    assert rebuild(stored.body, view, RULES).results == rebuild(request.body, view, RULES).results != ()


def test_a_long_history_and_what_the_server_has_itself_are_left_out() -> None:
    history = [one for at in range(500) for one in (user("q", f"h{at}"), {"id": f"a{at}", "role": "assistant", "content": "x" * 1_000})]
    stored = encode_input(asked(*history, user("new", "h")), writable=())
    assert len(stored) < NEWEST_MESSAGES * 120
    assert b"xxxx" not in stored


def test_no_secret_and_no_foreign_key_is_stored() -> None:
    request = asked(
        user("hi"),
        state={"secret": "MARK"},
        forwardedProps={"authorization": "Bearer MARK", "headers": {"x": "MARK"}, "middleCore": {"on_disconnect": "continue"}},
    )
    stored = encode_input(request, writable=("draft",))
    assert b"MARK" not in stored
    assert orjson.loads(stored)["body"]["forwardedProps"] == {"middleCore": {"on_disconnect": "continue"}}
