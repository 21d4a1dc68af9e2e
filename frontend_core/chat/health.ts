/**
 * Whether the server can be reached. Silent while all is well: it asks only after something has failed,
 * with growing pauses, until the server answers again.
 */

import { ask, type Fetch } from "./api";
import { delayOf } from "./session/backoff";
import { Store } from "./ui/store";

const PROBE = { firstMs: 1_000, maxMs: 8_000 };

export interface HealthDeps {
  readonly fetch: Fetch;
  readonly onRecovered: () => void;
}

export class Health {
  readonly state = new Store<"ok" | "away">("ok");
  #timer: ReturnType<typeof setTimeout> | undefined;
  #probing = false;
  #tries = 0;

  constructor(private readonly deps: HealthDeps) {}

  /** Something failed in a way that a server that is away would explain. */
  suspect(): void {
    if (this.#probing) return;
    this.#tries = 0;
    this.#go();
  }

  /** The network says that it is back, or the person asks: do not wait for the next turn. */
  hurry(): void {
    if (this.state.get() === "ok" && !this.#probing) return;
    this.#tries = 0;
    this.#go();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #go(): void {
    this.#probing = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#probe();
    }, delayOf(this.#tries, PROBE));
  }

  async #probe(): Promise<void> {
    this.#tries++;
    try {
      await ask(this.deps.fetch, "/api/health");
    } catch {
      // The reason does not matter: not reachable is all that the banner says.
      this.state.set("away");
      this.#go();
      return;
    }
    this.#probing = false;
    const wasAway = this.state.get() === "away";
    this.state.set("ok");
    if (wasAway) this.deps.onRecovered();
  }
}
