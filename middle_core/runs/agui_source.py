"""The source of a run's events: a LangGraph graph, driven for AG-UI.

The only file that knows the CopilotKit SDK's inside. What is right there is used: the graph's input as CopilotKit's
middleware expects it, message conversion, interrupts. What is measured wrong is replaced: the event stream
(`runs.tap`, `runs.chunks`, `runs.nodes`), the history lookup, resumes, and what becomes of a message on a thread that
asks something. It knows no log and no HTTP; it raises what the graph raises.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, cast

import orjson
from ag_ui.core import RunAgentInput, aggregate_token_usage, token_usage_from_langchain_metadata
from ag_ui_langgraph.types import SchemaKeys
from ag_ui_langgraph.utils import agui_messages_to_langchain, convert_langchain_multimodal_to_agui
from copilotkit import LangGraphAGUIAgent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START
from langgraph.types import Command, Overwrite, StateSnapshot, StateUpdate

from middle_core.errors import InterruptUnknown, MiddleCoreError
from middle_core.events import Custom, Event, EventType, RunId, ThreadId, custom
from middle_core.runs.graphs import Graph, context_for, input_keys, joins_messages, output_keys, topology
from middle_core.runs.history import STOPPED, Message, history, same
from middle_core.runs.ids import Ids
from middle_core.runs.jsonable import TooBig, jsonable
from middle_core.runs.partials import PartialMessage
from middle_core.runs.repair import repair
from middle_core.runs.tap import Mailbox, Tap
from middle_core.runs.turn import AgentRules, Resume, ThreadView, Turn

RECURSION_LIMIT: Final = 100
"""Steps of a graph, where it names no limit of its own. LangGraph's default is 10,007: a loop that never ends."""

MAX_STATE: Final = 1_000_000
"""Characters of JSON of the client-visible state."""

CANCELLED_ANSWER: Final = {"__agui_cancelled__": True}
"""What `interrupt()` returns for a resume with status `cancelled`: the SDK's sentinel, which teams' graphs know."""

_INTERNAL: Final = frozenset({"messages", "tools", "copilotkit", "ag-ui", "__interrupt__"})


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


class AguiSource:
    """One agent's graph. Holds nothing of any thread or run.

    Raises ValueError where the graph cannot be run: no checkpointer, or a context_schema that needs what nobody gives.
    """

    def __init__(self, name: str, graph: Graph, rules: AgentRules) -> None:
        if not graph.checkpointer:
            raise ValueError(f"agent {name}: compile the graph with a checkpointer; without one there is no thread.")
        self.name = name
        self.graph = graph
        self.rules = rules
        self.sdk = SdkAgent(name=name, graph=graph)
        self.input_keys = input_keys(graph)
        self.output_keys = output_keys(graph) - _INTERNAL
        self._topology = topology(graph)
        context_for(graph.context_schema, {})

    def open(self, turn: Turn | None, *, thread_id: ThreadId, run_id: RunId) -> SourceRun:
        """A run of this turn. None goes on from the thread's checkpoint, as after a crash."""
        return SourceRun(self, turn, thread_id, run_id)

    def topology(self) -> dict[str, Any]:
        """The compiled graph's nodes and edges: see `graphs.topology`."""
        return self._topology

    async def view(self, thread_id: ThreadId) -> ThreadView:
        """The thread as the client sees it."""
        snapshot = await self.graph.aget_state(_config(thread_id))
        messages = _stored(snapshot.values)
        return ThreadView(
            messages=history(messages, _user_parts),
            pending_client_calls=frozenset(_open_calls(messages, self.rules)),
            interrupts=_interrupts(self.sdk, snapshot),
        )

    async def state(self, thread_id: ThreadId) -> dict[str, Any]:
        """The client-visible state, without messages and internal keys."""
        snapshot = await self.graph.aget_state(_config(thread_id))
        return self.visible(snapshot.values)

    async def settle(self, thread_id: ThreadId, partials: Sequence[PartialMessage], *, note: str) -> None:
        """Give the thread what a run has shown and its checkpoint lacks, and leave nothing pending. Idempotent.

        note: how the run ended, for the texts of calls without a result ("stopped", "interrupted").
        """
        snapshot = await self._finalised(await self.graph.aget_state(_config(thread_id)), thread_id)
        if "messages" not in self.graph.channels:
            return
        before = _stored(snapshot.values)
        known = {one.id for one in before}
        messages = [*before, *(_from_partial(one) for one in partials if one.message_id not in known and (one.text or one.calls))]
        results = {call.call_id: call.result for one in partials for call in one.calls}
        answered = {one.tool_call_id for one in before if isinstance(one, ToolMessage)}
        for message in list(messages):
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                text = results.get(str(call["id"]))
                if text is not None and call["id"] not in answered:
                    messages.append(ToolMessage(text, tool_call_id=str(call["id"]), name=call["name"], id=f"{call['id']}-result"))
        words = "the user stopped it" if note == STOPPED else "the run was interrupted"
        valid = repair(messages, why=lambda _name: f"This call was not completed: {words}.")
        await self._write(thread_id, before, valid)

    # Used by SourceRun ---------------------------------------------------------------------------------

    def visible(self, values: Any) -> dict[str, Any]:
        """The keys of a state that a client may see, as JSON."""
        if not isinstance(values, Mapping):
            return {}
        try:
            return cast("dict[str, Any]", jsonable({key: values[key] for key in values if key in self.output_keys}, budget=MAX_STATE))
        except TooBig as error:
            raise MiddleCoreError("The agent's state is too large to be shown.") from error

    async def _finalised(self, snapshot: StateSnapshot, thread_id: ThreadId) -> StateSnapshot:
        """Nothing pending any more; the results of tasks that had finished beside an unfinished one are kept.

        A new input alone would throw these away (EvoScientist/EvoScientist#489).
        """
        if not snapshot.next:
            return snapshot
        await self.graph.aupdate_state(_config(thread_id), None, as_node=END)
        return await self.graph.aget_state(_config(thread_id))

    async def _write(self, thread_id: ThreadId, before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> None:
        """Make `after` the thread's messages. Appends where that is all; else the list is replaced as a whole.

        Written as START, then ended: right for any graph, because no node's own routing runs on and nothing stays pending.
        """
        if list(before) == list(after):
            return
        value: Any = list(after)
        if list(after[: len(before)]) == list(before) and joins_messages(self.graph):
            value = list(after[len(before) :])
        elif joins_messages(self.graph):
            value = Overwrite(value)
        steps = [[StateUpdate({"messages": value}, START)], [StateUpdate(None, END)]]
        await self.graph.abulk_update_state(_config(thread_id), steps)


class SourceRun:
    """One run of a graph. `interrupts` and `usage` hold after `events` has ended normally."""

    def __init__(self, source: AguiSource, turn: Turn | None, thread_id: ThreadId, run_id: RunId) -> None:
        self._source = source
        self._turn = turn
        self._thread_id = thread_id
        self._run_id = run_id
        self._mailbox: Mailbox | None = None
        self._tap: Tap | None = None
        self._values: Mapping[str, Any] | None = None
        self._state: dict[str, Any] = {}
        self._rewritten = False
        self._interrupted = False
        self.interrupts: list[dict[str, Any]] = []

    @property
    def usage(self) -> list[dict[str, Any]]:
        """Tokens spent so far, one entry for each provider and model."""
        found = [] if self._tap is None else self._tap.usage
        entries = [token_usage_from_langchain_metadata(usage, provider=provider, model=model) for usage, provider, model in found]
        return [
            one.model_dump(by_alias=True, exclude_none=True) for one in aggregate_token_usage([one for one in entries if one is not None])
        ]

    async def events(self) -> AsyncGenerator[Event, None]:
        """The run, as events. Raises what the graph raises, after the ends of the nodes that were open.

        Iterate it inside `contextlib.aclosing`. One `Task.cancel()` stops the graph: when CancelledError comes out
        of here, the model's stream is closed and no task is left. `leftovers` has what was not yielded any more.
        """
        yield custom(Custom.TOPOLOGY, **self._source.topology())
        before, inputs = await self._prepare()
        self._mailbox = mailbox = Mailbox()
        ids = Ids(
            (str(one.id) for one in before), (str(call["id"]) for one in before if isinstance(one, AIMessage) for call in one.tool_calls)
        )
        self._tap = tap = Tap(mailbox, ids, self._show_state)
        tap.already(before)
        pump = asyncio.create_task(self._pump(inputs, tap))  # noqa: TID251 - owned here: ended in `finally`; a TaskGroup wraps GeneratorExit
        pump.add_done_callback(lambda _task: mailbox.close())
        try:
            while await mailbox.arrived():
                for event in mailbox.take():
                    yield event
            if (failure := _failure(pump)) is not None:
                for event in self.leftovers("error"):
                    yield event
                raise failure
        finally:
            pump.cancel()
            await asyncio.wait([pump])
        for event in await self._last_events(before):
            yield event

    def leftovers(self, outcome: str = "cancelled") -> list[Event]:
        """What happened and was not yielded, then the ends of the open nodes. For after a cancellation."""
        if self._tap is None or self._mailbox is None:
            return []
        return [*self._mailbox.take(), *self._tap.nodes.close("error" if outcome == "error" else "cancelled")]

    # Before ------------------------------------------------------------------------------------------

    async def _prepare(self) -> tuple[list[BaseMessage], list[Any]]:
        """The thread's messages as the run finds them, and the inputs to run the graph with."""
        source, turn = self._source, self._turn
        snapshot = await source.graph.aget_state(_config(self._thread_id))
        self._state = source.visible(snapshot.values)
        if turn is None:
            return _stored(snapshot.values), [None]
        if turn.resume:
            open_ids = {one["id"] for one in _interrupts(source.sdk, snapshot)}
            if not {one.interrupt_id for one in turn.resume} <= open_ids:
                raise InterruptUnknown
            spoken = bool(turn.messages or turn.results)
            if not spoken:
                return _stored(snapshot.values), [_answers(turn.resume)]
            if any(not one.cancelled for one in turn.resume):
                # Answered and spoken at once: the answer first, to its end, then the words.
                return _stored(snapshot.values), [_answers(turn.resume), turn]
        return await self._fresh(snapshot, turn)

    async def _fresh(self, snapshot: StateSnapshot, turn: Turn) -> tuple[list[BaseMessage], list[Any]]:
        """Start over from START with the turn's messages, on a thread that is made fit for it."""
        source = self._source
        snapshot = await source._finalised(snapshot, self._thread_id)  # noqa: SLF001 - one module, two classes
        stored = _stored(snapshot.values)
        fresh = _langchain([*turn.results, *turn.messages])
        kept = stored
        if turn.restart_at is not None:
            at = next((at for at, one in enumerate(stored) if one.id == turn.restart_at), len(stored))
            kept = stored[:at]
        base, fresh = _joined(repair([*kept, *fresh]), fresh)
        if base != stored:
            self._rewritten = True
            await source._write(self._thread_id, stored, base)  # noqa: SLF001
        return base, [self._input(turn, fresh)]

    def _input(self, turn: Turn, messages: list[BaseMessage]) -> dict[str, Any]:
        """The graph's input as the SDK makes it, but only keys that the graph has."""
        request = RunAgentInput.model_validate(
            {
                "threadId": self._thread_id,
                "runId": self._run_id,
                "state": {},
                "messages": [],
                "tools": list(turn.tools),
                "context": list(turn.context),
                "forwardedProps": {},
            }
        )
        merged = self._source.sdk.langgraph_default_merge_state(dict(turn.state), [], request)
        merged["messages"] = messages
        return {key: value for key, value in merged.items() if key in self._source.input_keys}

    # During ------------------------------------------------------------------------------------------

    async def _pump(self, inputs: Sequence[Any], tap: Tap) -> None:
        source = self._source
        for graph_input in inputs:
            if isinstance(graph_input, Turn):
                snapshot = await source.graph.aget_state(_config(self._thread_id))
                _, more = await self._fresh(snapshot, graph_input)
                await self._pump(more, tap)
                continue
            self._interrupted = False
            config = _config(self._thread_id)
            config["callbacks"] = [tap]
            if "recursion_limit" not in (source.graph.config or {}):
                config["recursion_limit"] = RECURSION_LIMIT
            offered = {"thread_id": self._thread_id, "copilotkit": self._copilotkit()}
            stream = source.graph.astream(
                graph_input, config, context=context_for(source.graph.context_schema, offered), stream_mode=["values", "custom"]
            )
            async for mode, data in stream:
                if mode == "values":
                    self._on_values(data, tap)
                else:
                    tap.say([custom(Custom.CHUNK, type="custom", data=data)])

    def _copilotkit(self) -> dict[str, Any]:
        turn = self._turn or Turn()
        return {"actions": [dict(one) for one in turn.tools], "context": [dict(one) for one in turn.context]}

    def _on_values(self, values: Any, tap: Tap) -> None:
        if not isinstance(values, Mapping):
            return
        if "__interrupt__" in values:
            self._interrupted = True
        if set(values) <= {"__interrupt__"}:
            return
        self._values = values
        predicting = {key for keys in tap.chunks.predicted.values() for key in keys}
        if not predicting:
            tap.say(self._snapshot(self._source.visible(values)))

    def _show_state(self, emitted: Mapping[str, Any]) -> list[Event]:
        return self._snapshot({**self._state, **self._source.visible(emitted)})

    def _snapshot(self, state: dict[str, Any]) -> list[Event]:
        """A STATE_SNAPSHOT, if the client's state would change. Compared as JSON: nodes change their state in place."""
        if orjson.dumps(state) == orjson.dumps(self._state):
            return []
        self._state = state
        return [{"type": EventType.STATE_SNAPSHOT.value, "snapshot": state}]

    # After -------------------------------------------------------------------------------------------

    async def _last_events(self, before: Sequence[BaseMessage]) -> list[Event]:
        source, tap = self._source, self._tap
        assert tap is not None
        if self._interrupted:
            snapshot = await source.graph.aget_state(_config(self._thread_id))
            self.interrupts = _interrupts(source.sdk, snapshot)
        events = tap.nodes.close("interrupted" if self.interrupts else "ok")
        if self._values is None:
            return events
        events.extend(self._snapshot(source.visible(self._values)))
        after = _stored(self._values)
        if self._differs(before, after, tap.shown.messages()):
            events.append({"type": EventType.MESSAGES_SNAPSHOT.value, "messages": history(after, _user_parts)})
        return events

    def _differs(self, before: Sequence[BaseMessage], after: Sequence[BaseMessage], shown: list[Message]) -> bool:
        """Whether the client has anything else than the thread: what was there, its own words, what was streamed."""
        if self._rewritten or len(after) < len(before) or not all(_equal(one, other) for one, other in zip(before, after, strict=False)):
            return True
        turn = self._turn or Turn()
        own = {one["id"] for one in (*turn.messages, *turn.results)}
        stored = history(after[len(before) :], _user_parts)
        return not same(shown, [one for one in stored if one["id"] not in own])


def _config(thread_id: ThreadId) -> RunnableConfig:
    """Only the thread id is configurable: LangGraph copies what stands there into checkpoint metadata."""
    return {"configurable": {"thread_id": thread_id}}


def _stored(values: Any) -> list[BaseMessage]:
    found = values.get("messages") if isinstance(values, Mapping) else None
    return [one for one in found if isinstance(one, BaseMessage)] if isinstance(found, list) else []


def _langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    request = RunAgentInput.model_validate({"threadId": "-", "runId": "-", "messages": list(messages)})
    return agui_messages_to_langchain(request.messages)


def _user_parts(message: HumanMessage) -> Any:
    parts = convert_langchain_multimodal_to_agui(message.content)
    return [one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in parts]


def _equal(one: BaseMessage, other: BaseMessage) -> bool:
    return one.id == other.id and one.content == other.content and getattr(one, "tool_calls", None) == getattr(other, "tool_calls", None)


def _joined(valid: list[BaseMessage], fresh: list[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Split a valid history into what must stand in the thread and what the input brings: its end, where that is untouched."""
    count = 0
    while count < min(len(fresh), len(valid)) and valid[-1 - count] is fresh[-1 - count]:
        count += 1
    return (valid[: len(valid) - count], fresh[len(fresh) - count :])


def _open_calls(messages: Sequence[BaseMessage], rules: AgentRules) -> list[str]:
    """Calls of client tools in the last assistant message that have no result."""
    answered: set[str] = set()
    for one in reversed(messages):
        if isinstance(one, ToolMessage):
            answered.add(one.tool_call_id)
        elif isinstance(one, AIMessage):
            return [str(call["id"]) for call in one.tool_calls if call["id"] not in answered and call["name"] not in rules.server_tools]
        else:
            return []
    return []


def _interrupts(sdk: SdkAgent, snapshot: StateSnapshot) -> list[dict[str, Any]]:
    """The open questions as AG-UI interrupts. No `expiresAt`: a past one bricks the thread in @ag-ui/client 0.0.59."""
    found = sdk._interrupts_to_agui([one for task in snapshot.tasks for one in task.interrupts])  # noqa: SLF001 - the SDK's hook
    return [one.model_dump(by_alias=True, exclude_none=True, mode="json", exclude={"expires_at"}) for one in found]


def _answers(resume: Sequence[Resume]) -> Command[Any]:
    """By id, always: the SDK's single answer goes to whichever question is open."""
    return Command(resume={one.interrupt_id: dict(CANCELLED_ANSWER) if one.cancelled else one.payload for one in resume})


def _from_partial(partial: PartialMessage) -> AIMessage:
    calls, broken = [], []
    for one in partial.calls:
        try:
            arguments = orjson.loads(one.arguments or "{}")
        except orjson.JSONDecodeError:
            arguments = None
        if isinstance(arguments, dict):
            calls.append({"name": one.name, "args": arguments, "id": one.call_id, "type": "tool_call"})
        else:
            broken.append({"name": one.name, "args": one.arguments, "id": one.call_id, "error": None, "type": "invalid_tool_call"})
    marks = {} if partial.closed else {STOPPED: True}
    return AIMessage(partial.text, id=partial.message_id, tool_calls=calls, invalid_tool_calls=broken, response_metadata=marks)


def _failure(pump: asyncio.Task[None]) -> BaseException | None:
    if pump.cancelled():
        return asyncio.CancelledError()  # a node cancelled itself: nobody asked us
    error = pump.exception()
    if isinstance(error, GraphRecursionError):
        words = MiddleCoreError("The agent took too many steps without coming to an end, and was stopped.")
        words.__cause__ = error
        return words
    return error
