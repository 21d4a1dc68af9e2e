// @ts-check
/**
 * Server-sent events: bytes to frames (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * Written by hand because this page has no build step and loads nothing from elsewhere, so it can import no package; the
 * browser's own EventSource can neither post nor send a token. This module knows no event of ours.
 */

/** Characters of one frame. The server sends no frame as large as this. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** @typedef {{ id: string | undefined, event: string, data: string }} Frame  id: only where the frame itself has one. */

/**
 * Bytes may be cut anywhere: inside a character, and inside CRLF. A frame that the end of the stream cuts off is dropped
 * together with its id.
 */
export class SseParser {
  #decoder = new TextDecoder("utf-8"); // The decoder drops a byte order mark at the very beginning, and only there.
  /** @type {string[]} The line so far, in the pieces in which it came. */
  #line = [];
  #afterCr = false;
  /** @type {string[]} */
  #data = [];
  #event = "";
  /** @type {string | undefined} */
  #id = undefined;
  #size = 0;
  /** Milliseconds that the server asks to wait before connecting again; undefined where the server did not say. */
  /** @type {number | undefined} */
  retryMs = undefined;

  /** @param {number} [maxCharacters] */
  constructor(maxCharacters = MAX_CHARACTERS) {
    this.maxCharacters = maxCharacters;
  }

  /** The frames that `bytes` complete. Throws Error for a frame beyond the bound. @param {Uint8Array} bytes @returns {Frame[]} */
  feed(bytes) {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    this.#afterCr = text === "" ? false : text.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    const rest = lines.pop() ?? "";
    /** @type {Frame[]} */
    const frames = [];
    for (const end of lines) {
      this.#size += end.length;
      this.#takeLine(this.#line.join("") + end, frames);
      this.#line = [];
    }
    if (rest !== "") this.#line.push(rest);
    this.#size += rest.length;
    if (this.#size > this.maxCharacters) throw new Error(`An event is larger than ${this.maxCharacters} characters.`);
    return frames;
  }

  /** @param {string} line @param {Frame[]} frames */
  #takeLine(line, frames) {
    if (line === "") {
      if (this.#data.length > 0) frames.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
      this.#data = [];
      this.#event = "";
      this.#id = undefined;
      this.#size = 0;
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }
}
