"""The value of each CUSTOM event of ours. Which events there are, and when they are sent, is in docs/http-api.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from typing_extensions import TypeAliasType

from middle_core.contract.messages import CutOffReason
from middle_core.contract.wire import Absent, Camel
from middle_core.eventlog.interrupts import InterruptStatus
from middle_core.events import Custom

NodeOutcome = TypeAliasType("NodeOutcome", Literal["ok", "error", "interrupted", "cancelled"])
ReattachReason = TypeAliasType("ReattachReason", Literal["drain", "max_age", "token_expired"])
RefusedBy = TypeAliasType("RefusedBy", Literal["node", "model", "server"])


class RunValue(Camel):
    """run_id: ours. thread_id: the client's."""

    run_id: str
    thread_id: str
    agent: str
    attempt: int


class TurnValue(Camel):
    """messages: the user messages that the run took in, as AG-UI messages."""

    messages: list[dict[str, Any]]


class TopologyNode(Camel):
    """id: the path of names from the outermost graph, joined by ":". parent: of a node in a subgraph."""

    id: str
    name: str
    parent: Absent[str] = None


class TopologyEdge(Camel):
    """conditional: a route that may be taken. label: its name, where the graph gives it one."""

    source: str
    target: str
    conditional: bool
    label: Absent[str] = None


class TopologyValue(Camel):
    """The compiled graph."""

    nodes: list[TopologyNode]
    edges: list[TopologyEdge]


class NodeStartedValue(Camel):
    """path: the names from the outermost graph inwards. started_at: milliseconds since the epoch."""

    node: str
    path: list[str]
    task_id: str
    started_at: int


class NodeCompletedValue(NodeStartedValue):
    """The same, and how it ended."""

    latency_ms: int
    outcome: NodeOutcome


class AttemptValue(Camel):
    """Another attempt goes on with the run. What stands behind discard_after_seq is replaced."""

    attempt: int
    reason: str
    discard_after_seq: int


class GapValue(Camel):
    """These places of the log were folded into one."""

    from_seq: int
    to_seq: int


class RunCancelledValue(Camel):
    """by: who, in one word. reason: for people."""

    by: str
    reason: str


class ReattachValue(Camel):
    """The stream closes, and the run goes on."""

    reason: ReattachReason
    retry_after_ms: int


class InterruptResolvedValue(Camel):
    """Where a question stands now. tool_call_id: empty for a graph's own question. Times are milliseconds since the epoch."""

    interrupt_id: str
    tool_call_id: str
    status: InterruptStatus
    message: str
    asked_at: int
    answered_at: int | None
    answer_run_id: str | None
    edits: Absent[dict[str, Any]] = None


class WaitingValue(Camel):
    """interrupts: what the run leaves open, as AG-UI interrupts, where its RUN_FINISHED does not tell."""

    interrupts: list[dict[str, Any]]


class RefusedValue(Camel):
    """The turn declines what it was asked. reason: for people."""

    by: RefusedBy
    reason: str


class CutOffValue(Camel):
    """An answer is not whole, or there is none. message_id: of the message that ends there. text: the reason for people."""

    message_id: str
    reason: CutOffReason
    text: str


class ChunkValue(Camel):
    """A typed piece of data of the agent's."""

    type: str
    data: Any


class StateIgnoredValue(Camel):
    """The client wrote a key of the graph's state that it may not write, and it was left as it was. message: for developers."""

    key: str
    message: str


class OmittedValue(Camel):
    """An event that was too large stood here. type: its type. label: its name, where it was a CUSTOM event."""

    type: str
    label: str | None
    max_bytes: int


class ProgressValue(Camel):
    """How far something is. fraction: from 0 to 1; null where it is not known. tool_call_id: null for the run as a whole."""

    label: str
    fraction: float | None
    tool_call_id: str | None


VALUES: Final[Mapping[Custom, type[Camel]]] = MappingProxyType(
    {
        Custom.RUN: RunValue,
        Custom.TURN: TurnValue,
        Custom.TOPOLOGY: TopologyValue,
        Custom.NODE_STARTED: NodeStartedValue,
        Custom.NODE_COMPLETED: NodeCompletedValue,
        Custom.ATTEMPT: AttemptValue,
        Custom.GAP: GapValue,
        Custom.RUN_CANCELLED: RunCancelledValue,
        Custom.REATTACH: ReattachValue,
        Custom.INTERRUPT_RESOLVED: InterruptResolvedValue,
        Custom.WAITING: WaitingValue,
        Custom.REFUSED: RefusedValue,
        Custom.CUT_OFF: CutOffValue,
        Custom.CHUNK: ChunkValue,
        Custom.STATE_IGNORED: StateIgnoredValue,
        Custom.OMITTED: OmittedValue,
        Custom.PROGRESS: ProgressValue,
    }
)
"""The model of each value."""
