/**
 * A graph's own question, read from whatever it gave `interrupt()`: words, choices, and what is left as data; and how a
 * person's answer becomes the value that the graph gets. Pure.
 *
 *     interrupt("What colour?")                                    a text
 *     interrupt({"question": "How many?", "options": [0, 1, 2]})   one of these values, exactly
 *     interrupt({"question": "Go on?", "draft": {...}})            a text, with the data shown
 *
 * A `responseSchema` says what is wanted: boolean, enum, number, integer, object or array; else a text.
 */

import { INTERRUPT_STATUSES, type InterruptStatus } from "../../contract";
import { asText, isRecord, parsed, visible } from "./approval";

export interface Choice {
  readonly label: string;
  readonly value: unknown;
}

export type Wanted = "text" | "number" | "integer" | "json";

export interface Question {
  readonly words: string;
  /** What else the graph gave, as JSON; "" for nothing. */
  readonly data: string;
  readonly choices: readonly Choice[];
  /** Where there are no choices. */
  readonly wanted: Wanted;
}

/** A question that is over. */
export interface Asked {
  readonly interruptId: string;
  readonly status: InterruptStatus;
  readonly question: Question;
  /** In words; undefined where there was none. */
  readonly answer: string | undefined;
}

const WORDS = ["question", "message", "prompt", "title", "text", "description"] as const;
const CHOICES = ["options", "choices"] as const;
const NOT_SHOWN: ReadonlySet<string> = new Set(["responseSchema", "response_schema", "reason"]);
const NO_WORDS = "The assistant asks for an answer.";

export function readQuestion(raw: unknown, schema?: unknown): Question {
  const given = isRecord(raw) ? raw : typeof raw === "string" ? { question: raw } : { data: raw };
  const wish = schema ?? given.responseSchema ?? given.response_schema;
  const wordsKey = WORDS.find((key) => typeof given[key] === "string" && given[key].trim() !== "");
  const choicesKey = CHOICES.find((key) => Array.isArray(given[key]) && given[key].length > 0);
  const offered = choicesKey === undefined ? undefined : choicesOf(given[choicesKey]);
  const rest = Object.entries(given).filter(([key]) => key !== wordsKey && !(key === choicesKey && offered !== undefined) && !NOT_SHOWN.has(key));
  return {
    words: wordsKey === undefined ? NO_WORDS : visible(String(given[wordsKey])),
    data: isRecord(raw) ? (rest.length === 0 ? "" : asText(Object.fromEntries(rest))) : typeof raw === "string" || raw === undefined ? "" : asText(raw),
    choices: offered ?? choicesBy(wish),
    wanted: wantedBy(wish),
  };
}

/** The content of the activity message that a question leaves behind. */
export function readAsked(content: unknown): Asked | undefined {
  if (!isRecord(content) || typeof content.interruptId !== "string") return undefined;
  const status = INTERRUPT_STATUSES.find((one) => one === content.status);
  if (status === undefined) return undefined;
  const question = readQuestion(content.question);
  const answered = status === "answered" && "answer" in content;
  return { interruptId: content.interruptId, status, question, answer: answered ? answerLabel(question, content.answer) : undefined };
}

/** The value that the graph gets for what a person typed, or why it cannot be sent. */
export function valueOfTyped(wanted: Wanted, typed: string): { readonly value: unknown } | { readonly problem: string } {
  const trimmed = typed.trim();
  if (trimmed === "") return { problem: "Type an answer." };
  switch (wanted) {
    case "text":
      return { value: trimmed };
    case "number":
    case "integer": {
      const number = Number(trimmed);
      if (!Number.isFinite(number)) return { problem: "A number is needed." };
      return wanted === "integer" && !Number.isSafeInteger(number) ? { problem: "A whole number is needed." } : { value: number };
    }
    case "json": {
      const value = parsed(trimmed);
      return value === undefined ? { problem: "This is not JSON." } : { value };
    }
  }
}

function answerLabel({ choices }: Question, answer: unknown): string {
  const chosen = choices.find(({ value }) => JSON.stringify(value) === JSON.stringify(answer));
  return chosen?.label ?? labelFor(answer);
}

function labelFor(value: unknown): string {
  if (value === "") return "(empty)";
  if (value === null || value === undefined) return "(nothing)";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return asText(value);
}

/** Undefined where it is no list of choices: then it is data. */
function choicesOf(offered: unknown): readonly Choice[] | undefined {
  if (!Array.isArray(offered)) return undefined;
  const read = offered.map((one: unknown): Choice | undefined => {
    if (!isRecord(one)) return Array.isArray(one) ? undefined : { label: labelFor(one), value: one };
    if (!("value" in one)) return undefined;
    return { label: typeof one.label === "string" && one.label.trim() !== "" ? visible(one.label) : labelFor(one.value), value: one.value };
  });
  return read.every((one) => one !== undefined) ? read : undefined;
}

function choicesBy(schema: unknown): readonly Choice[] {
  if (!isRecord(schema)) return [];
  if (schema.type === "boolean") return choicesOf([true, false]) ?? [];
  return choicesOf(schema.enum) ?? [];
}

function wantedBy(schema: unknown): Wanted {
  const type = isRecord(schema) ? schema.type : undefined;
  if (type === "number" || type === "integer") return type;
  return type === "object" || type === "array" ? "json" : "text";
}
