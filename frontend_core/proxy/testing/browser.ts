/** What a browser does to the proxy, without one: requests as CopilotKit's client makes them, and its reading of a stream. */

import { type BaseEvent, verifyEvents } from "@ag-ui/client";
import { from, lastValueFrom, toArray } from "rxjs";

import type { Event } from "./fake";

const ORIGIN = "http://localhost:3000";
export const TOKEN = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl";

export interface Post {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly token?: string;
}

export function input(more: Record<string, unknown> = {}): Record<string, unknown> {
  const messages = [{ id: "u1", role: "user", content: "hi" }];
  return { threadId: "t1", runId: "r1", messages, tools: [], context: [], state: {}, forwardedProps: {}, ...more };
}

export function post(path: string, body: unknown, { headers = {}, signal, token = TOKEN }: Post = {}): Request {
  return new Request(ORIGIN + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: token, origin: ORIGIN, host: "localhost:3000", "sec-fetch-site": "same-origin", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

export function get(path: string, headers: Record<string, string> = {}): Request {
  return new Request(ORIGIN + path, { headers: { authorization: TOKEN, ...headers } });
}

export const run = (more: Record<string, unknown> = {}, options: Post = {}) => post("/api/copilotkit/agent/default/run", input(more), options);
export const connect = (more: Record<string, unknown> = {}, options: Post = {}) => post("/api/copilotkit/agent/default/connect", input({ messages: [], ...more }), options);
export const stop = (thread = "t1", body: unknown = "", options: Post = {}) => post(`/api/copilotkit/agent/default/stop/${thread}`, body, options);

/** The events of a stream as they come. */
export async function* events(response: Response): AsyncGenerator<Event> {
  if (response.status !== 200) throw new Error(`Not a stream: ${response.status} ${await response.text()}`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      if (block.startsWith("data: ")) yield JSON.parse(block.slice(6)) as Event;
    }
  }
  if (text !== "") throw new Error(`The stream ended within a frame: ${text}`);
}

/** All events of a stream; they have passed the client's own verifier. */
export async function all(response: Response): Promise<Event[]> {
  const list: Event[] = [];
  for await (const event of events(response)) list.push(event);
  await lastValueFrom(verifyEvents(false)(from(list as unknown as BaseEvent[])).pipe(toArray()));
  return list;
}

/** The text that the browser would show. */
export function textOf(list: readonly Event[]): string {
  return list.filter((event) => event.type === "TEXT_MESSAGE_CONTENT").map((event) => String(event.delta)).join("");
}
