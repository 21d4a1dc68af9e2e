/**
 * Follow one run of middle-core to its end, across every cut: the one loop behind `run` and `connect`.
 *
 * A stream that ends without a terminal event is attached again at the cursor; before the first id the opening request
 * is sent again (it is idempotent by runId). Tries, pauses and the total are bounded. Nothing outlives the generator.
 */

import type { BaseEvent } from "@ag-ui/client";
import { setTimeout as pause } from "node:timers/promises";

import { REATTACH_REASON } from "../contract";
import type { Timing } from "./config";
import type { UpstreamResponse } from "./middleCoreClient";
import { type Place } from "./replayCursor";
import { AWAY, byStatus, INTERNAL, LOST, passes, type Problem, problemOf, Refused } from "./problems";
import { FrameTooLarge, SseParser } from "./sse";

export interface Upstream {
  /** The opening request: starts the run, or finds it again. */
  readonly start: (signal: AbortSignal) => Promise<UpstreamResponse>;
  readonly attach: (run: string, lastEventId: string, signal: AbortSignal) => Promise<UpstreamResponse>;
}

export interface Rules {
  readonly timing: Timing;
  readonly maxFrameChars: number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** A connection that lived this long counts as contact, whatever it said. */
const STEADY_MS = 5_000;

/** The run's events, each once. `opened` is called when the opening request is answered. Throws Refused. */
export async function* follow(upstream: Upstream, place: Place, rules: Rules, signal: AbortSignal, opened: () => void): AsyncGenerator<BaseEvent, void> {
  const { timing } = rules;
  const contact = new Contact(rules);
  for (;;) {
    const connection = new AbortController();
    const both = AbortSignal.any([signal, connection.signal]);
    const cursor = place.cursor;
    const began = Date.now();
    let pauseMs: number | null = null;
    try {
      const response = await (cursor ? upstream.attach(cursor.run, cursor.lastEventId, both) : upstream.start(both));
      await refuse(response, cursor !== null);
      opened();
      contact.attached = true;
      place.attached();
      for await (const frame of frames(response, rules, connection)) {
        const step = place.take(frame);
        if (step.kind === "reattach") {
          if (step.reason === REATTACH_REASON.TOKEN_EXPIRED) throw new Refused(byStatus(401));
          pauseMs = step.afterMs;
          contact.heard();
          break;
        }
        if (step.kind === "nothing") continue;
        contact.made();
        yield step.event;
        if (step.terminal) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      pauseMs = retryPause(error, cursor !== null);
    } finally {
      connection.abort();
    }
    if (Date.now() - began > STEADY_MS) contact.made();
    if (!(await contact.waited(pauseMs, signal))) return;
  }

  /** The least pause before the next try, or the end. */
  function retryPause(error: unknown, attaching: boolean): number | null {
    if (error instanceof FrameTooLarge || error instanceof SyntaxError) throw new Refused(INTERNAL, { cause: error });
    if (!(error instanceof Refused)) return null; // The socket broke or fell silent.
    const { problem } = error;
    const mayPass = passes(problem) || (attaching && (problem.status === 429 || problem.status === 500));
    if (!mayPass || (problem.retryAfter ?? 0) * 1000 > timing.awayMs) throw error;
    return problem.retryAfter === undefined ? null : problem.retryAfter * 1000;
  }
}

/** When middle-core was last heard, and how long it may stay away. */
class Contact {
  attached = false;
  #since = Date.now();
  #tries = 0;
  readonly #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Something new came. */
  made(): void {
    this.heard();
    this.#tries = 0;
  }

  /** The server is there. The pauses still grow, so that a server that only ever asks to come back is asked slowly. */
  heard(): void {
    this.#since = Date.now();
  }

  /** Pauses before the next try; false if the reader left meanwhile. Throws Refused when it has been too long. */
  async waited(leastMs: number | null, signal: AbortSignal): Promise<boolean> {
    const { timing, random = Math.random } = this.#rules;
    const spread = 0.5 + random() / 2;
    // The first try after a cut goes out at once: most cuts are a hop's, and the server is there.
    const backoff = this.#tries === 0 && this.attached ? 0 : Math.min(timing.maxBackoffMs, timing.backoffMs * 2 ** Math.min(this.#tries, 16)) * spread;
    this.#tries += 1;
    const ms = Math.max(backoff, (leastMs ?? 0) * (1 + random() / 4));
    if (Date.now() + ms - this.#since > (this.attached ? timing.awayMs : timing.startMs)) throw new Refused(AWAY);
    try {
      await pause(ms, undefined, { signal });
    } catch {
      return false; // Only the signal ends a pause early.
    }
    return !signal.aborted;
  }
}

/** Throws Refused unless the answer is an event stream. */
async function refuse(response: UpstreamResponse, attaching: boolean): Promise<void> {
  const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  if (response.status === 200 && isStream) return;
  // A page instead of a stream comes from something between here and middle-core.
  const problem: Problem = response.status === 200 ? AWAY : await problemOf(response);
  await response.body?.cancel();
  const gone = attaching && (problem.status === 404 || problem.status === 400);
  throw new Refused(gone ? LOST : problem);
}

/** The frames of one connection. Ends with it; throws when it breaks or is silent for too long. */
async function* frames(response: UpstreamResponse, rules: Rules, connection: AbortController) {
  if (!response.body) return;
  const parser = new SseParser(rules.maxFrameChars);
  let reading = true;
  // Only a wait for bytes counts as silence: while the browser is slow nothing is read on purpose.
  const watchdog = setTimeout(() => {
    if (reading) connection.abort(new Error("The stream fell silent."));
  }, rules.timing.silenceMs);
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      reading = false;
      yield* parser.feed(chunk);
      reading = true;
      watchdog.refresh();
    }
  } finally {
    clearTimeout(watchdog);
  }
}
