/**
 * The bound between the runner and the browser. CopilotKit's runtime queues every event it is given without looking at
 * the reader, so the runner asks here first: at most `size` events are on their way, then middle-core is not read.
 */

const SIZE = 256;

/** The browser took nothing for too long. */
export class Stalled extends Error {
  constructor() {
    super("The browser stopped reading.");
    this.name = "Stalled";
  }
}

export class Window {
  #open = 0;
  #wake: (() => void) | null = null;
  #forget: () => void = () => undefined;

  constructor(
    readonly stallMs: number,
    readonly size = SIZE,
  ) {}

  /** Waits for room and takes it. For one writer. Throws Stalled, or the signal's reason. */
  async enter(signal: AbortSignal): Promise<void> {
    if (this.#open >= this.size) await this.#room(signal);
    this.#open += 1;
  }

  /** The reader took one. */
  leave(): void {
    this.#open -= 1;
    this.#wake?.();
  }

  async #room(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const came = await new Promise<"room" | "abort" | "stall">((resolve) => {
      const timer = setTimeout(resolve, this.stallMs, "stall");
      const aborted = () => {
        resolve("abort");
      };
      signal.addEventListener("abort", aborted);
      this.#wake = () => {
        resolve("room");
      };
      this.#forget = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
        this.#wake = null;
      };
    });
    this.#forget();
    signal.throwIfAborted();
    if (came === "stall") throw new Stalled();
  }
}
