"""The CopilotKit SDK, as far as it is used: its agent's input, and its message conversion.

The only file that imports `copilotkit` and `ag_ui_langgraph`. What the SDK does right is used through here; what is measured
wrong is replaced elsewhere: its event stream (`runs.graph.callbacks`, `runs.graph.model_streams`, `runs.graph.node_steps`), its
look-up of history, its resumes, and what it does with a message on a thread that asks something. It knows no run and no thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ag_ui.core import RunAgentInput
from ag_ui_langgraph.types import CustomEventNames, SchemaKeys
from ag_ui_langgraph.utils import agui_messages_to_langchain, convert_langchain_multimodal_to_agui
from copilotkit import LangGraphAGUIAgent
from copilotkit.langgraph_agui_agent import CustomEventNames as CopilotKitEventNames
from langchain_core.messages import BaseMessage, HumanMessage

from middle_core.events import OUTCOME, RunId, ThreadId
from middle_core.runs.graph.history import Message
from middle_core.runs.graph.introspection import Graph, context_for, input_keys, output_keys

MESSAGE_EVENTS: Final = frozenset({CustomEventNames.ManuallyEmitMessage.value, CopilotKitEventNames.ManuallyEmitMessage.value})
"""Names of the custom events by which node code emits a message: {message_id, message}. The two packages of the SDK differ."""
CALL_EVENTS: Final = frozenset({CustomEventNames.ManuallyEmitToolCall.value, CopilotKitEventNames.ManuallyEmitToolCall.value})
"""By which it emits a tool call: {id, name, args}, where args are an object or its JSON."""
STATE_EVENTS: Final = frozenset({CustomEventNames.ManuallyEmitState.value, CopilotKitEventNames.ManuallyEmitState.value})
"""By which it shows state: the keys with their values."""
AG_UI_EVENTS: Final = frozenset(one.value for one in CustomEventNames)
"""Those of `ag_ui_langgraph`, which its endpoint also passes on as they are."""


class SdkAgent(LangGraphAGUIAgent):
    """The SDK's agent as it should be configured: no raw events, AG-UI 1.0 interrupts, schemas read from the graph.

    Its constructor takes none of these flags, and `clone` loses what is set after it.
    """

    def __init__(self, *, name: str, graph: Graph, description: str | None = None, config: Any = None) -> None:
        super().__init__(name=name, graph=graph, description=description, config=config)
        self.emit_raw_events = False
        self.emit_interrupt_outcome = True

    def clone(self) -> SdkAgent:
        """A copy for one request, with the flags."""
        return SdkAgent(name=self.name, graph=self.graph, description=self.description, config=dict(self.config) if self.config else None)

    def get_schema_keys(self, config: Any) -> SchemaKeys:
        """Read from the graph. The SDK builds JSON schemas for it: 17 ms at each run, and an error for a plain TypedDict on Python 3.11."""
        constant = self.constant_schema_keys
        return {"input": [*input_keys(self.graph), *constant], "output": [*output_keys(self.graph), *constant], "config": [], "context": []}

    def get_stream_kwargs(self, input: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: A002 - the SDK's name
        """The context, fitted to the graph's context_schema: the SDK passes keys that a dataclass does not take."""
        stream_kwargs = super().get_stream_kwargs(input, *args, **kwargs)
        stream_kwargs["context"] = context_for(self.graph.context_schema, stream_kwargs.get("context") or {})
        return stream_kwargs


def graph_input(
    agent: SdkAgent,
    *,
    thread_id: ThreadId,
    run_id: RunId,
    state: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]],
    context: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The graph's input without its messages, in the shape that CopilotKit's middleware expects.

    Args:
        agent: the SDK's agent for the graph.
        thread_id: of the thread.
        run_id: of the run.
        state: the keys that the client may write, with their values.
        tools: the browser's tools, as AG-UI objects.
        context: the browser's readables, as AG-UI objects.
    """
    request = RunAgentInput.model_validate(
        {
            "threadId": thread_id,
            "runId": run_id,
            "state": {},
            "messages": [],
            "tools": list(tools),
            "context": list(context),
            "forwardedProps": {},
        }
    )
    return agent.langgraph_default_merge_state(dict(state), [], request)


def to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    """AG-UI messages as LangChain's. The outcome of a call, which a message of the server's own may carry, goes along."""
    request = RunAgentInput.model_validate({"threadId": "-", "runId": "-", "messages": list(messages)})
    outcomes = {one["id"]: one["metadata"] for one in messages if OUTCOME in (one.get("metadata") or {})}
    converted = agui_messages_to_langchain(request.messages)
    for message in converted:
        message.response_metadata.update(outcomes.get(str(message.id), {}))
    return converted


def user_parts(message: HumanMessage) -> Any:
    """The content of a user's message as AG-UI parts."""
    parts = convert_langchain_multimodal_to_agui(message.content)
    return [one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in parts]
