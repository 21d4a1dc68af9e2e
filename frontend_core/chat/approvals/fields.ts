/**
 * The arguments that a person may change on a card: what each field holds while it is changed, why it cannot be sent,
 * and what is sent. Pure. The server decides by the tool's own schema; this only saves a round.
 */

import { changesOf as changedSteps, problemOf as problemOfSteps, stepsOf, type ListRules, type Step } from "./listEntries";

const KINDS = ["text", "number", "integer", "boolean", "choice", "list"] as const;
export type Kind = (typeof KINDS)[number];
type Scalar = string | number | boolean;

export interface Field {
  readonly name: string;
  readonly kind: Kind;
  /** Whether it may be left empty. */
  readonly nullable: boolean;
  /** Of a choice. */
  readonly options: readonly Scalar[];
  readonly minimum: number;
  readonly maximum: number;
  /** Characters of a text. */
  readonly minLength: number;
  readonly maxLength: number;
  /** Of a list. */
  readonly rules: ListRules;
}

/** What a field holds: the words in it, or the list. A choice and a yes or no hold the place of the option, "" for none. */
export type Draft = string | readonly Step[];

export function readField(value: unknown): Field[] {
  if (typeof value !== "object" || value === null) return [];
  const read = value as Readonly<Record<string, unknown>>;
  const kind = KINDS.find((one) => one === read.kind);
  const { name } = read;
  if (typeof name !== "string" || name === "" || kind === undefined) return [];
  const number = (key: string, otherwise: number): number => (typeof read[key] === "number" ? read[key] : otherwise);
  const entries = name === "steps" ? { noun: "step", nouns: "steps" } : { noun: "entry", nouns: "entries" };
  const offered = Array.isArray(read.options) ? read.options.filter(isScalar) : [];
  return [
    {
      name,
      kind,
      nullable: read.nullable === true,
      options: kind === "boolean" ? [true, false] : offered,
      minimum: number("minimum", -Infinity),
      maximum: number("maximum", Infinity),
      minLength: number("minLength", 0),
      maxLength: number("maxLength", Infinity),
      rules: { ...entries, least: number("minItems", 0), most: number("maxItems", 100), longest: number("itemMaxLength", Infinity) },
    },
  ];
}

/** "max_age" -> "Max age". */
export function labelOf(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function optionLabel(option: Scalar): string {
  if (typeof option === "boolean") return option ? "Yes" : "No";
  return option === "" ? "(empty)" : String(option);
}

export function draftOf({ kind, options }: Field, value: unknown): Draft {
  switch (kind) {
    case "list":
      return stepsOf(value);
    case "boolean":
    case "choice": {
      const place = options.findIndex((one) => one === value);
      return place === -1 ? "" : String(place);
    }
    case "number":
    case "integer":
      return typeof value === "number" ? String(value) : "";
    case "text":
      return typeof value === "string" ? value : "";
  }
}

export function isChanged(field: Field, draft: Draft, value: unknown): boolean {
  const before = draftOf(field, value);
  return typeof draft === "string" || typeof before === "string" ? draft !== before : changedSteps(draft, before) !== undefined;
}

/** Why this cannot be sent, in words; undefined if it can. */
export function problemOf(field: Field, draft: Draft): string | undefined {
  const { kind, nullable, rules, minimum, maximum, minLength, maxLength } = field;
  const label = labelOf(field.name);
  if (typeof draft !== "string") return problemOfSteps(draft, rules);
  if (draft.trim() === "" && (nullable || (kind === "text" && minLength === 0))) return undefined;
  switch (kind) {
    case "boolean":
    case "choice":
      return draft === "" ? `${label}: choose one.` : undefined;
    case "number":
    case "integer": {
      const number = numberOf(draft);
      if (number === undefined) return `${label}: a number is needed.`;
      if (kind === "integer" && !Number.isSafeInteger(number)) return `${label}: a whole number is needed.`;
      if (number < minimum) return `${label}: at least ${minimum} is needed.`;
      if (number > maximum) return `${label}: at most ${maximum} is possible.`;
      return undefined;
    }
    case "text":
    case "list":
      if (draft.trim() === "") return `${label} is empty.`;
      if (Array.from(draft).length < minLength) return `${label}: at least ${minLength} characters are needed.`;
      if (Array.from(draft).length > maxLength) return `${label}: at most ${maxLength} characters are possible.`;
      return undefined;
  }
}

/** What is sent. Of a draft without a problem. */
export function valueOf(field: Field, draft: Draft): unknown {
  if (typeof draft !== "string") return draft.map(({ text }) => text.trim());
  if (draft.trim() === "" && field.nullable) return null;
  switch (field.kind) {
    case "boolean":
    case "choice":
      return field.options[Number(draft)];
    case "number":
    case "integer":
      return numberOf(draft);
    case "text":
    case "list":
      return draft;
  }
}

/** The changed arguments, by name; undefined where all are as they were. */
export function editsOf(fields: readonly Field[], drafts: Readonly<Record<string, Draft>>, before: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const edits: Record<string, unknown> = {};
  for (const field of fields) {
    const draft = drafts[field.name];
    if (draft !== undefined && isChanged(field, draft, before[field.name])) edits[field.name] = valueOf(field, draft);
  }
  return Object.keys(edits).length === 0 ? undefined : edits;
}

function numberOf(words: string): number | undefined {
  const trimmed = words.trim();
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) && Number.isFinite(Number(trimmed)) ? Number(trimmed) : undefined;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
