"""Where the SDK is right, our stream says the same. The oracle is the SDK's own run of the same graph.

Also: the SDK's agent as we configure it, and the cost of starting a run, compared with the SDK's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import BaseEvent, RunAgentInput
from langchain_core.tools import tool
from langgraph.runtime import get_runtime

from middle_core.runs.graph.sdk import SdkAgent
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules
from tests.fakes import graphs
from tests.fakes.models import ScriptedModel, args, call, finish
from tests.fakes.play import client, essence, play, says


@dataclass
class _Tenant:
    name: str = "x"


@tool
async def search(q: str) -> str:
    """Search."""
    return f"found {q}"


def model() -> ScriptedModel:
    """Chunks as today's providers send them, which the SDK was written for."""
    first = ["Let me ", "see", call("search"), args('{"q":'), args('"a"}'), finish("tool_calls")]
    return ScriptedModel(turns=[first, ["It ", "is ", "a", finish()]])


GRAPHS: dict[str, Callable[[], graphs.Graph]] = {
    "chat": lambda: graphs.chat(ScriptedModel(turns=[["Hel", "lo", finish()]])),
    "tools": lambda: graphs.tools_chat(model(), [search]),
    "sent tools": lambda: graphs.sent_tools(model(), [search]),
    "nested": lambda: graphs.nested(ScriptedModel(turns=[["deep", finish()]])),
    "question": lambda: graphs.ask({"message": "sure?", "reason": "delete"}),
}


def request(thread: str = "t") -> RunAgentInput:
    return RunAgentInput.model_validate(
        {"threadId": thread, "runId": "r", "messages": [{"id": "h1", "role": "user", "content": "hi"}], "state": {}, "forwardedProps": {}}
    )


async def theirs(agent: Any, thread: str = "t") -> list[dict[str, Any]]:
    events: list[BaseEvent] = [event async for event in agent.clone().run(request(thread))]
    return [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events]


def told(events: list[dict[str, Any]], prefix: str) -> list[str]:
    """The types of events; neighbouring deltas count once."""
    kinds = [one["type"] for one in events if one["type"].startswith(prefix)]
    return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]


@pytest.mark.parametrize("name", GRAPHS)
async def test_texts_calls_results_and_questions_are_the_sdks(name: str) -> None:
    expected = await theirs(SdkAgent(name="a", graph=GRAPHS[name]()))
    source = GraphSource("a", GRAPHS[name](), AgentRules())
    played = await play(source, says("hi", "h1"))
    for prefix in ("TEXT_MESSAGE", "TOOL_CALL"):
        assert told(played.events, prefix) == told(expected, prefix)
    for kind in ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT"):
        said = [
            "".join(str(one.get("delta", one.get("content"))) for one in events if one["type"] == kind)
            for events in (played.events, expected)
        ]
        assert said[0] == said[1]
    ours_end = [(role, text, [call[1:] for call in calls]) for _, role, text, _, calls in essence(client([], played.events))]
    snapshot = next(one for one in reversed(expected) if one["type"] == "MESSAGES_SNAPSHOT")
    theirs_end = [(role, text, [call[1:] for call in calls]) for _, role, text, _, calls in essence(snapshot["messages"]) if role != "user"]
    assert ours_end == theirs_end
    asked = expected[-1].get("outcome", {}).get("interrupts", [])
    assert [(one["reason"], one["message"]) for one in played.interrupts] == [(one["reason"], one["message"]) for one in asked]
    spent = expected[-1].get("usage", [])
    assert [one["totalTokens"] for one in played.usage] == [one["totalTokens"] for one in spent]


def test_a_clone_keeps_what_the_constructor_does_not_take() -> None:
    agent = SdkAgent(name="a", graph=GRAPHS["chat"](), description="d", config={"tags": ["x"]}).clone()
    assert (agent.emit_raw_events, agent.emit_interrupt_outcome) == (False, True)
    assert (agent.name, agent.description, agent.config) == ("a", "d", {"tags": ["x"]})


async def test_the_sdks_own_run_stands_a_context_schema_and_a_plain_typed_dict() -> None:
    # Both fail the stock agent: the first with TypeError, the second, on Python 3.11, with PydanticUserError.
    seen: list[Any] = []

    async def node(state: Any) -> Any:
        seen.append(get_runtime().context)
        return {}

    await theirs(SdkAgent(name="a", graph=graphs.one_node(node, state=graphs.ChatState, context_schema=_Tenant)))
    assert [type(one) for one in seen] == [_Tenant]
