/** How long to wait before the next try. Pure. */

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Doubles from `firstMs` to `maxMs`; attempt 0 is immediate. `jitter` in 0..1 spreads it by up to -25 %. */
export function delayOf(attempt: number, { firstMs, maxMs }: Backoff, jitter = 0): number {
  if (attempt <= 0) return 0;
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - 0.25 * jitter));
}
