/** The thread doors of middle-core as the page uses them: list, status, delete. Reads only what it shows. */

import { ask, type Fetch } from "../api";

export interface ThreadItem {
  readonly id: string;
  readonly title: string;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
  readonly running: boolean;
}

export interface ThreadStatus extends ThreadItem {
  /** The run that is going on, and the newest one, running or not, by the server's own ids. */
  readonly activeRunId: string | undefined;
  readonly lastRunId: string | undefined;
}

/** How many threads the side bar shows. */
const LIST_LIMIT = 100;

export interface Caller {
  readonly fetch: Fetch;
  readonly token: string | undefined;
  readonly signal?: AbortSignal;
}

/** The caller's threads, newest first. Throws HttpFailure. */
export async function listThreads(caller: Caller): Promise<readonly ThreadItem[]> {
  const { body } = await ask(caller.fetch, `/api/threads?limit=${LIST_LIMIT}`, options(caller));
  const threads = isRecord(body) && Array.isArray(body.threads) ? body.threads : [];
  return threads.map(readItem).filter((item) => item !== undefined);
}

export type StatusAnswer =
  | { readonly changed: false }
  | { readonly changed: true; readonly status: ThreadStatus; readonly etag: string | undefined };

/** One thread, or `changed: false` when it is still as `etag` knew it. Throws HttpFailure (`not_found` included). */
export async function threadStatus(caller: Caller, threadId: string, etag?: string): Promise<StatusAnswer> {
  const answer = await ask(caller.fetch, `/api/threads/${encodeURIComponent(threadId)}`, { ...options(caller), etag });
  if (answer.status === 304) return { changed: false };
  const item = readItem(answer.body);
  if (item === undefined || !isRecord(answer.body)) return { changed: false };
  return {
    changed: true,
    status: { ...item, activeRunId: runIdOf(answer.body.activeRun), lastRunId: runIdOf(answer.body.lastRun) },
    etag: answer.etag ?? undefined,
  };
}

/** Delete a thread with everything of it. Throws HttpFailure. */
export async function deleteThread(caller: Caller, threadId: string): Promise<void> {
  await ask(caller.fetch, `/api/threads/${encodeURIComponent(threadId)}`, { ...options(caller), method: "DELETE" });
}

function options({ token, signal }: Caller): { token: string | undefined; signal?: AbortSignal } {
  return { token, ...(signal ? { signal } : {}) };
}

function readItem(value: unknown): ThreadItem | undefined {
  if (!isRecord(value) || typeof value.threadId !== "string") return undefined;
  return {
    id: value.threadId,
    title: typeof value.title === "string" ? value.title : "",
    updatedAt: typeof value.updatedAt === "number" ? value.updatedAt : 0,
    running: value.running === true,
  };
}

function runIdOf(value: unknown): string | undefined {
  return isRecord(value) && typeof value.runId === "string" ? value.runId : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
