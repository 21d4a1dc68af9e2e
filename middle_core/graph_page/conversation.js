// @ts-check
/**
 * The conversation with an agent: messages are sent, their turns read, stopped and answered.
 *
 * It knows the requests of `/chat`. It knows no token (requests are made for it) and no screen (whoever shows it listens).
 */

import { ERROR_CODE } from "./contract.js";
import { Delivery } from "./delivery.js";
import { NO_ENTRY } from "./entry.js";
import { wordsFor } from "./failures.js";
import { turnOf } from "./json_answer.js";
import { numberIn } from "./json.js";
import { Problem } from "./problem.js";
import { ConnectionLost, readTurn } from "./reading.js";
import { advance, NEW_TURN, questionId, resumed } from "./turn.js";
/** @import { Entry, Phase } from "./entry.js" */
/** @import { Json } from "./json.js" */
/** @import { Cursor, Step } from "./reading.js" */
/** @import { RequestOptions } from "./sign_in.js" */
/** @import { Turn } from "./turn.js" */

const MAX_ENTRIES = 50;

/**
 * request: a request with the token. canStream: whether the browser can read a body as it comes. now: milliseconds since 1970.
 * onChange: something is to be shown. onProgress: the newest turn has changed. onEnd: nothing is read any more.
 * onUnsent: a message did not become a turn.
 * @typedef {{
 *   request: (path: string, options?: RequestOptions) => Promise<Response>, canStream: boolean, now: () => number,
 *   onChange: () => void, onProgress: (before: Turn, after: Turn) => void, onEnd: (entry: Entry) => void, onUnsent: (message: string) => void,
 * }} ConversationParts
 */

export class Conversation {
  /** @type {readonly Entry[]} The newest is the last; only that one changes. */
  entries = [];
  threadId = "";
  link = { open: true, failures: 0 };
  delivery = new Delivery();
  /** Whether the newest turn came as one JSON answer, without events. */
  isWithoutEvents = false;
  isStopping = false;
  /** What went wrong with a request. @type {Error | undefined} */
  failure;
  /** Answers given so far, by the question's id; they are sent when all open questions have one. @type {Map<string, Json>} */
  answers = new Map();

  /** @type {AbortController | undefined} */
  #reading;
  /** @type {Cursor} */
  #cursor = { runId: "", lastId: "" };
  /** @type {(() => void) | undefined} Ends the wait before the next attempt. */
  #endWait;

  /** @param {ConversationParts} parts */
  constructor(parts) {
    this.parts = parts;
  }

  /** The newest entry. */
  get last() {
    return this.entries.at(-1) ?? NO_ENTRY;
  }

  /** Whether the connection of the newest turn was given up although its run is known. */
  get canReattach() {
    return this.last.phase === "lost" && this.#cursor.runId !== "";
  }

  /** @param {string} message @param {string} agent */
  send(message, agent) {
    this.answers.clear();
    if (this.last.phase === "paused") this.#change({ phase: "over" }); // Another message withdraws what was asked.
    this.entries = [...this.entries, { message, turn: NEW_TURN, phase: /** @type {Phase} */ ("busy") }].slice(-MAX_ENTRIES);
    void this.#read({ path: "chat", body: { message, agent, ...(this.threadId && { thread_id: this.threadId }) } });
  }

  /** Go on with the turn whose connection was given up. */
  reattach() {
    void this.#read(undefined, this.#cursor);
  }

  /** Forget all. A turn that is being read goes on without this page, or ends by itself. */
  clear() {
    this.#reading?.abort();
    [this.entries, this.threadId, this.failure, this.isWithoutEvents] = [[], "", undefined, false];
    [this.delivery, this.link] = [new Delivery(), { open: true, failures: 0 }];
    this.answers.clear();
    this.parts.onChange();
  }

  /** There is new hope for the connection: attach again at once. */
  hurry() {
    this.#endWait?.();
  }

  async stop() {
    this.isStopping = true;
    this.parts.onChange();
    const { runId } = this.last.turn;
    if (this.threadId === "") {
      this.#reading?.abort(); // Nothing is known to run; a turn that nobody follows ends by itself.
      this.#change({ phase: "over", turn: { ...this.last.turn, status: "cancelled", response: { status: "cancelled" } } });
      return;
    }
    try {
      const body = JSON.stringify({ threadId: this.threadId, ...(runId && { runId }) });
      const response = await this.parts.request("copilotkit/stop", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      if (!response.ok) throw await Problem.of(response);
    } catch (error) {
      this.isStopping = false;
      this.failure = new Error(`It was not stopped. ${wordsFor(error)}`);
    }
    this.parts.onChange();
  }

  /** Answer a question. @param {string} id @param {Json} answer */
  answer(id, answer) {
    this.answers.set(id, { interrupt_id: id, ...answer });
    const { turn } = this.last;
    if (turn.interrupts.some((one) => !this.answers.has(questionId(one)))) {
      this.parts.onChange();
      return;
    }
    const answers = [...this.answers.values()];
    this.answers.clear();
    void this.#resume(turn, answers);
  }

  /** @param {Turn} paused @param {readonly Json[]} answers */
  async #resume(paused, answers) {
    this.#change({ turn: resumed(paused) });
    await this.#read({ path: "chat/resume", body: { thread_id: this.threadId, answers } });
    if (this.failure === undefined || this.last.turn.runId !== "") return;
    // The answer was not taken. What was asked is still asked, unless somebody else has answered it.
    const isClosed = this.failure instanceof Problem && this.failure.code === ERROR_CODE.INTERRUPT_UNKNOWN;
    this.#change(isClosed ? { phase: "failed" } : { turn: paused, phase: "paused" });
  }

  /** @param {Partial<Entry>} changes to the newest entry */
  #change(changes) {
    this.entries = [...this.entries.slice(0, -1), { ...this.last, ...changes }];
    this.parts.onChange();
  }

  /**
   * Read the newest entry's turn to its end.
   * @param {{ path: string, body: Json } | undefined} begin the request that begins it; undefined where it has begun already
   * @param {Cursor} [cursor] where to go on
   */
  async #read(begin, cursor = { runId: "", lastId: "" }) {
    this.#reading?.abort();
    const reading = new AbortController();
    const { signal } = reading;
    [this.#reading, this.#cursor] = [reading, cursor];
    [this.link, this.failure, this.isStopping, this.isWithoutEvents] = [{ open: true, failures: 0 }, undefined, false, false];
    this.delivery = new Delivery();
    this.#change({ phase: "busy" });
    /** @type {Phase} */
    let phase = "over";
    try {
      const start = begin === undefined ? () => Promise.reject(new Error("The turn has begun already.")) : this.#post(begin.path, begin.body, signal);
      const follow = (/** @type {string} */ runId, /** @type {string} */ lastId) => this.#attach(runId, lastId, signal);
      const wait = (/** @type {number} */ ms) => this.#wait(ms);
      for await (const step of readTurn({ start, follow, cursor, wait, now: this.parts.now, signal })) this.#take(step);
      if (this.last.turn.status === "paused") phase = "paused";
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      phase = error instanceof ConnectionLost ? "lost" : this.last.turn.interrupts.length > 0 ? "paused" : "failed";
    }
    if (signal.aborted) return;
    const { turn, message } = this.last;
    if (phase !== "over" && turn.runId === "" && turn.pausedAt === undefined) this.parts.onUnsent(message);
    this.link = { open: true, failures: 0 };
    this.#change({ phase });
    this.parts.onEnd(this.last);
  }

  /**
   * The request that begins or goes on with a turn. Each attempt has the same key: an attempt whose answer was lost may have
   * begun the turn.
   * @param {string} path
   * @param {Json} body
   * @param {AbortSignal} signal
   */
  #post(path, body, signal) {
    const key = randomKey();
    const { canStream, request } = this.parts;
    const headers = { "Content-Type": "application/json", Accept: canStream ? "text/event-stream" : "application/json", "Idempotency-Key": key };
    return () => request(canStream ? `${path}?tokens=1` : path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  /** @param {string} runId @param {string} lastId @param {AbortSignal} signal */
  #attach(runId, lastId, signal) {
    const headers = { Accept: "text/event-stream", ...(lastId !== "" && { "Last-Event-ID": lastId }) };
    return this.parts.request(`chat/runs/${encodeURIComponent(runId)}/events?tokens=1`, { headers, signal });
  }

  /** @param {number} ms @returns {Promise<void>} */
  #wait(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms * (0.85 + Math.random() * 0.3)); // Not all pages at the same moment.
      this.#endWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** @param {Step} step */
  #take(step) {
    if (step.kind === "link") {
      this.link = step;
      this.parts.onChange();
      return;
    }
    const before = this.last.turn;
    if (step.kind === "json") {
      this.isWithoutEvents = true;
      const { text, humanWaitMs } = before;
      this.#change({ turn: { ...turnOf(step.response), text, humanWaitMs } });
    } else {
      const happenedAt = numberIn(step.event, "at");
      if (happenedAt !== undefined && step.first) this.delivery.add(happenedAt, step.arrivedAt);
      this.#change({ turn: advance(before, step.event) });
    }
    const after = this.last.turn;
    this.threadId = after.threadId || this.threadId;
    this.parts.onProgress(before, after);
  }
}

/** 128 random bits as text. `crypto.randomUUID` exists on secure origins only, and this page is also served over plain HTTP. */
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
