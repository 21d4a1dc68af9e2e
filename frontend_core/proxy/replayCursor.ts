/**
 * Where a reader is in a run: what it has shown, and from where it attaches again. Pure.
 *
 * A frame's id is `<run>:<seq>` and seq only grows. When one record became several frames only the last carries the
 * id, so after a cut the first of them come again: what was shown since the last id is remembered and not shown twice.
 */

import type { BaseEvent } from "@ag-ui/client";
import { EventType } from "@ag-ui/client";

import { CUSTOM } from "../contract";
import type { Frame } from "./sse";

export type Step =
  | { readonly kind: "event"; readonly event: BaseEvent; readonly terminal: boolean }
  /** The server asks to attach again after a pause. */
  | { readonly kind: "reattach"; readonly reason: string; readonly afterMs: number }
  /** Already shown, or nothing that the browser's client knows. */
  | { readonly kind: "nothing" };

const NOTHING: Step = { kind: "nothing" };
const KNOWN: ReadonlySet<string> = new Set(Object.values(EventType));
const TERMINAL: ReadonlySet<string> = new Set([EventType.RUN_FINISHED, EventType.RUN_ERROR]);
const ID = /^([0-9a-fA-F-]{1,64}):(\d{1,18})$/;
const MAX_PAUSE_MS = 10_000;

export class Place {
  #run: string | null = null;
  #seq = 0;
  #started = false;
  /** The data of the frames shown since the last id. */
  #loose: string[] = [];
  /** Of them, those that may come again on this connection. */
  #again: string[] = [];

  /** What `Last-Event-ID` has to say; null before the first id. */
  get cursor(): { readonly run: string; readonly lastEventId: string } | null {
    return this.#run === null ? null : { run: this.#run, lastEventId: `${this.#run}:${this.#seq}` };
  }

  /** A new connection begins after the cursor. */
  attached(): void {
    this.#again = [...this.#loose];
  }

  /** Takes the next frame. Throws SyntaxError for data that is not JSON. */
  take(frame: Frame): Step {
    const expected = this.#again.shift();
    const repeated = expected !== undefined && expected === frame.data;
    if (!repeated) this.#again = [];
    const id = frame.id === null ? null : ID.exec(frame.id);
    if (id) {
      const [, run = "", digits = ""] = id;
      const seq = Number(digits);
      if (run === this.#run && seq <= this.#seq) return NOTHING;
      this.#run = run;
      this.#seq = seq;
      this.#loose = [];
    }
    if (repeated) return NOTHING;
    const event = parse(frame.data);
    if (event.type === EventType.CUSTOM && event.name === CUSTOM.REATTACH) return reattach(event.value);
    if (!id) this.#loose.push(frame.data);
    if (!KNOWN.has(event.type)) return NOTHING;
    if (event.type === EventType.RUN_STARTED) {
      if (this.#started) return NOTHING; // The client's verifier takes one; a second attempt says so in CUSTOM events.
      this.#started = true;
    }
    return { kind: "event", event, terminal: TERMINAL.has(event.type) };
  }

  /** Whether the browser has seen RUN_STARTED. */
  get started(): boolean {
    return this.#started;
  }
}

function parse(data: string): BaseEvent & Record<string, unknown> {
  const value: unknown = JSON.parse(data);
  if (typeof value !== "object" || value === null || !("type" in value) || typeof value.type !== "string") {
    throw new SyntaxError("An event without a type.");
  }
  return value as BaseEvent & Record<string, unknown>;
}

function reattach(value: unknown): Step {
  const told = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const after = typeof told.retryAfterMs === "number" && told.retryAfterMs > 0 ? told.retryAfterMs : 0;
  return { kind: "reattach", reason: typeof told.reason === "string" ? told.reason : "", afterMs: Math.min(after, MAX_PAUSE_MS) };
}
