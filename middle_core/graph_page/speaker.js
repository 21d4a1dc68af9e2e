// @ts-check
/** Reads progress out to people who use a screen reader: a few words at a time, and not too often. */

/** Words are read out at most this often, in milliseconds. */
const PAUSE_MS = 900;
/** Of more words at once the newest are read out. */
const MAX_TEXTS = 6;

export class Speaker {
  /** @type {string[]} */
  #waiting = [];

  /** @param {HTMLElement} region an element with `aria-live` */
  constructor(region) {
    this.region = region;
  }

  /** @param {string} words */
  say(words) {
    this.#waiting.push(words);
    if (this.#waiting.length > 1) return;
    setTimeout(() => {
      this.region.textContent = this.#waiting.slice(-MAX_TEXTS).join(" ");
      this.#waiting = [];
    }, PAUSE_MS);
  }
}
