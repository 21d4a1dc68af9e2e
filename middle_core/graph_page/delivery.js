// @ts-check
/** Whether events come as they happen, or are held back on the way by something that buffers. Pure. */

/** Events that come this much later than others are held back. */
const HELD_MS = 500;

/**
 * Compares when each event happened (the server's clock) with when it came (the browser's clock). The clocks may differ:
 * what counts is how the difference changes.
 */
export class Delivery {
  #leastMs = Infinity;
  #mostMs = -Infinity;
  /** @type {[number, number] | undefined} The first and the last time at which an event happened. */
  #happened;
  /** @type {[number, number] | undefined} The first and the last time at which an event came. */
  #came;

  /** @param {number} happenedAt @param {number} arrivedAt */
  add(happenedAt, arrivedAt) {
    this.#leastMs = Math.min(this.#leastMs, arrivedAt - happenedAt);
    this.#mostMs = Math.max(this.#mostMs, arrivedAt - happenedAt);
    this.#happened = [Math.min(this.#happened?.[0] ?? happenedAt, happenedAt), Math.max(this.#happened?.[1] ?? happenedAt, happenedAt)];
    this.#came = [this.#came?.[0] ?? arrivedAt, arrivedAt];
  }

  /** What to subtract from the browser's clock to get the server's, in milliseconds. */
  get skewMs() {
    return Number.isFinite(this.#leastMs) ? this.#leastMs : 0;
  }

  /** How long the most delayed event was held back, and whether all came at once; undefined while they come as they happen. */
  get held() {
    if (this.#happened === undefined || this.#came === undefined) return undefined;
    const heldMs = this.#mostMs - this.#leastMs;
    const span = this.#happened[1] - this.#happened[0];
    if (heldMs < HELD_MS || heldMs < span * 0.3) return undefined;
    return { heldMs, oneBlock: this.#came[1] - this.#came[0] <= Math.max(80, span * 0.1) };
  }
}
