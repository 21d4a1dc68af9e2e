/**
 * What the server says of an approval, read from JSON that may be anything: the card, and what became of it. Pure.
 *
 * A card's title and facts are the server's; `fromModel` is what the model wrote. The two are never mixed.
 */

import { CARD_STATES, INTERRUPT_STATUSES, type CardState, type InterruptStatus } from "../../contract";
import { readField, type Field } from "./fields";

export interface Fact {
  readonly label: string;
  readonly value: string;
}

export interface Card {
  readonly interruptId: string;
  /** Of the call that waits for the answer. */
  readonly toolCallId: string;
  readonly kind: string;
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly confirm: string;
  readonly cancel: string;
  readonly danger: boolean;
  /** Why it is asked once more: the changes could not be used, or the outcome is unknown. "" the first time. */
  readonly problem: string;
  readonly state: CardState;
  readonly tool: string;
  readonly fromModel: Readonly<Record<string, unknown>>;
  /** Of the arguments in `fromModel` that the person may change. */
  readonly fields: readonly Field[];
  /** Milliseconds since the epoch, by the server's clock. */
  readonly answerBy: number | undefined;
}

/** Where an approval stands, and in words what came of it. */
export interface Verdict {
  readonly status: InterruptStatus;
  /** False where it was tried and refused. */
  readonly ok: boolean | undefined;
  readonly message: string;
  /** The arguments that were approved in place of those on the card. */
  readonly edits?: Readonly<Record<string, unknown>>;
}

/** Undefined where it is no card, or not yet a whole one. */
export function readCard(value: unknown): Card | undefined {
  if (!isRecord(value)) return undefined;
  const { interruptId, title, state } = value;
  if (typeof interruptId !== "string" || interruptId === "" || typeof title !== "string" || title === "") return undefined;
  // The last field that the server writes: without it the arguments are still on their way.
  if (!("answerBy" in value)) return undefined;
  return {
    interruptId,
    toolCallId: text(value.toolCallId),
    kind: text(value.kind),
    title: visible(title),
    facts: Array.isArray(value.facts) ? value.facts.flatMap(readFact) : [],
    confirm: visible(text(value.confirm)) || "Approve",
    cancel: visible(text(value.cancel)) || "Cancel",
    danger: value.danger === true,
    problem: visible(text(value.problem)),
    state: CARD_STATES.find((one) => one === state) ?? "new",
    tool: visible(text(value.tool)),
    fromModel: isRecord(value.fromModel) ? value.fromModel : {},
    fields: Array.isArray(value.fields) ? value.fields.flatMap(readField) : [],
    answerBy: typeof value.answerBy === "number" ? value.answerBy : undefined,
  };
}

/** A verdict as an object, or as the JSON of one; undefined where it says no status (this page's own answer, for one). */
export function readVerdict(value: unknown): Verdict | undefined {
  const read = typeof value === "string" ? parsed(value) : value;
  if (!isRecord(read)) return undefined;
  const status = INTERRUPT_STATUSES.find((one) => one === read.status);
  if (status === undefined) return undefined;
  const verdict = { status, ok: typeof read.ok === "boolean" ? read.ok : undefined, message: visible(text(read.message)) };
  return isRecord(read.edits) ? { ...verdict, edits: read.edits } : verdict;
}

const ON_THE_WAY: ReadonlySet<InterruptStatus> = new Set<InterruptStatus>(["pending", "answered", "approved", "edited", "executing"]);

/** The one of two that is further on: an end is never taken back by a word that comes late. */
export function newest(a: Verdict | undefined, b: Verdict | undefined): Verdict | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (ON_THE_WAY.has(a.status) !== ON_THE_WAY.has(b.status)) return ON_THE_WAY.has(a.status) ? b : a;
  return b;
}

/** Text of which a person sees all: without control characters and those that turn the text around or hide it. */
export function visible(value: string): string {
  return value.replaceAll(/\r\n?/g, "\n").replaceAll(/[^\n\t\u200c\u200d\P{C}]/gu, "");
}

/** Any value of the model's as text. */
export function asText(value: unknown): string {
  return visible(typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

export function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined; // Not (yet) JSON: it says nothing.
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readFact(value: unknown): Fact[] {
  if (!isRecord(value) || typeof value.label !== "string") return [];
  const shown = typeof value.value === "number" ? value.value.toLocaleString("en") : asText(value.value ?? "");
  return [{ label: visible(value.label), value: shown }];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
