"""One run of a graph: the graph's input, its events while it runs, and what it leaves behind.

It knows no log and no HTTP; it raises what the graph raises.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import orjson
from ag_ui.core import aggregate_token_usage, token_usage_from_langchain_metadata
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from middle_core.agui.endings import cut_off
from middle_core.errors import InterruptUnknown, MiddleCoreError
from middle_core.events import Custom, Event, EventType, RunId, ThreadId, custom
from middle_core.node_api.context import enter, run_context
from middle_core.runs.containment import cancel_and_wait
from middle_core.runs.graph.asides import Aside, asides_after, merged, owner_of
from middle_core.runs.graph.asides import before as standing_before
from middle_core.runs.graph.callbacks import CallbackHandler, result_event
from middle_core.runs.graph.event_queue import EventQueue
from middle_core.runs.graph.history import CUT_OFF, history, same
from middle_core.runs.graph.ids import Ids
from middle_core.runs.graph.interrupts import CANCELLED_ANSWER
from middle_core.runs.graph.introspection import context_for
from middle_core.runs.graph.repair import NO_RESULT, WITHDRAWN
from middle_core.runs.graph.sdk import graph_input, to_langchain, user_parts
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.graph.static_pause import goes_on
from middle_core.runs.graph.stream_writer import writing_to
from middle_core.runs.graph.thread_state import (
    ThreadState,
    added_results,
    configured,
    fitted,
    starts_with,
    stored,
)
from middle_core.runs.intake.turn import Turn

RECURSION_LIMIT: Final = 100
"""Steps of a graph, where it names no limit of its own. LangGraph's default is 10,007: a loop that never ends."""


class GraphRun:
    """One run of a graph. After `events` has ended normally, `interrupts`, `last_message_id` and `usage` hold.

    The questions in `interrupts` stand behind the message `last_message_id`.

    Args:
        source: the agent's graph.
        turn: what is asked.
        thread_id: of the thread.
        run_id: of the run.
        adopted: an earlier attempt of the run may have begun. The graph then goes on from the thread's checkpoint.
    """

    def __init__(self, source: GraphSource, turn: Turn, *, thread_id: ThreadId, run_id: RunId, adopted: bool = False) -> None:
        self._source = source
        self._turn = turn
        self._thread_id = thread_id
        self._run_id = run_id
        self._adopted = adopted
        self._queue: EventQueue | None = None
        self._handler: CallbackHandler | None = None
        self._before: Sequence[BaseMessage] = ()
        self._old: set[str] = set()
        """Ids of the thread's messages before the graph's newest input."""
        self._spoken_at = 0
        """How many messages the run had shown when the turn's own messages went into the thread."""
        self._asides: tuple[Aside, ...] = ()
        self._values: Mapping[str, Any] | None = None
        self._state: dict[str, Any] = {}
        self._notices: list[Event] = []
        self._rewritten = False
        self._interrupted = False
        self.interrupts: list[dict[str, Any]] = []
        self.last_message_id: str | None = None

    @property
    def usage(self) -> list[dict[str, Any]]:
        """Tokens spent so far, one entry for each provider and model."""
        found = [] if self._handler is None else self._handler.usage
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
        self._before = before
        self._old = {str(one.id) for one in before}
        for event in self._ignored_state():
            yield event
        for event in self._notices:
            yield event
        self._notices.clear()
        self._queue = queue = EventQueue()
        turn = self._turn
        ids = Ids(
            (str(one.id) for one in before),
            (str(call["id"]) for one in before if isinstance(one, AIMessage) for call in one.tool_calls),
        )
        ids.messages.update(str(message["id"]) for message in (*turn.results, *turn.messages))
        answered = {one.tool_call_id for one in before if isinstance(one, ToolMessage)} | {one["toolCallId"] for one in turn.results}
        for one in self._asides:
            ids.messages.add(one.message_id)
            ids.calls.update(call["id"] for shown in one.shown for call in shown.get("toolCalls") or ())
            answered.update(shown["toolCallId"] for shown in one.shown if shown["role"] == "tool")
        self._handler = handler = CallbackHandler(queue, ids, answered, self._show_state, waiting=self._asides, warn=self._source.warn_once)
        handler.fates.held.update(str(one.id) for one in before)
        pump = asyncio.create_task(self._pump(inputs, handler))  # noqa: TID251 - owned here: ended in `finally`; a TaskGroup wraps GeneratorExit
        pump.add_done_callback(lambda _task: queue.close())
        try:
            while await queue.arrived():
                for event in queue.take():
                    yield event
            if (failure := _failure(pump)) is not None:
                for event in self.leftovers("error"):
                    yield event
                raise failure
        finally:
            try:
                await cancel_and_wait(pump)
            finally:
                queue.close()  # a graph that ignores its cancellation must not wait for room that nobody makes
        for event in await self._last_events(before):
            yield event

    def leftovers(self, outcome: str = "cancelled") -> list[Event]:
        """What happened and was not yielded, then the ends of the open nodes. For after a cancellation."""
        if self._handler is None or self._queue is None:
            return []
        return [*self._queue.take(), *self._handler.nodes.close("error" if outcome == "error" else "cancelled")]

    # Before ------------------------------------------------------------------------------------------

    def _ignored_state(self) -> list[Event]:
        """A warning for the first key of the graph's state that the client would change and may not. Silence would look like a fault."""
        source = self._source
        for key, value in self._turn.unwritable.items():
            if key in source.input_keys and key in source.output_keys and not _same_json(value, self._state.get(key)):
                words = (
                    f"The page wrote {key!r} of the state of {source.name}, which it may not, so it was left as it was. Open the key with "
                )
                words += "AgentSpec(client_writable=...) or MIDDLE_CORE_CLIENT_WRITABLE."
                source.warn_once(words)
                return [custom(Custom.STATE_IGNORED, key=key, message=words)]
        return []

    async def _prepare(self) -> tuple[list[BaseMessage], list[Any]]:
        """The thread's messages as the run finds them, and the inputs to run the graph with."""
        turn = self._turn
        basis = turn.basis
        read = isinstance(basis, ThreadState) and basis.thread_id == self._thread_id
        thread = cast("ThreadState", basis) if read else await self._source.states.read(self._thread_id)
        self._state = self._source.visible(thread.snapshot.values)
        self._asides = thread.asides
        if self._adopted and thread.run_id == self._run_id:
            return thread.messages, self._further(thread, turn)
        if turn.resume:
            open_ids = {one["id"] for one in thread.interrupts}
            if not {one.interrupt_id for one in turn.resume} <= open_ids:
                raise InterruptUnknown
            spoken = bool(turn.messages or turn.results)
            if thread.pause is not None:
                if all(goes_on(one.payload, cancelled=one.cancelled) for one in turn.resume):
                    return thread.messages, [None, turn] if spoken else [None]
                if not spoken:
                    thread = await self._source.states.finalised(thread)
                    self._asides = thread.asides
                    return thread.messages, []
            elif not spoken:
                return thread.messages, [self._answer(turn)]
            elif any(not one.cancelled for one in turn.resume):
                # Answered and spoken at once: the answer first, to its end, then the words.
                return thread.messages, [self._answer(turn), turn]
        return await self._fresh(thread, turn)

    def _further(self, thread: ThreadState, turn: Turn) -> list[Any]:
        """The inputs with which the graph goes on from a checkpoint of this run: None, or the answers, and then words that it has not read.

        LangGraph does not store an answer that is given by id: a node that was cut off behind its question asks the question again.
        A static pause at a checkpoint of this run waits for a person who has not seen it, and any input would let the graph go past it.
        """
        known = {one.id for one in thread.messages}
        unread = tuple(one for one in turn.messages if one["id"] not in known)
        # What the graph has read is the thread's by now, and not the turn's.
        turn = self._turn = replace(turn, messages=unread, results=(), restart_at=None)
        open_ids = {one["id"] for one in thread.interrupts}
        answers = replace(turn, resume=tuple(one for one in turn.resume if one.interrupt_id in open_ids))
        further = [] if thread.pause is not None else [self._answer(answers) if answers.resume else None]
        return [*further, *([replace(turn, resume=())] if turn.resume and unread else [])]

    async def _fresh(self, thread: ThreadState, turn: Turn) -> tuple[list[BaseMessage], list[Any]]:
        """Start over from START with the turn's messages, on a thread that is made fit for it.

        An edit or a regenerate drops the messages from there on, in one write. Time travel, as the SDK does it, would also
        turn back the rest of the state, but it reads every checkpoint of the thread: 12 s for an edit after 200 turns.
        """
        withdrawn = bool(thread.interrupts)
        states = self._source.states
        thread = await states.finalised(thread)
        kept = standing_before(merged(history(thread.messages, user_parts), thread.asides), thread.asides, turn.restart_at)
        if kept != thread.asides:
            await states.keep(self._thread_id, kept)
            self._rewritten = True
        self._asides = kept
        fresh = to_langchain([*turn.results, *turn.messages])
        base, fresh = fitted(thread.messages, fresh, restart_at=turn.restart_at, why=WITHDRAWN if withdrawn else NO_RESULT)
        if await states.write(thread, base):
            self._rewritten = True
            self._notices.extend(result_event(one) for one in added_results(thread.messages, base))
        return base, [self._input(turn, fresh)]

    def _answer(self, turn: Turn) -> Command[Any]:
        """By id, always: the SDK's single answer goes to whichever question is open.

        State that comes with it is not taken: LangGraph refuses a second update in the step that the question stopped, and
        the thread could not be answered any more.
        """
        answers = {one.interrupt_id: one.payload for one in turn.resume if not one.cancelled}
        dismissed = {one.interrupt_id: {**CANCELLED_ANSWER, "interrupt_id": one.interrupt_id} for one in turn.resume if one.cancelled}
        return Command(resume=answers | dismissed)

    def _input(self, turn: Turn, messages: list[BaseMessage]) -> dict[str, Any]:
        """The graph's input as the SDK makes it, but only keys that the graph has."""
        merged = graph_input(
            self._source.sdk,
            thread_id=self._thread_id,
            run_id=self._run_id,
            state=turn.state,
            tools=turn.tools,
            context=turn.context,
        )
        merged["messages"] = messages
        return {key: value for key, value in merged.items() if key in self._source.input_keys}

    # During ------------------------------------------------------------------------------------------

    async def _pump(self, inputs: Sequence[Any], handler: CallbackHandler) -> None:
        source = self._source
        for given in inputs:
            if isinstance(given, Turn):
                thread = await source.states.read(self._thread_id)
                if asides_now := self._asides_now(thread.messages, waits=bool(thread.interrupts)):
                    await source.states.keep(self._thread_id, asides_now)
                    thread = replace(thread, asides=asides_now)
                base, more = await self._fresh(thread, given)
                self._old = {str(one.id) for one in base}
                self._spoken_at = len(handler.shown.messages())
                handler.send(self._notices)
                await self._pump(more, handler)
                continue
            self._interrupted = False
            enter(replace(run_context(), page_tools=frozenset(one["name"] for one in self._turn.tools)))
            config = configured(self._thread_id, run_id=self._run_id)
            config["callbacks"] = [handler]
            if "recursion_limit" not in (source.graph.config or {}):
                config["recursion_limit"] = RECURSION_LIMIT
            offered = {"thread_id": self._thread_id, "copilotkit": self._copilotkit()}
            written = writing_to(lambda data: handler.send([custom(Custom.CHUNK, type="custom", data=data)]), source.graph)
            config["configurable"] = {**config["configurable"], **written}
            context = context_for(source.graph.context_schema, offered)
            # "sync": a node begins once the checkpoint before it is stored. Otherwise an adopted run would do finished nodes again.
            async for values in source.graph.astream(given, config, context=context, stream_mode="values", durability="sync"):
                self._on_values(values, handler)

    def _copilotkit(self) -> dict[str, Any]:
        turn = self._turn
        return {"actions": [dict(one) for one in turn.tools], "context": [dict(one) for one in turn.context]}

    def _on_values(self, values: Any, handler: CallbackHandler) -> None:
        if not isinstance(values, Mapping):
            return
        if "__interrupt__" in values:
            self._interrupted = True
        if set(values) <= {"__interrupt__"}:
            return
        self._values = values
        messages = stored(values)
        handler.catch_up(messages)
        handler.fates.held.update(str(one.id) for one in messages)
        predicting = {key for keys in handler.streams.predicted.values() for key in keys}
        if not predicting:
            with handler.lock:  # a sync node may be showing state from its thread
                handler.send(self._snapshot(self._source.visible(values)))

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
        source, handler = self._source, self._handler
        assert handler is not None
        if self._interrupted or source.states.pauses:
            thread = await source.states.read(self._thread_id)
            self.interrupts = thread.interrupts
            # The stream's last values lack what tasks beside the waiting one have written; the checkpoint shows it.
            self._values = thread.snapshot.values
        events = handler.nodes.close("interrupted" if self.interrupts else "ok")
        if self._values is None:
            return events
        events.extend(self._snapshot(source.visible(self._values)))
        after = stored(self._values)
        asides = self._asides_now(after, waits=bool(self.interrupts))
        if asides != self._asides:
            await source.states.keep(self._thread_id, asides)
        if self.interrupts:
            self.last_message_id = next((one["id"] for one in reversed(merged(history(after, user_parts), asides))), None)
        known = {one.id for one in before}
        for one in history([one for one in after if one.id not in known], user_parts):
            if reason := one.get("metadata", {}).get(CUT_OFF):
                events.append(cut_off(one["id"], reason))
        if self._differs(before, after, asides):
            events.append({"type": EventType.MESSAGES_SNAPSHOT.value, "messages": merged(history(after, user_parts), asides)})
        return events

    def _asides_now(self, after: Sequence[BaseMessage], *, waits: bool) -> tuple[Aside, ...]:
        """What the client has been shown and the thread does not hold.

        Args:
            after: the thread's messages now.
            waits: whether the graph waits for an answer.
        """
        handler, turn = self._handler, self._turn
        assert handler is not None
        shown = handler.shown.messages()
        present = {str(one.id) for one in after}
        if not self._asides and present.issuperset(map(owner_of, shown)):
            return ()  # the usual case: no long thread need be read
        own = [one for one in (*turn.results, *turn.messages) if one["id"] in present]
        shown = [*shown[: self._spoken_at], *own, *shown[self._spoken_at :]]
        had = merged(history(self._before, user_parts), self._asides)
        place = next((owner_of(one) for one in reversed(had)), None)
        return asides_after(self._asides, shown, history(after, user_parts), old=self._old, place=place, fates=handler.fates, waits=waits)

    def _differs(self, before: Sequence[BaseMessage], after: Sequence[BaseMessage], asides: Sequence[Aside]) -> bool:
        """Whether the client has anything else than the thread: what was there, its own words, what was streamed.

        Args:
            before: the thread's messages before the run.
            after: the thread's messages now.
            asides: what is shown beside them.
        """
        # What an attempt before has told under an id is told again under another one, or not at all: see `agui.gate`.
        if self._adopted or self._rewritten or not starts_with(after, before):
            return True
        assert self._handler is not None
        shown, turn = self._handler.shown.messages(), self._turn
        own = [one["id"] for one in (*turn.results, *turn.messages)]
        if asides or self._asides:
            had = merged(history(before, user_parts), self._asides)
            due = merged(history(after, user_parts), asides)
        else:
            had, due = [], history(after[len(before) :], user_parts)
        mine = slice(len(had), len(had) + len(own))
        return [one["id"] for one in due[mine]] != own or not same([*had, *shown], [*due[: mine.start], *due[mine.stop :]])


def _same_json(one: Any, other: Any) -> bool:
    try:
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # beyond what JSON can hold, so it is not what was sent to the page
        return False


def _failure(pump: asyncio.Task[None]) -> BaseException | None:
    if pump.cancelled():
        return asyncio.CancelledError()  # a node cancelled itself: nobody asked us
    error = pump.exception()
    if isinstance(error, GraphRecursionError):
        words = MiddleCoreError("The agent took too many steps without coming to an end, and was stopped.")
        words.__cause__ = error
        return words
    return error
