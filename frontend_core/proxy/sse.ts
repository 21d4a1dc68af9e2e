/**
 * Server-sent events, bytes to frames (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * Bytes may be cut anywhere, inside a character too. Only CR, LF and CRLF end a line; a frame that the stream's end cuts
 * off is not a frame. Unlike @ag-ui/client's parser it keeps `id:`. It knows nothing of what a frame says.
 */

export interface Frame {
  /** The frame's own id; null where it has none (the standard's "last event id" is the reader's business). */
  readonly id: string | null;
  readonly data: string;
}

/** One frame is larger than the reader is willing to hold. */
export class FrameTooLarge extends Error {
  constructor(limit: number) {
    super(`An event is larger than ${limit} characters.`);
    this.name = "FrameTooLarge";
  }
}

export class SseParser {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #maxChars: number;
  #rest = "";
  /** Where in `#rest` the search for a line's end goes on, so that a long line is not searched again per chunk. */
  #searched = 0;
  #data: string[] = [];
  #size = 0;
  #id: string | null = null;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The frames that `bytes` complete. Throws FrameTooLarge. */
  feed(bytes: Uint8Array): Frame[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const frames: Frame[] = [];
    const end = /\r\n|\n|\r(?!$)/g; // A CR at the very end may be half of a CRLF: it waits for the next byte.
    end.lastIndex = this.#searched;
    let from = 0;
    for (let match = end.exec(this.#rest); match; match = end.exec(this.#rest)) {
      this.#line(this.#rest.slice(from, match.index), frames);
      from = end.lastIndex;
    }
    if (from > 0) this.#rest = this.#rest.slice(from);
    this.#searched = Math.max(0, this.#rest.length - 1);
    if (this.#size + this.#rest.length > this.#maxChars) throw new FrameTooLarge(this.#maxChars);
    return frames;
  }

  #line(line: string, frames: Frame[]): void {
    if (line === "") {
      if (this.#data.length > 0) frames.push({ id: this.#id, data: this.#data.join("\n") });
      this.#data = [];
      this.#size = 0;
      this.#id = null;
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#data.push(value);
      this.#size += value.length + 1;
    } else if (field === "id" && !value.includes("\0")) {
      this.#id = value;
    }
  }
}
