/**
 * A middle-core for tests: a real HTTP server on this machine that speaks the wire contract from a script.
 *
 * It keeps one log and answers `run`, `connect`, `events`, `stop`, `threads` and the rest from it. `cuts` says after how
 * many bytes of its body each next stream loses its socket; `answers` replaces single answers.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { Config, Timing } from "../config";
import { readConfig } from "../config";

export type Event = Readonly<Record<string, unknown>>;

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Resolves when the proxy has left before the answer was complete. */
  readonly left: Promise<void>;
}

type Answer = (response: ServerResponse, seen: Seen) => void | Promise<void>;

export const RUN = "0197c3a2-0000-7000-8000-000000000001";
export const STREAM_HEADERS = { "content-type": "text/event-stream; charset=utf-8", "x-run-id": RUN };

/** Quick times, so that a test of silence takes a moment. */
export const QUICK: Partial<Timing> = { backoffMs: 2, maxBackoffMs: 20, startMs: 400, awayMs: 400, verdictMs: 2000, silenceMs: 2_000, heartbeatMs: 1_000 };

export class FakeMiddleCore {
  log: Event[] = [];
  /** Bytes after which the next streams break; a stream without an entry ends as it should. */
  cuts: number[] = [];
  /** Consumed in order by the requests whose path matches. */
  readonly answers: { readonly path: RegExp; readonly answer: Answer }[] = [];
  readonly seen: Seen[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  static async start(port = 0): Promise<FakeMiddleCore> {
    const fake = new FakeMiddleCore();
    fake.#server.listen(port, "127.0.0.1");
    await once(fake.#server, "listening");
    return fake;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  config(timing: Partial<Timing> = {}, more: Partial<Config> = {}): Config {
    const config = readConfig({ MIDDLE_CORE_URL: `http://127.0.0.1:${this.port}` });
    return { ...config, ...more, timing: { ...config.timing, ...QUICK, ...timing } };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** The requests to a path. */
  to(path: RegExp): Seen[] {
    return this.seen.filter((seen) => path.test(seen.path));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const left = new Promise<void>((resolve) => {
      response.on("close", () => {
        if (!response.writableFinished) resolve();
      });
    });
    const path = request.url ?? "";
    const seen = { method: request.method ?? "", path, headers: request.headers, body: Buffer.concat(chunks).toString(), left };
    this.seen.push(seen);
    const index = this.answers.findIndex((one) => one.path.test(path));
    const [own] = index < 0 ? [] : this.answers.splice(index, 1);
    if (own) return own.answer(response, seen);
    if (/^\/copilotkit(\/[^/]+)?(\/connect)?$/.test(path) && seen.method === "POST" && !path.endsWith("/stop")) {
      this.stream(response, 0);
    } else if (path.startsWith("/copilotkit/runs/")) {
      const last = String(request.headers["last-event-id"] ?? "0");
      this.stream(response, Number(last.split(":").at(-1)));
    } else if (path === "/copilotkit/stop") {
      json(response, 200, { stopped: true });
    } else {
      problem(response, 404, "not_found");
    }
  }

  /** The log after `seq`, as it stands, with ids; cut where the script says. */
  stream(response: ServerResponse, after: number): void {
    const body = Buffer.from(`: middle-core\n\n${this.log.map((event, index) => frame(event, index + 1)).slice(after).join("")}`);
    const cut = this.cuts.shift();
    response.writeHead(200, STREAM_HEADERS);
    if (cut === undefined || cut >= body.length) {
      response.end(body);
    } else {
      response.flushHeaders();
      response.write(body.subarray(0, cut), () => response.socket?.destroy());
    }
  }
}

export function frame(event: Event, seq: number | null): string {
  return `${seq === null ? "" : `id: ${RUN}:${seq}\n`}data: ${JSON.stringify(event)}\n\n`;
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function problem(response: ServerResponse, status: number, code: string, more: Record<string, unknown> = {}): void {
  const headers: Record<string, string> = { "content-type": "application/problem+json" };
  if (typeof more.retry_after === "number") headers["retry-after"] = String(more.retry_after);
  response.writeHead(status, headers).end(JSON.stringify({ status, code, title: "A title", detail: `Words for ${code}.`, correlation_id: "c0ffee", ...more }));
}

/** A run that says `words`, one delta each. */
export function script(words: readonly string[], { threadId = "t1", runId = "r1" } = {}): Event[] {
  const messageId = "m1";
  return [
    { type: "RUN_STARTED", threadId, runId },
    { type: "CUSTOM", name: "middle_core.run", value: { runId: RUN, threadId, agent: "a", attempt: 1 } },
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
    ...words.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
    { type: "TEXT_MESSAGE_END", messageId },
    { type: "RUN_FINISHED", threadId, runId },
  ];
}
