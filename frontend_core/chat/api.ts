/**
 * The page's own requests: JSON in, JSON out, problem+json turned into `HttpFailure`.
 *
 * Everything the chat itself needs goes through CopilotKit; this is for the rest (threads, health, sign-in).
 */

import { failureOfHttp, HttpFailure } from "./errors/failure";

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

/** The browser's own, looked up when it is used: nothing here needs a window before that. */
export const browserFetch: Fetch = (input, init) => fetch(input, init);

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly etag: string | null;
}

export interface Ask {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly token?: string | undefined;
  readonly json?: unknown;
  /** Answered with status 304 and no body when nothing changed. */
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A request that takes longer than this counts as a server that is away. */
const PATIENCE_MS = 10_000;

/** Sends one request. Throws HttpFailure: the server's problem, or `offline` when it did not answer. */
export async function ask(fetch: Fetch, path: string, { method = "GET", token, json, etag, signal }: Ask = {}): Promise<Answer> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (json !== undefined) headers["content-type"] = "application/json";
  if (etag !== undefined) headers["if-none-match"] = etag;
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(path, {
      method,
      headers,
      cache: "no-store",
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    body = await readJson(response);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new HttpFailure({ code: "offline" });
  }
  if (response.ok || response.status === 304) {
    return { status: response.status, body, etag: response.headers.get("etag") };
  }
  throw new HttpFailure(failureOfHttp(response.status, body, response.headers.get("retry-after")));
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!/[/+]json\b/.test(response.headers.get("content-type") ?? "")) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // A body that lies about its type says nothing: the status has to do.
  }
}
