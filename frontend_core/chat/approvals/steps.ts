/** A plan's steps while a person changes them: what each change makes of them, and why they cannot be sent. Pure. */

export interface Step {
  /** Stays with the step when it moves. */
  readonly key: number;
  readonly text: string;
}

/** As many and as long as the server takes. */
export const MOST_STEPS = 12;
export const LONGEST_STEP = 300;

export function stepsOf(value: unknown): readonly Step[] {
  const texts = Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
  return texts.map((text, key) => ({ key, text }));
}

export function moved(steps: readonly Step[], from: number, to: number): readonly Step[] {
  const step = steps[from];
  if (step === undefined || to < 0 || to >= steps.length) return steps;
  return steps.toSpliced(from, 1).toSpliced(to, 0, step);
}

export function rewritten(steps: readonly Step[], key: number, text: string): readonly Step[] {
  return steps.map((step) => (step.key === key ? { key, text } : step));
}

export function without(steps: readonly Step[], key: number): readonly Step[] {
  return steps.filter((step) => step.key !== key);
}

export function withNew(steps: readonly Step[]): readonly Step[] {
  return [...steps, { key: Math.max(-1, ...steps.map(({ key }) => key)) + 1, text: "" }];
}

/** Why these cannot be sent, in words; undefined if they can. */
export function problemOf(steps: readonly Step[]): string | undefined {
  if (steps.length === 0) return "A plan needs at least one step.";
  if (steps.length > MOST_STEPS) return `A plan has at most ${MOST_STEPS} steps.`;
  const empty = steps.findIndex(({ text }) => text.trim() === "");
  if (empty !== -1) return `Step ${empty + 1} is empty.`;
  const long = steps.findIndex(({ text }) => text.length > LONGEST_STEP);
  if (long !== -1) return `Step ${long + 1} is longer than ${LONGEST_STEP} characters.`;
  return undefined;
}

/** The texts to send; undefined if they are as they were. */
export function changesOf(steps: readonly Step[], before: readonly Step[]): readonly string[] | undefined {
  const texts = steps.map(({ text }) => text.trim());
  const same = texts.length === before.length && texts.every((text, index) => text === before[index]?.text.trim());
  return same ? undefined : texts;
}
