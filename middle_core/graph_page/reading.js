// @ts-check
/**
 * Reading a turn of `/chat` to its end, also across broken connections.
 *
 * It knows requests, frames and cursors. It knows no token (the caller makes the requests) and no screen.
 */

import { isObject } from "./json.js";
import { Problem } from "./problem.js";
import { SseParser } from "./sse.js";
/** @import { Json } from "./json.js" */
/** @import { Frame } from "./sse.js" */

/** The connection broke and did not come back. */
export class ConnectionLost extends Error {}

const NOT_OURS = { title: "Something else answered", detail: "Something between this page and the server sent a page of its own. Try again, or sign in there." };
const BACKOFF = { firstMs: 250, maxMs: 8_000 };
/** With the waits above this is about a minute and a half. */
const MAX_FAILURES = 16;
/** Heartbeats come every 10 s; without them the connection is dead, whatever the browser thinks. */
const SILENCE_MS = 45_000;

/** Where a reader stands: the run, and the last id that it has taken. "" for neither. @typedef {{ runId: string, lastId: string }} Cursor */
/**
 * event: `first` says whether it came over the first connection, and so when it happened. link: whether events can come now.
 * json: the whole turn, where the server (or what is between) sends no events.
 * @typedef {{ kind: "event", event: Json, arrivedAt: number, first: boolean }
 *   | { kind: "link", open: boolean, failures: number }
 *   | { kind: "json", response: Json }} Step
 */
/**
 * start: the request that begins the turn; the same each time. follow: asks for a run's events behind an id.
 * cursor: where to go on; it is kept up to date. wait: resolves after the time, or sooner where there is hope.
 * @typedef {{ start: () => Promise<Response>, follow: (runId: string, lastId: string) => Promise<Response>,
 *   cursor: Cursor, wait: (ms: number) => Promise<void>, now: () => number, signal: AbortSignal, silenceMs?: number }} Reading
 */

/**
 * The turn's events, each once, to its end; after a broken connection it goes on behind the last id.
 *
 * Throws Problem where the server refuses, ConnectionLost where the connection does not come back. Ends silently when aborted.
 * @param {Reading} reading
 * @returns {AsyncGenerator<Step, void, void>}
 */
export async function* readTurn(reading) {
  const { cursor, signal } = reading;
  let failures = 0;
  let first = cursor.runId === "";
  /** @type {number | undefined} */
  let retryMs;
  while (!signal.aborted) {
    let atLeastMs = 0;
    try {
      const response = await (cursor.runId === "" ? reading.start() : reading.follow(cursor.runId, cursor.lastId));
      if (!response.ok) throw await Problem.of(response);
      const type = (response.headers.get("content-type") ?? "").toLowerCase();
      if (type.includes("json")) {
        yield { kind: "json", response: await response.json() };
        return;
      }
      if (!type.includes("text/event-stream")) throw new Problem(response.status, NOT_OURS);
      cursor.runId = response.headers.get("x-run-id") ?? cursor.runId;
      yield { kind: "link", open: true, failures };
      const parser = new SseParser();
      for await (const { id, data } of framesOf(response, parser, reading.silenceMs ?? SILENCE_MS)) {
        failures = 0;
        const event = eventIn(data);
        if (event !== undefined) yield { kind: "event", event, arrivedAt: reading.now(), first };
        // The cursor moves after the event was taken, so that an event that was not taken comes again.
        if (id !== undefined) [cursor.runId, cursor.lastId] = [id.split(":")[0] || cursor.runId, id];
        if (event?.type === "turn_completed") return;
      }
      retryMs = parser.retryMs ?? retryMs;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && !error.isPassing) throw error;
      if (error instanceof Problem) atLeastMs = error.retryAfterMs;
      if (failures >= MAX_FAILURES) throw new ConnectionLost("The connection is gone.", { cause: error });
    }
    if (signal.aborted) return;
    failures += 1;
    if (failures > MAX_FAILURES) throw new ConnectionLost("The connection is gone.");
    first = first && cursor.runId === "";
    yield { kind: "link", open: false, failures };
    const backoff = Math.min(BACKOFF.firstMs * 2 ** (failures - 1), BACKOFF.maxMs);
    await reading.wait(Math.max(atLeastMs, failures === 1 ? Math.min(retryMs ?? backoff, BACKOFF.maxMs) : backoff));
  }
}

/** @param {Response} response @param {SseParser} parser @param {number} silenceMs @returns {AsyncGenerator<Frame, void, void>} */
async function* framesOf(response, parser, silenceMs) {
  const reader = response.body?.getReader?.();
  if (reader === undefined) {
    yield* parser.feed(new TextEncoder().encode(await response.text()));
    return;
  }
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), silenceMs);
      if (done) return;
      yield* parser.feed(value);
    }
  } finally {
    reader.cancel().catch(() => undefined); // The body is broken already, or nobody wants the rest.
  }
}

/** @template T @param {Promise<T>} promise @param {number} ms @returns {Promise<T>} */
async function withTimeout(promise, ms) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing came for ${ms} ms.`)), ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} data @returns {Json | undefined} undefined for what is no event of `/chat` */
function eventIn(data) {
  try {
    const event = JSON.parse(data);
    return isObject(event) ? event : undefined;
  } catch {
    return undefined;
  }
}
