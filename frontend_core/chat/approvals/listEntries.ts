/** A list of texts, such as a plan's steps, while a person changes it: what each change makes of it, and why it cannot be sent. Pure. */

export interface Step {
  /** Stays with the step when it moves. */
  readonly key: number;
  readonly text: string;
}

/** What one of them is called, and as many and as long as the server takes. */
export interface ListRules {
  readonly noun: string;
  readonly nouns: string;
  readonly least: number;
  readonly most: number;
  readonly longest: number;
}

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
export function problemOf(steps: readonly Step[], { noun, nouns, least, most, longest }: ListRules): string | undefined {
  if (steps.length < least) return least === 1 ? `At least one ${noun} is needed.` : `At least ${least} ${nouns} are needed.`;
  if (steps.length > most) return `There can be at most ${most} ${nouns}.`;
  const called = noun.charAt(0).toUpperCase() + noun.slice(1);
  const empty = steps.findIndex(({ text }) => text.trim() === "");
  if (empty !== -1) return `${called} ${empty + 1} is empty.`;
  const long = steps.findIndex(({ text }) => text.length > longest);
  if (long !== -1) return `${called} ${long + 1} is longer than ${longest} characters.`;
  return undefined;
}

/** The texts to send; undefined if they are as they were. */
export function changesOf(steps: readonly Step[], before: readonly Step[]): readonly string[] | undefined {
  const texts = steps.map(({ text }) => text.trim());
  const same = texts.length === before.length && texts.every((text, index) => text === before[index]?.text.trim());
  return same ? undefined : texts;
}
