"""A thread's checkpoint: read it, leave nothing pending in it, write its messages.

Knows LangGraph's checkpoints and nothing of the SDK, of runs or of what clients send.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END
from langgraph.types import Interrupt, Overwrite, StateSnapshot

from middle_core.errors import InvalidRequest
from middle_core.events import RunId, ThreadId
from middle_core.node_api.outcomes import ToolResult
from middle_core.runs.graph.asides import Aside, decoded, encoded, taken_over
from middle_core.runs.graph.interrupts import as_interrupt, open_interrupts
from middle_core.runs.graph.introspection import Graph, joins_messages
from middle_core.runs.graph.repair import repair, tool_message
from middle_core.runs.graph.state_writer import WRITER, with_writer
from middle_core.runs.graph.static_pause import pause, pauses_statically

RUN: Final = "middle_core_run"
"""The key of a checkpoint's metadata under which its run stands."""
_COPY: Final = "__copy__"
"""LangGraph's name for an update that repeats the newest checkpoint."""
_ASIDES: Final = "middle_core.asides"
"""The checkpoint namespace in which the asides of a thread are, beside the graph's own. They go with the thread, and only its run writes them."""
_ONLY: Final = str(uuid.UUID(int=0))
"""The id of the one checkpoint in that namespace: writing it again replaces it."""


@dataclass(frozen=True, slots=True)
class ThreadState:
    """The newest checkpoint of a thread.

    Args:
        holds_messages: False where a graph keeps something else, or nothing, under `messages`.
        asides: what the thread has shown beside its messages.
        pause: see `static_pause`.
    """

    thread_id: ThreadId
    snapshot: StateSnapshot
    messages: list[BaseMessage]
    holds_messages: bool
    asides: tuple[Aside, ...] = ()
    pause: Interrupt | None = None

    @property
    def run_id(self) -> str | None:
        """The run whose graph wrote the checkpoint; None where the server itself wrote it last."""
        found = (self.snapshot.metadata or {}).get(RUN)
        return found if isinstance(found, str) else None

    @property
    def interrupts(self) -> list[dict[str, Any]]:
        """What the thread stands at, as AG-UI interrupts. Raises MiddleCoreError for a question too large to be shown."""
        return open_interrupts(self.snapshot.tasks) or ([as_interrupt(self.pause)] if self.pause is not None else [])


class ThreadStates:
    """Reads and writes the checkpoints of one graph. None of it runs a node or a router of the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._writing = with_writer(graph)
        self.pauses = pauses_statically(graph)

    async def read(self, thread_id: ThreadId) -> ThreadState:
        """The thread as it stands. A thread that nobody has written is empty."""
        config = configured(thread_id)
        try:
            snapshot = await self._graph.aget_state(config, subgraphs=self.pauses)
        except InvalidUpdateError:
            # Parallel nodes wrote values that cannot be joined. LangGraph keeps these writes beside the checkpoint and tries to apply
            # them at every read, so the thread could never be used again. A checkpoint named by its id is read without them.
            saver = self._graph.checkpointer
            saved = await saver.aget_tuple(config) if isinstance(saver, BaseCheckpointSaver) else None
            snapshot = await self._graph.aget_state(config if saved is None else saved.config)
        found = snapshot.values.get("messages", []) if isinstance(snapshot.values, Mapping) else None
        ours = "messages" in self._graph.channels and isinstance(found, list) and all(isinstance(one, BaseMessage) for one in found)
        return ThreadState(
            thread_id, snapshot, stored(snapshot.values), ours, await self._asides(thread_id), pause(snapshot) if self.pauses else None
        )

    async def forget_past(self, thread_id: ThreadId) -> None:
        """Drop the checkpoints before the newest. Each holds the whole thread, so together they grow with its square.

        Nothing in this project goes back to an older checkpoint. They are kept where a channel is stored as changes to earlier ones.
        """
        saver = self._graph.checkpointer
        if isinstance(saver, BaseCheckpointSaver) and not any(
            isinstance(channel, DeltaChannel) for channel in self._graph.channels.values()
        ):
            await saver.aprune([thread_id])

    async def finalised(self, thread: ThreadState) -> ThreadState:
        """The thread with nothing pending. What finished tasks wrote beside an unfinished one is kept, and so are pending asides.

        A new input alone would throw these writes away (EvoScientist/EvoScientist#489).
        """
        # Not `next`: it leaves out tasks that have written and are not applied yet. Applying them may route to further tasks, which
        # are pending without any writes then; so the second time ends it, and there is no third.
        for _ in range(2):
            if not thread.snapshot.tasks:
                break
            config = configured(thread.thread_id)
            try:
                await self._graph.aupdate_state(config, None, as_node=END)
            except InvalidUpdateError:  # see `read`: a copy of the checkpoint leaves the writes behind that cannot be joined
                await self._graph.aupdate_state(config, None, as_node=_COPY)
                await self._graph.aupdate_state(config, None, as_node=END)
            thread = await self.read(thread.thread_id)
        if any(one.pending for one in thread.asides):
            messages, left = taken_over(thread.messages, thread.asides)
            if thread.holds_messages:
                await self.write(thread, messages)
                thread = await self.read(thread.thread_id)
            else:
                left = tuple(replace(one, pending=False) for one in thread.asides)
            await self.keep(thread.thread_id, left)
            thread = replace(thread, asides=left)
        return thread

    async def _asides(self, thread_id: ThreadId) -> tuple[Aside, ...]:
        saver = self._graph.checkpointer
        found = await saver.aget_tuple(_asides_config(thread_id)) if isinstance(saver, BaseCheckpointSaver) else None
        return () if found is None else decoded(found.checkpoint["channel_values"]["asides"])

    async def keep(self, thread_id: ThreadId, asides: Sequence[Aside]) -> None:
        """Make these the thread's asides."""
        saver = self._graph.checkpointer
        if not isinstance(saver, BaseCheckpointSaver):
            return
        # A text: LangGraph's Postgres saver writes lists once for each version of a channel, and a text with the checkpoint.
        checkpoint = empty_checkpoint()
        checkpoint["id"] = _ONLY
        checkpoint["channel_values"] = {"asides": encoded(asides)}
        checkpoint["channel_versions"] = {"asides": "1"}
        await saver.aput(_asides_config(thread_id), checkpoint, {"source": "update", "step": 0, "parents": {}}, {"asides": "1"})

    async def write(self, thread: ThreadState, messages: Sequence[BaseMessage]) -> bool:
        """Make these the thread's messages. Returns False where they are already.

        Call it with a thread that is `finalised`: LangGraph drops what is pending when anything is written.
        """
        before = thread.messages
        if len(before) == len(messages) and all(one is other for one, other in zip(before, messages, strict=True)):
            return False
        # `Overwrite` also keeps the reducer from running: a team's own may drop, change or report what it joins.
        value = Overwrite(list(messages)) if joins_messages(self._graph) else list(messages)
        await self._writing.aupdate_state(configured(thread.thread_id), {"messages": value}, as_node=WRITER)
        return True


def configured(thread_id: ThreadId, *, run_id: RunId | None = None) -> RunnableConfig:
    """Only the thread id is configurable: LangGraph copies what stands there into checkpoint metadata.

    Args:
        thread_id: of the thread.
        run_id: of the run whose graph is run with it. It stands in the metadata of each checkpoint that the graph writes. The name
            is not LangGraph's `run_id`, under which LangGraph takes any further input for a repetition and drops it.
    """
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    return config if run_id is None else {**config, "metadata": {RUN: run_id}}


def _asides_config(thread_id: ThreadId) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": _ASIDES}}


def stored(values: Any) -> list[BaseMessage]:
    """The LangChain messages of a graph's state."""
    found = values.get("messages") if isinstance(values, Mapping) else None
    return [one for one in found if isinstance(one, BaseMessage)] if isinstance(found, list) else []


def fitted(
    thread: Sequence[BaseMessage], fresh: Sequence[BaseMessage], *, restart_at: str | None, why: ToolResult
) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """What must stand in the thread, and what the next input brings, so that both together are a valid history.

    Args:
        thread: the thread's messages.
        fresh: the turn's messages.
        restart_at: id of the message from which on the thread is dropped; None keeps all of it.
        why: the result of calls that have none.

    Raises:
        InvalidRequest: a fresh message would replace one that is not the person's own.
    """
    foreign = {one.id for one in thread if not isinstance(one, HumanMessage)}
    if any(one.id in foreign for one in fresh):
        raise InvalidRequest("messages: this id belongs to another message of the conversation. Use a fresh id for each message.")
    end = next((at for at, one in enumerate(thread) if one.id == restart_at), len(thread)) if restart_at is not None else len(thread)
    valid = repair([*thread[:end], *fresh], why=why)
    # A late result moves up to its call and so into the thread; what is left untouched at the end is the input.
    count = 0
    while count < min(len(fresh), len(valid)) and valid[-1 - count] is fresh[-1 - count]:
        count += 1
    return valid[: len(valid) - count], list(fresh[len(fresh) - count :])


def completed(messages: Sequence[BaseMessage], results: Mapping[str, ToolResult]) -> list[BaseMessage]:
    """A valid history of the messages.

    Args:
        messages: of the thread.
        results: for calls that have none, by the calls' ids.
    """
    answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    known = [
        tool_message(results[str(call["id"])], call_id=str(call["id"]), name=str(call["name"]), message_id=f"{call['id']}-result")
        for one in messages
        if isinstance(one, AIMessage)
        for call in (*one.tool_calls, *one.invalid_tool_calls)
        if str(call["id"]) in results and call["id"] not in answered
    ]
    return repair([*messages, *known])


def added_results(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> list[ToolMessage]:
    """The tool messages that are new."""
    known = {one.id for one in before}
    return [one for one in after if isinstance(one, ToolMessage) and one.id not in known]


def open_calls(messages: Sequence[BaseMessage], *, but: Collection[str]) -> frozenset[str]:
    """Ids of the calls in the last assistant message that wait for a result.

    Args:
        messages: of the thread.
        but: names of tools whose calls are somebody else's.
    """
    answered: set[str] = set()
    for one in reversed(messages):
        if isinstance(one, AIMessage):
            return frozenset(str(call["id"]) for call in one.tool_calls if call["id"] not in answered and call["name"] not in but)
        if not isinstance(one, ToolMessage):
            break
        answered.add(one.tool_call_id)
    return frozenset()


def starts_with(messages: Sequence[BaseMessage], beginning: Sequence[BaseMessage]) -> bool:
    """Whether nothing of the beginning has changed."""
    return len(messages) >= len(beginning) and all(_same(one, other) for one, other in zip(beginning, messages, strict=False))


def _same(one: BaseMessage, other: BaseMessage) -> bool:
    return one.id == other.id and one.content == other.content and getattr(one, "tool_calls", None) == getattr(other, "tool_calls", None)
