/**
 * What the message list shows, made from the agent's messages. Pure.
 *
 * The agent changes its message objects in place, so rows are copies; a row that did not change is the same
 * object as before, which is what keeps a long conversation cheap to render.
 */

import type { Message, ToolCall, ToolMessage } from "@ag-ui/core";
import { readAsked, type Asked } from "../approvals/question";
import { CUT_OFF_REASONS, QUESTION_ACTIVITY, type CallOutcome, type CutOffReason } from "../../contract";
import { outcomeOf, sameOutcome } from "../tools/outcome";

export interface ToolRow {
  readonly call: ToolCall;
  readonly result: ToolMessage | undefined;
  /** What became of it; undefined where it has no result. */
  readonly outcome: CallOutcome | undefined;
}

export type Row =
  | { readonly kind: "user"; readonly id: string; readonly text: string; readonly waiting: boolean }
  | { readonly kind: "reasoning"; readonly id: string; readonly text: string; readonly streaming: boolean }
  /** A question of the graph that is over; `text` is all that it says. */
  | { readonly kind: "asked"; readonly id: string; readonly text: string; readonly asked: Asked }
  | {
      readonly kind: "assistant";
      readonly id: string;
      readonly text: string;
      readonly tools: readonly ToolRow[];
      readonly streaming: boolean;
      readonly stopped: boolean;
      /** It was cut short and nobody stopped it: the run failed, or its server went away. */
      readonly interrupted: boolean;
      /** The model did not end its answer. */
      readonly cutOff: CutOffReason | undefined;
    };

export interface RowInput {
  readonly messages: readonly Message[];
  /** A user message that was sent and is not yet among the messages. */
  readonly outgoing?: { readonly id: string; readonly text: string } | undefined;
  readonly running: boolean;
  /** Ids of messages whose run was stopped while this page looked on. */
  readonly stopped: ReadonlySet<string>;
}

/** Builds the rows, reusing those of `previous` that say the same. */
export function buildRows({ messages, outgoing, running, stopped }: RowInput, previous: readonly Row[] = []): readonly Row[] {
  const results = new Map<string, ToolMessage>();
  for (const message of messages) if (message.role === "tool") results.set(message.toolCallId, message);
  const before = new Map(previous.map((row) => [row.id, row]));
  const last = messages.at(-1);
  const rows: Row[] = [];
  const seen = new Set<string>();
  const add = (row: Row): void => {
    if (seen.has(row.id)) return;
    seen.add(row.id);
    const old = before.get(row.id);
    rows.push(old !== undefined && sameRow(old, row) ? old : row);
  };
  for (const message of messages) {
    const streaming = running && message === last;
    if (message.role === "user") {
      add({ kind: "user", id: message.id, text: textOf(message.content), waiting: false });
    } else if (message.role === "reasoning") {
      add({ kind: "reasoning", id: message.id, text: message.content, streaming });
    } else if (message.role === "activity") {
      const asked = message.activityType === QUESTION_ACTIVITY ? readAsked(message.content) : undefined;
      if (asked !== undefined) add({ kind: "asked", id: message.id, text: [asked.question.words, asked.status, asked.answer ?? ""].join("\n"), asked });
    } else if (message.role === "assistant") {
      const text = message.content ?? "";
      const tools = (message.toolCalls ?? []).map((call) => toolRow(call, results.get(call.id)));
      const isStopped = stopped.has(message.id) || marked(message, "stopped");
      const cutOff = cutOffOf(message);
      if (text === "" && tools.length === 0 && !isStopped && cutOff === undefined) continue;
      add({ kind: "assistant", id: message.id, text, tools, streaming, stopped: isStopped, interrupted: marked(message, "interrupted"), cutOff });
    }
  }
  if (outgoing !== undefined) add({ kind: "user", id: outgoing.id, text: outgoing.text, waiting: true });
  const same = rows.length === previous.length && rows.every((row, index) => row === previous[index]);
  return same ? previous : rows;
}

/** The server marks a partial answer in the message's metadata: `stopped`, and `interrupted` too where nobody stopped it. */
export function marked(message: object, mark: "stopped" | "interrupted"): boolean {
  const metadata = "metadata" in message ? message.metadata : undefined;
  return typeof metadata === "object" && metadata !== null && (metadata as Record<string, unknown>)[mark] === true;
}

function cutOffOf(message: object): CutOffReason | undefined {
  const metadata = "metadata" in message ? message.metadata : undefined;
  const told = typeof metadata === "object" && metadata !== null && "cutOff" in metadata ? metadata.cutOff : undefined;
  return CUT_OFF_REASONS.find((reason) => reason === told);
}

/** How much a person can read: used to tell when a replay has caught up with what was on the screen. */
export function weightOf(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + 1 + row.text.length + (row.kind === "assistant" ? row.tools.length : 0), 0);
}

/** The message whose answer a stop cuts: the last one of the assistant after the last of the user. */
export function openAnswer(rows: readonly Row[]): string | undefined {
  const last = rows.findLast((row) => row.kind !== "reasoning" && row.kind !== "asked");
  return last?.kind === "assistant" ? last.id : undefined;
}

function toolRow(call: ToolCall, result: ToolMessage | undefined): ToolRow {
  return {
    call: { id: call.id, type: call.type, function: { name: call.function.name, arguments: call.function.arguments } },
    result:
      result === undefined
        ? undefined
        : {
            id: result.id,
            role: "tool",
            toolCallId: result.toolCallId,
            content: result.content,
            ...(result.error === undefined ? {} : { error: result.error }),
          },
    outcome: result === undefined ? undefined : outcomeOf(result),
  };
}

function sameRow(a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.text !== b.text) return false;
  if (a.kind === "user") return b.kind === "user" && a.waiting === b.waiting;
  if (a.kind === "reasoning") return b.kind === "reasoning" && a.streaming === b.streaming;
  if (a.kind === "asked") return b.kind === "asked";
  if (b.kind !== "assistant" || a.streaming !== b.streaming || a.stopped !== b.stopped || a.interrupted !== b.interrupted || a.cutOff !== b.cutOff) return false;
  if (a.tools.length !== b.tools.length) return false;
  return a.tools.every((tool, index) => {
    const other = b.tools[index];
    return (
      tool.call.id === other?.call.id &&
      tool.call.function.name === other.call.function.name &&
      tool.call.function.arguments === other.call.function.arguments &&
      tool.result?.content === other.result?.content &&
      tool.result?.error === other.result?.error &&
      sameOutcome(tool.outcome, other.outcome)
    );
  });
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) =>
      typeof part === "object" && part !== null && "text" in part && typeof part.text === "string" ? part.text : "",
    )
    .filter(Boolean)
    .join("\n");
}
