"""Listen to a running graph: callbacks in, AG-UI events out, in the order in which things happened.

One inline callback handler sees everything on one path (model chunks, tools, nodes, custom events), so that the order
holds; LangGraph's stream modes come through another queue and overtake each other. It is attached by
`runs.graph.source` and knows LangGraph's callbacks, but no thread, no turn and no checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langgraph.errors import GraphBubbleUp, GraphInterrupt

# Private, and the only marker that makes `ainvoke` stream inside a node without making LangGraph stream each node's output as well.
from langgraph.pregel._messages import StreamMessagesHandler

from middle_core.agui.endings import refused
from middle_core.events import Custom, Event, EventType, custom
from middle_core.node_api.context import run_context
from middle_core.node_api.emit import Emitted
from middle_core.node_api.outcomes import metadata, outcome_of
from middle_core.runs.graph.asides import Aside, Fates
from middle_core.runs.graph.content import declined, tool_text
from middle_core.runs.graph.event_queue import EventQueue
from middle_core.runs.graph.history import Shown
from middle_core.runs.graph.ids import Ids
from middle_core.runs.graph.model_streams import ModelStreams, Show
from middle_core.runs.graph.node_outputs import messages_in, own_copy
from middle_core.runs.graph.node_steps import NodeOutcome, Nodes
from middle_core.runs.graph.sdk import AG_UI_EVENTS, CALL_EVENTS, MESSAGE_EVENTS, STATE_EVENTS

logger = logging.getLogger(__name__)

_HIDDEN_TAGS: Final = frozenset({"nostream", "langsmith:nostream"})


class CallbackHandler(StreamMessagesHandler):
    """The callback handler of one run of a graph. The bookkeeping of its base class, such as `seen`, is not used.

    Attributes:
        streams: what models say.
        nodes: which tasks are open.
        shown: the messages that a client has made of the events.
        usage: tokens of each model run, with its provider and model.
        fates: what became of the messages that were shown.
        lock: held while events are made; sync nodes call from their threads.

    Args:
        queue: takes the events.
        ids: those of the thread.
        answered: ids of the calls that have a result.
        show_state: makes events of keys of the state that node code shows.
        waiting: the thread's asides. Of those that are pending, what their node says again is not shown again.
        warn: says something in the server's log.
    """

    raise_error = True  # a fault in here must fail the run, not vanish into a log line

    def __init__(
        self,
        queue: EventQueue,
        ids: Ids,
        answered: Iterable[str],
        show_state: Callable[[Mapping[str, Any]], list[Event]],
        *,
        waiting: Collection[Aside] = (),
        warn: Callable[[str], None] = lambda _words: None,
    ) -> None:
        super().__init__(lambda _chunk: None, subgraphs=True)
        self.streams = ModelStreams(ids, warn)
        self.nodes = Nodes()
        self.shown = Shown()
        self.usage: list[tuple[Any, str | None, str | None]] = []
        self._queue = queue
        self._ids = ids
        self.lock = threading.RLock()
        self._tasks: set[uuid.UUID] = set()
        self._models: dict[uuid.UUID, Mapping[str, Any]] = {}
        self._answered = set(answered)
        self.fates = Fates()
        self._waiting = {str(one.shown[-1].get("content") or ""): one.message_id for one in waiting if _is_plain_text(one)}
        """Texts that were shown by nodes which wait for an answer, with their ids. Once answered, such a node runs again from its start."""
        self._results = {one.shown[-1]["toolCallId"]: one.message_id for one in waiting if one.shown[-1]["role"] == "tool"}
        """Ids of the results that such nodes have shown, by their calls."""
        self._repeated: dict[str, str] = {}
        """Under which id a text is shown already that a node emits again, by the id that the node means."""
        self._streamed: dict[str, set[str]] = {}
        """Ids of the messages that models have streamed, by the namespace of the task that is not over."""
        self._emitted: dict[str, set[str]] = {}
        """Ids of the messages that node code has emitted, likewise."""
        self._emitting: dict[str, str] = {}
        """Messages that node code is emitting, by id, with the namespace of the task that does."""
        self._aborted: dict[str, list[Event]] = {}
        """Ends of what broken model runs left open, by the namespace of their task."""
        self._emitters: dict[str, Callable[[Any, str], list[Event]]] = {
            **dict.fromkeys(
                MESSAGE_EVENTS, lambda data, namespace: self._message(data.get("message_id"), str(data.get("message") or ""), namespace)
            ),
            **dict.fromkeys(CALL_EVENTS, self._emit_call),
            **dict.fromkeys(STATE_EVENTS, lambda data, _: show_state(data) if isinstance(data, Mapping) else []),
            "copilotkit_exit": lambda _data, _: [{"type": EventType.CUSTOM.value, "name": "Exit", "value": True}],
            Emitted.MESSAGE.value: lambda data, namespace: self._message(data["id"], data["text"], namespace),
            Emitted.TOKEN.value: lambda data, namespace: self._token(data["id"], data["delta"], namespace),
            Emitted.STATE.value: lambda data, _: show_state(data),
            Custom.CHUNK.value: lambda data, _: [custom(Custom.CHUNK, **data)],
            Custom.PROGRESS.value: lambda data, _: [custom(Custom.PROGRESS, **data)],
            Custom.REFUSED.value: lambda data, _: [refused("node", str(data["reason"]))],
        }

    def send(self, events: Iterable[Event]) -> None:
        """Send events on."""
        with self.lock:
            events = list(events)
            for event in events:
                self.shown.feed(event)
            if events:
                self._queue.put(events)

    def catch_up(self, messages: Sequence[BaseMessage]) -> None:
        """The graph's messages after a step. Those that a node gave in another form (a tuple, a dict) are seen here first."""
        with self.lock:
            unknown: list[BaseMessage] = []
            for one in reversed(messages):
                if one.id in self._ids.messages:
                    break
                unknown.append(one)
            for one in reversed(unknown):
                self.send(self._unstreamed(one))

    # Models ------------------------------------------------------------------------------------------

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        """A model run begins."""
        metadata = kwargs.get("metadata") or {}
        with self.lock:
            self._models[run_id] = metadata
            self.streams.start(run_id, _show(kwargs.get("tags") or (), metadata, kwargs.get("options") or {}))

    @property
    def on_llm_new_token(self) -> Callable[..., Any]:  # a method for LangChain, which looks it up at each call
        """A chunk. It is handed on after this call, so ids that are set in it here are what the graph gets.

        A coroutine function in the loop's thread, where the model can be made to wait; a plain one in the thread of a sync node.
        """
        return self._token_and_wait if self._queue.in_loop_thread else self._new_token

    def _new_token(self, token: Any, *, chunk: Any = None, run_id: uuid.UUID, **kwargs: Any) -> None:
        if isinstance(chunk, ChatGenerationChunk):
            with self.lock:
                self.send(self.streams.chunk(run_id, chunk.message))

    async def _token_and_wait(self, token: Any, **kwargs: Any) -> None:
        self._new_token(token, **kwargs)
        await self._queue.wait_for_reader()

    def on_llm_end(self, response: LLMResult, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        """A model run is over."""
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        message = own_copy(generation) if isinstance(generation, ChatGeneration) else None
        with self.lock:
            metadata = self._models.pop(run_id, {})
            if isinstance(message, AIMessage) and message.usage_metadata:
                self.usage.append((message.usage_metadata, metadata.get("ls_provider"), metadata.get("ls_model_name")))
            shown = self.streams.shows_text(run_id)
            self._streamed_in(metadata, run_id)
            self.send(self.streams.abort(run_id) if message is None else self.streams.end(run_id, message))
            if shown and isinstance(message, AIMessage) and declined(message):
                self.send([refused("model", "The model declined to answer this.")])

    def on_llm_error(self, error: BaseException, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        """A model run failed, was cancelled, or its node had enough of it. If the node goes on, it ends with the node."""
        with self.lock:
            metadata = self._models.pop(run_id, {})
            namespace = metadata.get("langgraph_checkpoint_ns", "")
            self._streamed_in(metadata, run_id)
            self._aborted.setdefault(namespace, []).extend(self.streams.abort(run_id))

    def _streamed_in(self, metadata: Mapping[str, Any], run_id: uuid.UUID) -> None:
        """A model run is over. Its task decides what becomes of the message."""
        if message_id := self.streams.message_id(run_id):
            self._streamed.setdefault(metadata.get("langgraph_checkpoint_ns", ""), set()).add(message_id)

    # Nodes -------------------------------------------------------------------------------------------

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        """A chain begins. It is a node's task if it carries the graph's step as a tag of its own."""
        metadata, tags = kwargs.get("metadata") or {}, kwargs.get("tags") or ()
        namespace = metadata.get("langgraph_checkpoint_ns")
        if namespace and kwargs.get("name") == metadata.get("langgraph_node") and any(tag.startswith("graph:step:") for tag in tags):
            with self.lock:
                self._tasks.add(run_id)
                self._models[run_id] = metadata
                self.send(self.nodes.started(run_id, namespace))

    def on_chain_end(self, outputs: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:  # type: ignore[override]  # called by position; the bases differ in the name
        """A node's task is done: what it said without any model is told, then its end."""
        if run_id in self._tasks:
            with self.lock:
                returned = list(messages_in(outputs))
                for message in returned:
                    self.send(self._unstreamed(message))
                self._end_task(run_id, "ok", {str(one.id) for one in returned})

    def on_chain_error(self, error: BaseException, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        """A node's task failed, asks a person, was cancelled, or left for its parent graph (which is no failure)."""
        if run_id in self._tasks:
            with self.lock:
                self._end_task(run_id, _outcome(error))

    def _end_task(self, run_id: uuid.UUID, outcome: NodeOutcome, returned: Collection[str] = ()) -> None:
        self._tasks.discard(run_id)
        namespace = self._models.pop(run_id, {}).get("langgraph_checkpoint_ns", "")
        ends = self._aborted.pop(namespace, [])
        if outcome == "ok":
            self.send(ends)
        for message_id in [one for one, within in self._emitting.items() if within == namespace]:
            self.send(self._end_emitted(message_id))
        self.send(self.nodes.ended(run_id, outcome))
        streamed, emitted = self._streamed.pop(namespace, set()), self._emitted.pop(namespace, set())
        if outcome == "ok":
            self.fates.drafts |= streamed.difference(returned)
            self.fates.over |= emitted.difference(returned)
        elif outcome != "interrupted":
            self.fates.drafts |= streamed | emitted  # it may be tried again, and then says it again

    def _unstreamed(self, message: BaseMessage) -> list[Event]:
        """Events for a message of a node's output that nobody has streamed."""
        if isinstance(message, ToolMessage):
            return self._result(message)
        if isinstance(message, AIMessage):
            self.streams.drop_broken_calls(message)
            message.id = self._repeated.get(message.id or "", message.id)
        if isinstance(message, AIMessage) and (not message.id or message.id not in self._ids.messages):
            message.id = self._ids.message(message.id)
            return self.streams.whole_message(message)
        return []

    # Tools -------------------------------------------------------------------------------------------

    def on_tool_end(self, output: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        """A tool is done: its result is told at once, not when its siblings are done too."""
        with self.lock:
            for message in messages_in(output):
                if isinstance(message, ToolMessage):
                    self.send(self._result(message))

    def _result(self, message: ToolMessage) -> list[Event]:
        call_id = message.tool_call_id
        if call_id in self._answered:
            message.id = self._results.get(call_id, message.id)
            return []
        self._answered.add(call_id)
        if not message.id or message.id in self._ids.messages:
            message.id = self._ids.message(None, f"{call_id}-result")
        else:
            self._ids.messages.add(message.id)
        self.streams.predicted.pop(call_id, None)
        return [result_event(message)]

    # What node code emits -----------------------------------------------------------------------------

    @property
    def on_custom_event(self) -> Callable[..., Any]:  # as on_llm_new_token
        """CopilotKit's emitters, ours, and any other custom event, which passes as it is."""
        return self._custom_and_wait if self._queue.in_loop_thread else self._custom_event

    def _custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        namespace = (kwargs.get("metadata") or {}).get("langgraph_checkpoint_ns", "")
        with self.lock:
            self.send(self._custom(name, data, namespace))

    async def _custom_and_wait(self, name: str, data: Any, **kwargs: Any) -> None:
        self._custom_event(name, data, **kwargs)
        await self._queue.wait_for_reader()

    def _custom(self, name: str, data: Any, namespace: str) -> list[Event]:
        passed: list[Event] = [{"type": EventType.CUSTOM.value, "name": name, "value": data}]
        if (emitter := self._emitters.get(name)) is not None:
            return [*emitter(data, namespace), *(passed if name in AG_UI_EVENTS else ())]
        if name.startswith("middle_core."):
            logger.warning("a graph may not emit %s; dropped", name)
            return []
        return passed

    def _emit_call(self, data: Any, namespace: str) -> list[Event]:
        call = {"id": data.get("id"), "name": data.get("name"), "args": data.get("args") or {}}
        if isinstance(call["args"], str):
            call |= {"type": "invalid_tool_call", "error": None}  # JSON as it is: AIMessage takes a text for arguments only there
        calls = {"invalid_tool_calls" if isinstance(call["args"], str) else "tool_calls": [call]}
        # Its own assistant message, as the SDK has it: no message of the thread holds this call.
        message_id = self._ids.message(call["id"])
        self._emitted.setdefault(namespace, set()).add(message_id)
        if call["name"] in run_context().page_tools:
            # The page runs its own tools for calls that are left without a result, and asks again with the result. It must not.
            self.fates.unkept.add(message_id)
        return self.streams.whole_message(AIMessage("", id=message_id, **calls))

    def _message(self, wanted: str | None, text: str, namespace: str) -> list[Event]:
        if not text:
            return []
        if (shown := self._waiting.pop(text, None)) is not None:
            self._repeated[str(wanted)] = shown
            return []
        message_id = self._ids.message(wanted)
        self._emitted.setdefault(namespace, set()).add(message_id)
        return [
            {"type": EventType.TEXT_MESSAGE_START.value, "messageId": message_id, "role": "assistant"},
            {"type": EventType.TEXT_MESSAGE_CONTENT.value, "messageId": message_id, "delta": text},
            {"type": EventType.TEXT_MESSAGE_END.value, "messageId": message_id},
        ]

    def _token(self, message_id: str, delta: str, namespace: str) -> list[Event]:
        event: Event = {"type": EventType.TEXT_MESSAGE_CONTENT.value, "messageId": message_id, "delta": delta}
        if message_id in self._emitting:
            return [event] if delta else []
        if not delta or message_id in self._ids.messages:
            return []
        self._ids.messages.add(message_id)
        self._emitting[message_id] = namespace
        self._emitted.setdefault(namespace, set()).add(message_id)
        return [{"type": EventType.TEXT_MESSAGE_START.value, "messageId": message_id, "role": "assistant"}, event]

    def _end_emitted(self, message_id: str) -> list[Event]:
        del self._emitting[message_id]
        return [{"type": EventType.TEXT_MESSAGE_END.value, "messageId": message_id}]


def _is_plain_text(aside: Aside) -> bool:
    return aside.pending and aside.shown[-1]["role"] == "assistant" and not aside.shown[-1].get("toolCalls")


def result_event(message: ToolMessage) -> Event:
    """A tool's result as an event, under the id that the thread holds."""
    return {
        "type": EventType.TOOL_CALL_RESULT.value,
        "messageId": str(message.id),
        "toolCallId": message.tool_call_id,
        "content": tool_text(message.content),
        "role": "tool",
        "metadata": metadata(outcome_of(message)),
    }


def _show(tags: Sequence[str], metadata: Mapping[str, Any], options: Mapping[str, Any]) -> Show:
    """What the author of a graph lets be seen of a model run.

    Structured output is the graph's own business (ag-ui-protocol/ag-ui#1543: it became empty bubbles).
    """
    if not _HIDDEN_TAGS.isdisjoint(tags) or options.get("ls_structured_output_format"):
        return Show(text=False, tools=False)
    tools = _flag(metadata, "emit-tool-calls")
    predict = metadata.get("copilotkit:emit-intermediate-state") or metadata.get("predict_state") or ()
    return Show(
        text=_flag(metadata, "emit-messages") is not False,
        tools=tools if isinstance(tools, bool) else [tools] if isinstance(tools, str) else list(tools),
        predict=tuple(one if isinstance(one, Mapping) else vars(one) for one in predict),
    )


def _flag(metadata: Mapping[str, Any], name: str) -> Any:
    value = metadata.get(f"copilotkit:{name}", metadata.get(name))
    return True if value is None else value


def _outcome(error: BaseException) -> NodeOutcome:
    if isinstance(error, GraphInterrupt):
        return "interrupted"
    if isinstance(error, GraphBubbleUp):
        return "ok"
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "error"
