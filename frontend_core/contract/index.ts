// Written by `make contract` from middle_core/contract. Change the models there, not this file.

export const CARD_TOOL = "approve_action";
export const MARK = "middleCore";
export const REVIEW = "middleCoreReview";
export const OUTCOME = "middleCoreOutcome";
export const QUESTION_ACTIVITY = "middle_core.question";

export const CARD_STATES = ["new", "invalid", "unknown"] as const;
export type CardState = (typeof CARD_STATES)[number];

export const CUT_OFF_REASONS = ["length", "context", "filtered", "paused", "failed", "empty"] as const;
export type CutOffReason = (typeof CUT_OFF_REASONS)[number];

export const DECISIONS = ["approve", "edit", "reject", "respond"] as const;
export type Decision = (typeof DECISIONS)[number];

/** Every `code` that an answer or RUN_ERROR may carry. Clients decide by it, so none is ever renamed. */
export const ERROR_CODES = ["unauthorized", "forbidden", "not_found", "thread_busy", "invalid_request", "too_large", "rate_limited", "interrupt_unknown", "model_rate_limited", "model_unavailable", "model_context_too_long", "model_bad_request", "model_stream_cut", "backend_unavailable", "run_lost", "draining", "internal"] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];
export const ERROR_CODE = { UNAUTHORIZED: "unauthorized", FORBIDDEN: "forbidden", NOT_FOUND: "not_found", THREAD_BUSY: "thread_busy", INVALID_REQUEST: "invalid_request", TOO_LARGE: "too_large", RATE_LIMITED: "rate_limited", INTERRUPT_UNKNOWN: "interrupt_unknown", MODEL_RATE_LIMITED: "model_rate_limited", MODEL_UNAVAILABLE: "model_unavailable", MODEL_CONTEXT_TOO_LONG: "model_context_too_long", MODEL_BAD_REQUEST: "model_bad_request", MODEL_STREAM_CUT: "model_stream_cut", BACKEND_UNAVAILABLE: "backend_unavailable", RUN_LOST: "run_lost", DRAINING: "draining", INTERNAL: "internal" } as const;

export const FIELD_KINDS = ["text", "number", "integer", "boolean", "choice", "list"] as const;
export type FieldKind = (typeof FIELD_KINDS)[number];

/** Where a question stands. The legal moves are in `eventlog.lifecycle`. */
export const INTERRUPT_STATUSES = ["pending", "answered", "approved", "edited", "rejected", "withdrawn", "expired", "executing", "executed", "indeterminate"] as const;
export type InterruptStatus = (typeof INTERRUPT_STATUSES)[number];

export const NODE_OUTCOMES = ["ok", "error", "interrupted", "cancelled"] as const;
export type NodeOutcome = (typeof NODE_OUTCOMES)[number];

/** Why a call is not done. Where an error of the server's is the reason, its `ErrorCode` stands in place of one of these. */
export const OUTCOME_CODES = ["tool_error", "rejected", "nobody_to_ask", "length", "broken_off", "too_many_calls", "unknown_tool", "invalid_arguments", "unanswered", "withdrawn", "expired", "changed", "stopped", "cut_off"] as const;
export type OutcomeCode = (typeof OUTCOME_CODES)[number];
export const OUTCOME_CODE = { TOOL_ERROR: "tool_error", REJECTED: "rejected", NOBODY_TO_ASK: "nobody_to_ask", LENGTH: "length", BROKEN_OFF: "broken_off", TOO_MANY_CALLS: "too_many_calls", UNKNOWN_TOOL: "unknown_tool", INVALID_ARGUMENTS: "invalid_arguments", UNANSWERED: "unanswered", WITHDRAWN: "withdrawn", EXPIRED: "expired", CHANGED: "changed", STOPPED: "stopped", CUT_OFF: "cut_off" } as const;

export const REATTACH_REASONS = ["drain", "max_age", "token_expired"] as const;
export type ReattachReason = (typeof REATTACH_REASONS)[number];
export const REATTACH_REASON = { DRAIN: "drain", MAX_AGE: "max_age", TOKEN_EXPIRED: "token_expired" } as const;

export const REFUSED_BY = ["node", "model", "server"] as const;
export type RefusedBy = (typeof REFUSED_BY)[number];

/** Where a run stands. The legal moves are in `eventlog.lifecycle`. */
export const RUN_STATUSES = ["running", "finished", "interrupted", "cancelled", "failed"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** What became of a tool call. */
export const TOOL_OUTCOMES = ["done", "failed", "refused", "not_run", "cancelled", "unknown"] as const;
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number];
export const TOOL_OUTCOME = { DONE: "done", FAILED: "failed", REFUSED: "refused", NOT_RUN: "not_run", CANCELLED: "cancelled", UNKNOWN: "unknown" } as const;

/** What is to be decided, under `REVIEW`. The answer is `{"decisions": [...]}`, one for each action, in their order. */
export interface ActionReview {
  readonly actions: readonly ReviewedAction[];
}

/** default: whether requests that name no agent go to it. */
export interface AgentInfo {
  readonly name: string;
  readonly description: string;
  readonly default: boolean;
}

/** Another attempt goes on with the run. What stands behind discard_after_seq is replaced. */
export interface AttemptValue {
  readonly attempt: number;
  readonly reason: string;
  readonly discardAfterSeq: number;
}

/** code: null where it is done. message: for people; empty where there is nothing to say. */
export interface CallOutcome {
  readonly outcome: ToolOutcome;
  readonly code: OutcomeCode | ErrorCode | null;
  readonly message: string;
}

/** What a client may count on. */
export interface Capabilities {
  readonly resume: boolean;
  readonly stop: boolean;
  readonly threads: boolean;
  readonly interrupts: boolean;
}

/**
 * What a person is asked to approve.
 *
 * facts are the system's, from_model is what the model wrote. state: `invalid` and `unknown` ask once more, and `problem` says why.
 * answer_by: null where there is no limit. Times are milliseconds since the epoch.
 */
export interface Card {
  readonly interruptId: string;
  readonly toolCallId: string;
  readonly tool: string;
  readonly kind: string;
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly fromModel: Readonly<Record<string, unknown>>;
  readonly confirm: string;
  readonly cancel: string;
  readonly danger: boolean;
  readonly editable: readonly string[];
  readonly fields: readonly EditableField[];
  readonly state: CardState;
  readonly problem?: string;
  readonly askedAt: number;
  readonly answerBy: number | null;
}

/** A typed piece of data of the agent's. */
export interface ChunkValue {
  readonly type: string;
  readonly data: unknown;
}

/** An answer is not whole, or there is none. message_id: of the message that ends there. text: the reason for people. */
export interface CutOffValue {
  readonly messageId: string;
  readonly reason: CutOffReason;
  readonly text: string;
}

/** A card that is over, in `metadata` of the guarded call's result, under `MARK`. */
export interface DecidedCard {
  readonly approved: boolean;
  readonly status: InterruptStatus;
  readonly answeredAt: number | null;
  readonly ok: boolean | null;
  readonly message: string;
  readonly edits?: Readonly<Record<string, unknown>>;
  readonly interruptId: string;
  readonly toolCallId: string;
  readonly tool: string;
  readonly kind: string;
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly fromModel: Readonly<Record<string, unknown>>;
  readonly confirm: string;
  readonly cancel: string;
  readonly danger: boolean;
  readonly editable: readonly string[];
  readonly fields: readonly EditableField[];
  readonly state: CardState;
  readonly problem?: string;
  readonly askedAt: number;
  readonly answerBy: number | null;
}

/** An argument that the person may change, and what a form needs to ask for it. options: of a choice. */
export interface EditableField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly nullable: boolean;
  readonly options?: readonly (string | number | boolean)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly itemMaxLength?: number;
}

/** A line of the card, looked up by the system. value: any JSON. */
export interface Fact {
  readonly label: string;
  readonly value: unknown;
}

/** These places of the log were folded into one. */
export interface GapValue {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** model: the name of the default model, for people. */
export interface Info {
  readonly version: string;
  readonly agents: readonly AgentInfo[];
  readonly model: string;
  readonly capabilities: Capabilities;
}

/** Where a question stands now. tool_call_id: empty for a graph's own question. Times are milliseconds since the epoch. */
export interface InterruptResolvedValue {
  readonly interruptId: string;
  readonly toolCallId: string;
  readonly status: InterruptStatus;
  readonly message: string;
  readonly askedAt: number;
  readonly answeredAt: number | null;
  readonly answerRunId: string | null;
  readonly edits?: Readonly<Record<string, unknown>>;
}

/**
 * stopped: an answer that was cut short. interrupted: and nobody stopped it; the run failed, or its server went away.
 * cut_off: an answer that the model itself, or its provider, did not end; see `CutOffReason`.
 *
 * The other two stand at a tool call's result: what became of the call, and the card of an approval that is over.
 */
export interface MessageMetadata {
  readonly stopped?: true;
  readonly interrupted?: true;
  readonly cutOff?: CutOffReason;
  readonly middleCoreOutcome?: CallOutcome;
  readonly middleCore?: DecidedCard;
}

/** The same, and how it ended. */
export interface NodeCompletedValue {
  readonly node: string;
  readonly path: readonly string[];
  readonly taskId: string;
  readonly startedAt: number;
  readonly latencyMs: number;
  readonly outcome: NodeOutcome;
}

/** path: the names from the outermost graph inwards. started_at: milliseconds since the epoch. */
export interface NodeStartedValue {
  readonly node: string;
  readonly path: readonly string[];
  readonly taskId: string;
  readonly startedAt: number;
}

/** An event that was too large stood here. type: its type. label: its name, where it was a CUSTOM event. */
export interface OmittedValue {
  readonly type: string;
  readonly label: string | null;
  readonly maxBytes: number;
}

/**
 * title and detail are for people, correlation_id is for the log. retry_after: seconds, where a retry makes sense then.
 *
 * RUN_ERROR says the same of an error in a stream: `code`, `message` (the detail), `correlationId` and `retryAfter`.
 */
export interface Problem {
  readonly type: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly title: string;
  readonly detail: string;
  readonly correlation_id: string;
  readonly retry_after?: number;
}

/** How far something is. fraction: from 0 to 1; null where it is not known. tool_call_id: null for the run as a whole. */
export interface ProgressValue {
  readonly label: string;
  readonly fraction: number | null;
  readonly toolCallId: string | null;
}

/** A graph's own question that is over: the content of an activity of type `QUESTION_ACTIVITY`. answer: where one was given. */
export interface QuestionOver {
  readonly interruptId: string;
  readonly status: InterruptStatus;
  readonly question: unknown;
  readonly answer?: unknown;
}

/** The stream closes, and the run goes on. */
export interface ReattachValue {
  readonly reason: ReattachReason;
  readonly retryAfterMs: number;
}

/** The turn declines what it was asked. reason: for people. */
export interface RefusedValue {
  readonly by: RefusedBy;
  readonly reason: string;
}

/** A tool call that waits for a decision. respond: a person answers in the tool's place. */
export interface ReviewedAction {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
  readonly allowed: readonly Decision[];
}

/** by: who, in one word. reason: for people. */
export interface RunCancelledValue {
  readonly by: string;
  readonly reason: string;
}

/** A run of the thread. `run_id` is ours, `client_run_id` is what the client called it. */
export interface RunItem {
  readonly runId: string;
  readonly clientRunId: string;
  readonly status: RunStatus;
  readonly errorCode: ErrorCode | null;
  readonly startedAt: number;
  readonly finishedAt: number | null;
}

/** run_id: ours. thread_id: the client's. */
export interface RunValue {
  readonly runId: string;
  readonly threadId: string;
  readonly agent: string;
  readonly attempt: number;
}

/** The client wrote a key of the graph's state that it may not write, and it was left as it was. message: for developers. */
export interface StateIgnoredValue {
  readonly key: string;
  readonly message: string;
}

/** One thread with its active and its last run. */
export interface ThreadDetail {
  readonly threadId: string;
  readonly title: string;
  readonly agent: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly running: boolean;
  readonly activeRun: RunItem | null;
  readonly lastRun: RunItem | null;
}

/** A row of the list. `running`: whether a run is active in it. */
export interface ThreadItem {
  readonly threadId: string;
  readonly title: string;
  readonly agent: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly running: boolean;
}

/** Newest first. `next` is passed back as `cursor`; null on the last page. */
export interface ThreadPage {
  readonly threads: readonly ThreadItem[];
  readonly next: string | null;
}

/** conditional: a route that may be taken. label: its name, where the graph gives it one. */
export interface TopologyEdge {
  readonly source: string;
  readonly target: string;
  readonly conditional: boolean;
  readonly label?: string;
}

/** id: the path of names from the outermost graph, joined by ":". parent: of a node in a subgraph. */
export interface TopologyNode {
  readonly id: string;
  readonly name: string;
  readonly parent?: string;
}

/** The compiled graph. */
export interface TopologyValue {
  readonly nodes: readonly TopologyNode[];
  readonly edges: readonly TopologyEdge[];
}

/** messages: the user messages that the run took in, as AG-UI messages. */
export interface TurnValue {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
}

/**
 * What was decided. ok: whether it took effect; null where that is unknown, or nothing was done yet. message: for people.
 *
 * edits: the arguments that were approved in place of those on the card.
 */
export interface Verdict {
  readonly approved: boolean;
  readonly status: InterruptStatus;
  readonly answeredAt: number | null;
  readonly ok: boolean | null;
  readonly message: string;
  readonly edits?: Readonly<Record<string, unknown>>;
}

/** interrupts: what the run leaves open, as AG-UI interrupts, where its RUN_FINISHED does not tell. */
export interface WaitingValue {
  readonly interrupts: readonly Readonly<Record<string, unknown>>[];
}

/** Our CUSTOM events. */
export const CUSTOM = {
  RUN: "middle_core.run",
  TURN: "middle_core.turn",
  TOPOLOGY: "middle_core.topology",
  NODE_STARTED: "middle_core.node_started",
  NODE_COMPLETED: "middle_core.node_completed",
  ATTEMPT: "middle_core.attempt",
  GAP: "middle_core.gap",
  RUN_CANCELLED: "middle_core.run_cancelled",
  REATTACH: "middle_core.reattach",
  INTERRUPT_RESOLVED: "middle_core.interrupt_resolved",
  WAITING: "middle_core.waiting",
  REFUSED: "middle_core.refused",
  STATE_IGNORED: "middle_core.state_ignored",
  CUT_OFF: "middle_core.cut_off",
  CHUNK: "middle_core.chunk",
  OMITTED: "middle_core.omitted",
  PROGRESS: "middle_core.progress",
} as const;

/** The value of each. */
export interface CustomValues {
  readonly "middle_core.run": RunValue;
  readonly "middle_core.turn": TurnValue;
  readonly "middle_core.topology": TopologyValue;
  readonly "middle_core.node_started": NodeStartedValue;
  readonly "middle_core.node_completed": NodeCompletedValue;
  readonly "middle_core.attempt": AttemptValue;
  readonly "middle_core.gap": GapValue;
  readonly "middle_core.run_cancelled": RunCancelledValue;
  readonly "middle_core.reattach": ReattachValue;
  readonly "middle_core.interrupt_resolved": InterruptResolvedValue;
  readonly "middle_core.waiting": WaitingValue;
  readonly "middle_core.refused": RefusedValue;
  readonly "middle_core.state_ignored": StateIgnoredValue;
  readonly "middle_core.cut_off": CutOffValue;
  readonly "middle_core.chunk": ChunkValue;
  readonly "middle_core.omitted": OmittedValue;
  readonly "middle_core.progress": ProgressValue;
}

export type CustomName = keyof CustomValues;
