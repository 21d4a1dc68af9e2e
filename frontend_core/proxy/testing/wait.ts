import { setTimeout as pause } from "node:timers/promises";

/** Waits for a condition, looking every few milliseconds. Throws when it has not come true within the bound. */
export async function until(what: string, holds: () => boolean, withinMs = 3_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await pause(2);
  }
}

/** The promise's value. Throws when it has not come within the bound. */
export async function within<T>(what: string, promise: Promise<T>, withinMs = 3_000): Promise<T> {
  const stop = new AbortController();
  const late = pause(withinMs, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`Not within ${withinMs} ms: ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop.abort();
    late.catch(() => undefined); // Its end is our abort.
  }
}
