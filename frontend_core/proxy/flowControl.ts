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
    const waiting = new AbortController(); // Takes the listener off again.
    let timer: NodeJS.Timeout | undefined;
    const stalled = await new Promise<boolean>((resolve) => {
      this.#wake = () => {
        resolve(false);
      };
      signal.addEventListener("abort", this.#wake, { signal: waiting.signal });
      timer = setTimeout(resolve, this.stallMs, true);
    });
    this.#wake = null;
    waiting.abort();
    clearTimeout(timer);
    signal.throwIfAborted();
    if (stalled) throw new Stalled();
  }
}
