/**
 * What one request of the browser carries through CopilotKit's runtime: the caller, the verdict, the flow.
 *
 * The runtime hands the runner neither headers (`stop` gets none) nor a way to refuse with a status, so both travel
 * in AsyncLocalStorage. An exchange lives as long as its response; nothing is kept per thread.
 */

import { AsyncLocalStorage } from "node:async_hooks";

import type { Caller } from "./identity";
import type { Problem } from "./problems";
import { Window } from "./flowControl";

const exchanges = new AsyncLocalStorage<Exchange>();

export class Exchange {
  readonly window: Window;
  /** The runtime's event stream, taken out of its response. */
  stream: ReadableStream<Uint8Array> | null = null;
  #settle: (problem: Problem | null) => void = () => undefined;
  #settled = false;
  readonly #verdict = new Promise<Problem | null>((resolve) => {
    this.#settle = resolve;
  });

  /** runId: what the browser calls this run. tools: what its page offers. signal: the browser went away. */
  constructor(
    readonly caller: Caller,
    readonly runId: string,
    readonly tools: readonly unknown[],
    readonly signal: AbortSignal,
    stallMs: number,
  ) {
    this.window = new Window(stallMs);
  }

  /** The exchange of the request being handled. */
  static current(): Exchange {
    const exchange = exchanges.getStore();
    if (!exchange) throw new Error("Called outside of a request.");
    return exchange;
  }

  run<T>(handle: () => Promise<T>): Promise<T> {
    return exchanges.run(this, handle);
  }

  /** The answer is a stream from here on; its errors are events. */
  open(): void {
    this.#decide(null);
  }

  /** Answers with a real status. False if the answer has already begun. */
  refuse(problem: Problem): boolean {
    return this.#decide(problem);
  }

  /** The refusal, or null for a stream: decided by the runner, or after `ms` by us. */
  async verdict(ms: number): Promise<Problem | null> {
    const timer = setTimeout(() => {
      this.open();
    }, ms);
    try {
      return await this.#verdict;
    } finally {
      clearTimeout(timer);
    }
  }

  #decide(problem: Problem | null): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#settle(problem);
    return true;
  }
}
