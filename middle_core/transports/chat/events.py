"""The events of `/chat`, and how they come out of a run's records: a pure projection, record by record.

A projector that was fed a run's records from the first one on says the same at every record, live, on a replay, on any replica:
so a stream is resumed by feeding it what the client has, and not sending that. `docs/chat.md` has the exact sequences.
It knows no connection; `ChatFrames` makes SSE frames of the events.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from middle_core.errors import ErrorCode
from middle_core.events import Custom, Event, EventType, Outcome, Record
from middle_core.transports.chat.graph import skipped
from middle_core.transports.chat.interrupts import chat_interrupt
from middle_core.transports.chat.reply import ReplyBuilder
from middle_core.transports.chat.response import (
    VERSION,
    ChatInterrupt,
    ChatResponse,
    Millis,
    NodeOutcome,
    NodeRun,
    Status,
    TextPart,
    TurnError,
    Usage,
    Wire,
)
from middle_core.transports.sse.frames import encode_frame

_CONTENT: Final = EventType.TEXT_MESSAGE_CONTENT.value
TAKEN: Final = frozenset({"answered", "approved", "edited", "rejected"})
"""What a question is told to be once a person's answer decided it."""


class _Event(Wire):
    """What every event has. at: of the record that it comes from."""

    type: str
    version: Literal["1"] = VERSION
    run_id: str
    thread_id: str
    at: Millis


class GraphNode(Wire):
    """id: the path of names, joined by ":". parent: the node whose subgraph it lies in."""

    id: str
    label: str
    parent: str | None


class GraphEdge(Wire):
    """conditional: a route that may be taken. label: its name, where the graph gives it one."""

    source: str
    target: str
    conditional: bool
    label: str | None


class GraphTopology(_Event):
    """The graph that runs, as it was compiled. Its entry is `__start__`, its exit `__end__`."""

    type: Literal["graph_topology"] = "graph_topology"
    agent: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]


class NodeStarted(_Event):
    """A node's task began. task_id tells parallel tasks of one node apart."""

    type: Literal["node_started"] = "node_started"
    node: str
    path: list[str]
    task_id: str
    started_at: int


class NodeCompleted(_Event):
    """A node's task ended, or (`skipped`) it is sure now that there will be none."""

    type: Literal["node_completed"] = "node_completed"
    node: str
    path: list[str]
    task_id: str | None
    started_at: int | None
    latency_ms: int
    outcome: NodeOutcome


class Paused(_Event):
    """A person is asked something; the answer goes to `POST /chat/resume`."""

    type: Literal["paused"] = "paused"
    interrupts: list[ChatInterrupt]


class Failure(_Event):
    """The turn failed. It says what `ChatResponse.error` says."""

    type: Literal["error"] = "error"
    code: ErrorCode
    message: str
    correlation_id: str
    retry_after: float | None


class Token(_Event):
    """A piece of a message of the assistant. Only with `?tokens=1`."""

    type: Literal["token"] = "token"
    message_id: str
    delta: str


class TextReplaced(_Event):
    """The run goes on in another attempt. These are all texts of the turn that count; what other tokens said is void. Only with `?tokens=1`."""

    type: Literal["text_replaced"] = "text_replaced"
    parts: list[TextPart]


class TurnCompleted(_Event):
    """The last event of a turn. human_wait_ms: only where the turn took a person's answer: from the durable question to it."""

    type: Literal["turn_completed"] = "turn_completed"
    response: ChatResponse
    human_wait_ms: Annotated[
        int | None,
        Field(exclude_if=lambda value: value is None, json_schema_extra=lambda schema: schema.pop("default")),
        WithJsonSchema({"type": "integer", "minimum": 0, "description": "Absent where the turn took no answer."}),
    ] = None


ChatEvent = Annotated[
    GraphTopology | NodeStarted | NodeCompleted | Paused | Failure | Token | TextReplaced | TurnCompleted, Field(discriminator="type")
]


class ChatProjector:
    """One run's events. `feed` every record, from the first one on. `response` is there after the last.

    tokens: whether there are `token` events.
    """

    def __init__(self, *, tokens: bool = False) -> None:
        self._tokens = tokens
        self._attempt = 1
        self._goes_on = False
        """Another attempt has begun, and the thread as it stands is not told yet."""
        self.response: ChatResponse | None = None
        self._run_id = ""
        self._thread_id = ""
        self._agent = ""
        self._began_at: int | None = None
        self._fresh = True
        self._topology: dict[str, Any] | None = None
        self._open: dict[tuple[str, str], tuple[NodeStarted, int]] = {}
        self._nodes: list[NodeRun] = []
        self._reply = ReplyBuilder()
        self._waits: dict[str, int] = {}
        self._told: set[str] = set()
        self._waiting: list[Event] = []
        self._waits_for_somebody = False
        self._refused: Event | None = None
        self._cut_off: str | None = None
        self._cancelled: str | None = None

    def feed(self, record: Record) -> list[ChatEvent]:
        """The events that this record becomes: none, one, or several."""
        event = record.event
        if record.type == _CONTENT:  # the hot path: a token of text
            self._reply.said(event["messageId"], event["delta"])
            return [self._token(event, record.at)] if self._tokens and self._reply.is_said(event["messageId"]) else []
        if self._began_at is None:
            self._began_at, self._run_id = record.at, record.run_id
        self._reply.feed(event)
        match record.type:
            case EventType.CUSTOM:
                return self._custom(event["name"], event["value"], record.at)
            case EventType.MESSAGES_SNAPSHOT if self._goes_on:
                self._goes_on = False
                return [TextReplaced(**self._head(record.at), parts=self._reply.texts())] if self._tokens else []
            case EventType.TEXT_MESSAGE_START | EventType.TOOL_CALL_START if self._refused and self._refused["by"] == "model":
                self._refused = None  # the agent asked again, and was answered
            case EventType.RUN_STARTED:
                self._thread_id = event["threadId"]
                self._fresh = "parentRunId" not in event
            case EventType.RUN_FINISHED:
                return self._finished(event, record.at)
            case EventType.RUN_ERROR:
                return self._failed(event, record.at)
        return []

    def _token(self, event: Event, at: int) -> Token:
        # Not validated: it costs more than all the rest, thousands of times a second, and the log holds what the gate has checked.
        return Token.model_construct(
            run_id=self._run_id, thread_id=self._thread_id, at=at, message_id=event["messageId"], delta=event["delta"]
        )

    def _head(self, at: int) -> dict[str, Any]:
        return {"run_id": self._run_id, "thread_id": self._thread_id, "at": at}

    # On the way --------------------------------------------------------------------------------------

    def _custom(self, name: str, value: Any, at: int) -> list[ChatEvent]:
        match name:
            case Custom.RUN:
                self._agent = value["agent"]
            case Custom.TOPOLOGY if self._topology is None:
                self._topology = value
                return [self._drawn(value, at)]
            case Custom.NODE_STARTED:
                return self._node_started(value, at)
            case Custom.NODE_COMPLETED:
                return self._node_completed(value, at)
            case Custom.ATTEMPT:
                self._attempt, self._goes_on, self._cut_off = value["attempt"], True, None
                return self._close("cancelled", at)
            case Custom.INTERRUPT_RESOLVED:
                self._resolved(value)
            case Custom.WAITING:
                self._waiting = value["interrupts"]
                self._waits_for_somebody = True
            case Custom.OMITTED if value.get("label") == Custom.WAITING:
                self._waits_for_somebody = True
            case Custom.REFUSED:
                self._refused = self._refused or value
            case Custom.CUT_OFF:
                self._cut_off = value["text"]
            case Custom.RUN_CANCELLED:
                self._cancelled = value["reason"]
        return []

    def _drawn(self, topology: dict[str, Any], at: int) -> GraphTopology:
        return GraphTopology(
            **self._head(at),
            agent=self._agent,
            nodes=[GraphNode(id=one["id"], label=one["name"], parent=one.get("parent")) for one in topology["nodes"]],
            edges=[
                GraphEdge(source=one["source"], target=one["target"], conditional=one["conditional"], label=one.get("label"))
                for one in topology["edges"]
            ],
        )

    def _node_started(self, value: Any, at: int) -> list[ChatEvent]:
        started = NodeStarted(
            **self._head(at), node=value["node"], path=value["path"], task_id=self._task_id(value), started_at=value["startedAt"]
        )
        key = (":".join(started.path), started.task_id)
        again = self._open.pop(key, None)
        self._open[key] = (started, at)
        return [started] if again is None else [self._ended(again[0], max(0, at - again[1]), "cancelled", at), started]

    def _node_completed(self, value: Any, at: int) -> list[ChatEvent]:
        opened = self._open.pop((":".join(value["path"]), self._task_id(value)), None)
        return [] if opened is None else [self._ended(opened[0], value["latencyMs"], value["outcome"], at)]

    def _task_id(self, value: Any) -> str:
        """LangGraph makes a task's id of the checkpoint, so another attempt repeats it. Clients take a task that comes twice for one."""
        task_id: str = value["taskId"]
        return task_id if self._attempt == 1 else f"{task_id}~{self._attempt}"

    def _close(self, outcome: NodeOutcome, at: int) -> list[ChatEvent]:
        """End the nodes whose end the log does not tell, because their process died. The innermost first."""
        ended: list[ChatEvent] = [self._ended(node, max(0, at - since), outcome, at) for node, since in reversed(self._open.values())]
        self._open.clear()
        return ended

    def _ended(self, node: NodeStarted, latency_ms: int, outcome: NodeOutcome, at: int) -> NodeCompleted:
        run = NodeRun(
            node=node.node, path=node.path, task_id=node.task_id, started_at=node.started_at, latency_ms=latency_ms, outcome=outcome
        )
        self._nodes.append(run)
        return NodeCompleted(**self._head(at), **run.model_dump())

    def _resolved(self, value: Any) -> None:
        interrupt_id = value["interruptId"]
        if interrupt_id in self._told:
            return
        self._told.add(interrupt_id)
        if value["status"] in TAKEN and value.get("answerRunId") == self._run_id:
            self._waits[interrupt_id] = max(0, value["answeredAt"] - value["askedAt"])

    # The end -----------------------------------------------------------------------------------------

    def _finished(self, event: Event, at: int) -> list[ChatEvent]:
        outcome = event.get("outcome") or {}
        interrupts = [chat_interrupt(one, at=at) for one in [*outcome.get("interrupts", ()), *self._waiting]]
        if outcome.get("type") == Outcome.CANCELLED:
            return [*self._close("cancelled", at), self._completed("cancelled", at, reason=self._cancelled)]
        events = self._close("ok", at)
        events += self._skipped(at)
        if interrupts or self._waits_for_somebody:
            paused = Paused(**self._head(at), interrupts=interrupts)
            return [*events, paused, self._completed("paused", at, usage=event.get("usage", ()), interrupts=interrupts)]
        status: Status = "completed" if self._refused is None else "refused"
        reason = self._cut_off if self._refused is None else self._refused["reason"]
        return [*events, self._completed(status, at, usage=event.get("usage", ()), reason=reason)]

    def _failed(self, event: Event, at: int) -> list[ChatEvent]:
        error = TurnError(
            code=ErrorCode(event.get("code", ErrorCode.INTERNAL)),
            message=event["message"],
            correlation_id=event.get("correlationId", ""),
            retry_after=event.get("retryAfter"),
        )
        told = Failure(**self._head(at), **error.model_dump())
        return [*self._close("error", at), told, self._completed("failed", at, error=error)]

    def _skipped(self, at: int) -> list[ChatEvent]:
        if self._topology is None:
            return []
        visited = {":".join(one.path) for one in self._nodes}
        waiting = [":".join(one.path) for one in self._nodes if one.outcome == "interrupted"]
        runs = [
            NodeRun(node=one.rpartition(":")[2], path=one.split(":"), task_id=None, started_at=None, latency_ms=0, outcome="skipped")
            for one in skipped(self._topology, visited=visited, waiting=waiting, fresh=self._fresh)
        ]
        self._nodes += runs
        return [NodeCompleted(**self._head(at), **run.model_dump()) for run in runs]

    def _completed(
        self,
        status: Status,
        at: int,
        *,
        usage: Any = (),
        interrupts: list[ChatInterrupt] | None = None,
        error: TurnError | None = None,
        reason: str | None = None,
    ) -> TurnCompleted:
        self.response = ChatResponse(
            thread_id=self._thread_id,
            run_id=self._run_id,
            agent=self._agent,
            status=status,
            reply=self._reply.reply(is_cut_off=self._cut_off is not None),
            interrupts=interrupts or [],
            usage=[_usage(one) for one in usage],
            latency=self._nodes,
            error=error,
            reason=reason,
            duration_ms=max(0, at - (self._began_at or at)),
        )
        waited = max(self._waits.values()) if self._waits else None
        return TurnCompleted(**self._head(at), response=self.response, human_wait_ms=waited)


class ChatFrames:
    """Records to SSE frames, of one run or of runs that follow one another.

    The last frame of a record carries its cursor. after: what the client has of the first run; it is fed and not sent. tokens:
    send `token` events. hold: a pause is not the end, so its `turn_completed` is left out.
    """

    def __init__(self, *, after: int = 0, tokens: bool = False, hold: bool = False) -> None:
        self._after = after
        self._tokens = tokens
        self._hold = hold
        self._run_id = ""
        self._projector = ChatProjector(tokens=tokens)

    def __call__(self, record: Record) -> bytes:
        """The record's frames; b"" where it has none, or the client has them."""
        if record.run_id != self._run_id:
            if self._run_id:
                self._after, self._projector = 0, ChatProjector(tokens=self._tokens)
            self._run_id = record.run_id
        events = self._projector.feed(record)
        if record.seq <= self._after:
            return b""
        if self._hold and record.terminal:
            events = [one for one in events if not (isinstance(one, TurnCompleted) and one.response.status == "paused")]
        frames = [
            encode_frame(one.model_dump_json().encode(), event=one.type, id=record.cursor if one is events[-1] else None) for one in events
        ]
        return b"".join(frames)


def _usage(entry: Event) -> Usage:
    return Usage(
        provider=entry.get("provider"),
        model=entry.get("model"),
        input_tokens=entry.get("inputTokens"),
        output_tokens=entry.get("outputTokens"),
        total_tokens=entry.get("totalTokens"),
        reasoning_tokens=entry.get("reasoningTokens"),
        cached_input_tokens=entry.get("cachedInputTokens"),
    )
