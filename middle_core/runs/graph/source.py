"""One agent's LangGraph graph as a source of AG-UI events: what it is, and what its threads hold.

`runs.graph.graph_run` runs it. It knows no log and no HTTP.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage

from middle_core.agui.fold import REASONING, PartialMessage
from middle_core.agui.jsonable import TooBig, jsonable
from middle_core.contract.outcomes import DONE
from middle_core.errors import MiddleCoreError
from middle_core.events import Event, ThreadId
from middle_core.node_api.outcomes import ToolResult, of_json
from middle_core.runs.graph.asides import Aside, Fates, asides_after, assistant_message, merged, of_ended_nodes, owner_of
from middle_core.runs.graph.callbacks import result_event
from middle_core.runs.graph.cut_calls import Cut, results_of_cut_calls
from middle_core.runs.graph.history import INTERRUPTED, STOPPED, history
from middle_core.runs.graph.introspection import Graph, context_for, input_keys, output_keys, topology
from middle_core.runs.graph.sdk import SdkAgent, to_langchain, user_parts
from middle_core.runs.graph.thread_state import (
    ThreadState,
    ThreadStates,
    added_results,
    completed,
    open_calls,
)
from middle_core.runs.intake.turn import AgentRules, ThreadView

logger = logging.getLogger(__name__)

MAX_STATE: Final = 1_000_000
"""Characters of JSON of the client-visible state."""

_INTERNAL: Final = frozenset({"messages", "tools", "copilotkit", "ag-ui", "__interrupt__"})


class GraphSource:
    """One agent's graph. Holds nothing of any thread or run.

    Args:
        name: the agent's name.
        graph: what runs.
        rules: what browsers may do with it.
        drawn: the graph that is shown to people, where it is another one than `graph`.

    Raises:
        ValueError: the graph cannot be run: no checkpointer, or a context_schema that needs what nobody gives.
    """

    def __init__(self, name: str, graph: Graph, rules: AgentRules, *, drawn: Graph | None = None) -> None:
        if not graph.checkpointer:
            raise ValueError(f"agent {name}: compile the graph with a checkpointer; without one there is no thread.")
        self.name = name
        self.graph = graph
        self.rules = rules
        self.sdk = SdkAgent(name=name, graph=graph)
        self.states = ThreadStates(graph)
        self.input_keys = input_keys(graph)
        self.output_keys = output_keys(graph) - _INTERNAL
        self._topology = topology(drawn or graph)
        self._warnings: set[str] = set()
        context_for(graph.context_schema, {})

    def warn_once(self, words: str) -> None:
        """Log a warning about how this agent is used, the first time only: a page repeats what it does at each turn."""
        if words not in self._warnings:
            self._warnings.add(words)
            logger.warning(words, extra={"agent": self.name})

    def topology(self) -> dict[str, Any]:
        """The compiled graph's nodes and edges: see `graphs.topology`."""
        return self._topology

    async def view(self, thread_id: ThreadId) -> ThreadView:
        """The thread as the client sees it."""
        thread = await self.states.read(thread_id)
        return ThreadView(
            messages=merged(history(thread.messages, user_parts), thread.asides),
            pending_client_calls=open_calls(thread.messages, but=self.rules.server_tools),
            interrupts=thread.interrupts,
            run_id=thread.run_id,
            basis=thread,
        )

    async def state(self, thread_id: ThreadId) -> dict[str, Any]:
        """The client-visible state, without messages and internal keys."""
        return self.visible((await self.states.read(thread_id)).snapshot.values)

    async def settle(self, thread_id: ThreadId, partials: Sequence[PartialMessage], cut: Cut) -> list[Event]:
        """Give the thread what a run has shown and its checkpoint lacks, and leave nothing pending. Idempotent.

        Returns the results of the calls that had none, as events: a client that is not told them shows the calls as running.
        """
        thread = await self.states.finalised(await self.states.read(thread_id))
        if not thread.holds_messages:
            return []
        known = {one.id for one in thread.messages}
        note = STOPPED if cut.stopped else INTERRUPTED
        lacking = [one for partial in partials if partial.message_id not in known for one in _from_partial(partial, note)]
        messages = [*thread.messages, *lacking]
        await self._keep_thoughts(thread, partials)
        calls = [call for one in partials for call in one.calls]
        shown = {call.call_id: ToolResult(call.result, of_json(call.outcome) or DONE) for call in calls if call.result is not None}
        results = results_of_cut_calls(messages, cut, self.rules, incomplete={call.call_id for call in calls if not call.closed})
        valid = completed(messages, {**results, **shown})
        await self.states.write(thread, valid)
        return [result_event(one) for one in added_results(thread.messages, valid) if one.tool_call_id not in shown]

    async def remembered(self, thread_id: ThreadId, events: Sequence[Event]) -> ThreadView:
        """The thread as the client sees it, for the next attempt of a run. What nobody will say again is kept as asides.

        Args:
            thread_id: of the thread.
            events: of the attempts before.
        """
        thread = await self.states.read(thread_id)
        shown, ended = of_ended_nodes(events)
        ids = {owner_of(one) for one in shown}
        whole = history(thread.messages, user_parts)
        place = next((owner_of(one) for one in reversed(merged(whole, thread.asides)) if owner_of(one) not in ids), None)
        old = {str(one.id) for one in thread.messages}
        fates = Fates(drafts=ids - ended)
        asides = asides_after(thread.asides, shown, whole, old=old, place=place, fates=fates, waits=True)
        if asides != thread.asides:
            await self.states.keep(thread_id, asides)
        return await self.view(thread_id)

    async def _keep_thoughts(self, thread: ThreadState, partials: Sequence[PartialMessage]) -> None:
        """Keep the reasoning of a model that was cut off before it said anything: no model takes a message with nothing in it."""
        known = {str(one.id) for one in thread.messages} | {one.message_id for one in thread.asides}
        place = str(thread.messages[-1].id) if thread.messages else None
        asides = list(thread.asides)
        for one in partials:
            if one.message_id not in known and one.reasoning and not one.text and not one.calls:
                thought = {"id": f"{one.message_id}{REASONING}0", "role": "reasoning", "content": one.reasoning}
                asides.append(Aside(one.message_id, place, (thought,)))
            elif one.said is None and not one.text and not one.calls:
                continue
            place = one.message_id
        if len(asides) > len(thread.asides):
            await self.states.keep(thread.thread_id, asides)

    def visible(self, values: Any) -> dict[str, Any]:
        """The keys of a state that a client may see, as JSON."""
        if not isinstance(values, Mapping):
            return {}
        try:
            return cast("dict[str, Any]", jsonable({key: values[key] for key in values if key in self.output_keys}, budget=MAX_STATE))
        except TooBig as error:
            raise MiddleCoreError("The agent's state is too large to be shown.") from error


def _from_partial(partial: PartialMessage, note: str) -> list[BaseMessage]:
    """The message that the thread lacks; none where nothing was said."""
    if partial.said is not None:
        return to_langchain([dict(partial.said)])
    if not partial.text and not partial.calls:
        return []
    calls = [(one.call_id, one.name, one.arguments) for one in partial.calls]
    marks = {} if partial.closed else {STOPPED: note}
    return [assistant_message(partial.message_id, partial.text, calls, reasoning=partial.reasoning, marks=marks)]
