/** For tests: a runtime as the page sees it, on a real socket, that plays what the test says. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  readonly path: string;
  readonly body: { readonly messages?: readonly { id: string; role: string; content: string }[]; readonly resume?: unknown };
  readonly headers: IncomingMessage["headers"];
}

type Play = (stage: Stage) => void | Promise<void>;

/** One response, in the test's hands. */
export class Stage {
  constructor(
    readonly asked: Asked,
    readonly response: ServerResponse,
  ) {}

  send(...events: readonly object[]): this {
    if (!this.response.headersSent) this.response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) this.response.write(`data: ${JSON.stringify(event)}\n\n`);
    return this;
  }

  end(): void {
    this.response.end();
  }

  /** The connection breaks; what was sent has gone out. */
  cut(): void {
    this.response.write("", () => this.response.socket?.destroy());
  }

  refuse(status: number, body: object): void {
    this.response.writeHead(status, { "content-type": "application/json" });
    this.response.end(JSON.stringify(body));
  }
}

export class FakeRuntime {
  readonly asked: Asked[] = [];
  /** What the next requests get, in order; the last one stays. */
  run: Play[] = [];
  connect: Play[] = [];
  stop: Play[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  static async start(): Promise<FakeRuntime> {
    const fake = new FakeRuntime();
    fake.#server.listen(0, "127.0.0.1");
    await once(fake.#server, "listening");
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  to(what: "run" | "connect" | "stop"): Asked[] {
    return this.asked.filter(({ path }) => path.includes(`/${what}`));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? "";
    if (path.endsWith("/info")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ version: "0", agents: { default: { description: "" } }, mode: "sse" }));
      return;
    }
    const text = Buffer.concat(chunks).toString();
    const asked: Asked = { path, body: (text === "" ? {} : JSON.parse(text)) as Asked["body"], headers: request.headers };
    this.asked.push(asked);
    const plays = path.includes("/stop/") ? this.stop : path.endsWith("/run") ? this.run : this.connect;
    const play = plays.length > 1 ? plays.shift() : plays[0];
    const stage = new Stage(asked, response);
    if (play === undefined) stage.refuse(500, { code: "internal" });
    else await play(stage);
  }
}

export const RUN = { threadId: "t", runId: "r" };
export const started = { type: "RUN_STARTED", ...RUN };
export const finished = { type: "RUN_FINISHED", ...RUN };
export const cancelled = { type: "CUSTOM", name: "middle_core.run_cancelled", value: { by: "user", reason: "" } };
export const failed = (code: string) => ({ type: "RUN_ERROR", message: "Words.", code });
export const snapshot = (...messages: readonly object[]) => ({ type: "MESSAGES_SNAPSHOT", messages });
export const begin = (messageId: string) => ({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
export const say = (messageId: string, delta: string) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
export const close = (messageId: string) => ({ type: "TEXT_MESSAGE_END", messageId });

/** Wait for a condition, with a bound. */
export async function until(condition: () => boolean, what: string, withinMs = 5_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited ${withinMs} ms for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
