// @ts-check
/** An answer of the server that says in its own words what is wrong: problem+json (RFC 9457). */

import { isObject, numberIn, textIn } from "./json.js";
/** @import { Json } from "./json.js" */

export class Problem extends Error {
  /** @param {number} status @param {Json} body problem+json, or what there was of it */
  constructor(status, body) {
    super(textIn(body, "detail") || textIn(body, "title") || `The server answered with status ${status}.`);
    this.status = status;
    this.title = textIn(body, "title") || "The request failed";
    this.code = textIn(body, "code");
    this.correlationId = textIn(body, "correlation_id");
    this.retryAfterMs = (numberIn(body, "retry_after") ?? 0) * 1000;
  }

  /** @param {Response} response */
  static async of(response) {
    const body = await response.json().catch(() => ({})); // A proxy's page has no words for people.
    return new Problem(response.status, isObject(body) ? body : {});
  }

  /** Whether the same request may succeed a moment later. */
  get isPassing() {
    return [429, 502, 503, 504].includes(this.status);
  }
}
