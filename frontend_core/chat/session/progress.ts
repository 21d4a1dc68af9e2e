/** What the server says about work that takes a while (CUSTOM `middle_core.progress`). */

export interface Progress {
  readonly label: string;
  /** 0..1 when the end is known. */
  readonly fraction: number | undefined;
  readonly toolCallId: string | undefined;
}

export function readProgress(value: unknown): Progress | undefined {
  if (typeof value !== "object" || value === null || !("label" in value) || typeof value.label !== "string") return undefined;
  const fraction = "fraction" in value && typeof value.fraction === "number" ? value.fraction : undefined;
  const toolCallId = "toolCallId" in value && typeof value.toolCallId === "string" ? value.toolCallId : undefined;
  return { label: value.label, fraction: fraction === undefined ? undefined : Math.min(1, Math.max(0, fraction)), toolCallId };
}
