/**
 * Requests to middle-core. The headers are an allow-list, redirects are not followed, and nothing is retried here.
 */

import { Agent, fetch, type Response as UpstreamResponse } from "undici";

import type { Config } from "./config";
import { callerHeaders, type Caller } from "./identity";
import { AWAY, problemOf, Refused } from "./problems";

export type { UpstreamResponse };

export interface Ask {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below middle-core's address. Its variable parts are already encoded. */
  readonly path: string;
  readonly json?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** No patience of our own: the answer may be silent for as long as middle-core and the signal let it. */
  readonly patient?: boolean;
}

/** What of middle-core's headers goes back to the browser; hop-by-hop headers and everything unknown stay here. */
const PASSED = ["content-type", "etag", "cache-control", "retry-after", "www-authenticate", "x-correlation-id"];

export class MiddleCore {
  readonly #base: string;
  readonly #requestMs: number;
  readonly #dispatcher: Agent;
  readonly #patient: Agent;

  constructor({ middleCoreUrl, timing }: Config) {
    this.#base = middleCoreUrl;
    this.#requestMs = timing.requestMs;
    this.#dispatcher = new Agent({
      connectTimeout: timing.requestMs,
      // Stop and a new message right after it may take middle-core's whole patience (10 s) before headers come.
      headersTimeout: Math.max(30_000, 2 * timing.silenceMs),
      // undici cuts a silent body after 300 s. Silence is judged by the follower's watchdog; this stands behind it.
      bodyTimeout: 2 * timing.silenceMs,
    });
    this.#patient = new Agent({ connectTimeout: timing.requestMs, headersTimeout: 0, bodyTimeout: 0 });
  }

  /** Sends one request. Throws Refused(AWAY) if no answer came, the signal's reason if it was given up. */
  async send(caller: Caller, { method, path, json, headers, signal, patient }: Ask): Promise<UpstreamResponse> {
    try {
      return await fetch(this.#base + path, {
        method,
        redirect: "manual",
        dispatcher: patient ? this.#patient : this.#dispatcher,
        signal,
        headers: {
          accept: "application/json",
          ...(json !== undefined && { "content-type": "application/json" }),
          ...headers,
          ...callerHeaders(caller),
        },
        ...(json !== undefined && { body: json }),
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new Refused(AWAY, { cause: error });
    }
  }

  /** A request whose whole answer is awaited, within the bound of one. Throws Refused. */
  async json(caller: Caller, ask: Ask): Promise<Record<string, unknown>> {
    return this.#bounded(caller, ask, async (response) => {
      if (!response.ok) throw new Refused(await problemOf(response));
      return (await response.json()) as Record<string, unknown>;
    });
  }

  /** A request whose answer goes to the browser as it is; an error goes as a problem. Throws Refused. */
  async relay(caller: Caller, ask: Ask): Promise<Response> {
    return this.#bounded(caller, ask, async (response) => {
      if (response.status >= 300 && response.status !== 304) throw new Refused(await problemOf(response));
      const headers = new Headers();
      for (const name of PASSED) {
        const value = response.headers.get(name);
        if (value !== null) headers.set(name, value);
      }
      const empty = response.status === 204 || response.status === 304;
      return new Response(empty ? null : await response.arrayBuffer(), { status: response.status, headers });
    });
  }

  async #bounded<T>(caller: Caller, ask: Ask, read: (response: UpstreamResponse) => Promise<T>): Promise<T> {
    const patience = AbortSignal.timeout(this.#requestMs);
    try {
      return await read(await this.send(caller, { ...ask, signal: AbortSignal.any([ask.signal, patience]) }));
    } catch (error) {
      if (error instanceof Refused || ask.signal.aborted) throw error;
      throw new Refused(AWAY, { cause: error });
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all([this.#dispatcher.destroy(), this.#patient.destroy()]);
  }
}
