/** What the server says about work that takes a while (CUSTOM `middle_core.progress`). Pure. */

export interface Progress {
  readonly label: string;
  /** 0..1 when the end is known. */
  readonly fraction: number | undefined;
  readonly toolCallId: string | undefined;
  /** The labels of what went before, oldest first. */
  readonly past: readonly string[];
}

const MOST_STEPS = 20;

/** The progress after one more event; `all` is by tool call id, or "" for the run as a whole. What is no progress changes nothing. */
export function advance(all: ReadonlyMap<string, Progress>, value: unknown): ReadonlyMap<string, Progress> {
  const told = readProgress(value);
  if (told === undefined) return all;
  const key = told.toolCallId ?? "";
  const before = all.get(key);
  const past = before === undefined ? [] : before.label === told.label ? before.past : [...before.past, before.label].slice(-MOST_STEPS);
  return new Map(all).set(key, { ...told, past });
}

function readProgress(value: unknown): Omit<Progress, "past"> | undefined {
  if (typeof value !== "object" || value === null || !("label" in value) || typeof value.label !== "string") return undefined;
  const fraction = "fraction" in value && typeof value.fraction === "number" ? value.fraction : undefined;
  const toolCallId = "toolCallId" in value && typeof value.toolCallId === "string" ? value.toolCallId : undefined;
  return { label: value.label, fraction: fraction === undefined ? undefined : Math.min(1, Math.max(0, fraction)), toolCallId };
}
