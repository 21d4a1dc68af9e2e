import { describe, expect, it } from "vitest";
import { HttpFailure } from "../errors/failure";
import { deleteThread, listThreads, threadStatus } from "./threadApi";

const seen: { path: string; init: RequestInit | undefined }[] = [];
const caller = (answer: () => Response) => ({
  token: "tok",
  fetch: async (path: string, init?: RequestInit) => {
    seen.push({ path, init });
    return answer();
  },
});

describe("the thread doors", () => {
  it("list what can be shown and skip what cannot", async () => {
    const threads = [{ threadId: "a", title: "A", updatedAt: 5, running: true }, { title: "no id" }, null];
    expect(await listThreads(caller(() => Response.json({ threads, next: null })))).toEqual([{ id: "a", title: "A", updatedAt: 5, running: true }]);
    expect(new Headers(seen.at(-1)?.init?.headers).get("authorization")).toBe("Bearer tok");
  });

  it("tell a status with its tag, and that nothing has changed", async () => {
    const body = { threadId: "a", title: "A", updatedAt: 5, running: true, activeRun: { runId: "r2", clientRunId: "c" }, lastRun: { runId: "r2", clientRunId: "c" } };
    const fresh = await threadStatus(caller(() => Response.json(body, { headers: { etag: '"e"' } })), "a/ b");
    expect(seen.at(-1)?.path).toBe("/api/threads/a%2F%20b");
    expect(fresh).toMatchObject({ changed: true, etag: '"e"', status: { activeRunId: "r2", lastRunId: "r2" } });
    expect(await threadStatus(caller(() => new Response(null, { status: 304 })), "a", '"e"')).toEqual({ changed: false });
    expect(new Headers(seen.at(-1)?.init?.headers).get("if-none-match")).toBe('"e"');
  });

  it("throw failures with a code, whatever the server says, and `offline` when it says nothing", async () => {
    const refuse = (body: string, status: number, type: string) => caller(() => new Response(body, { status, headers: { "content-type": type } }));
    await expect(deleteThread(refuse('{"code":"forbidden"}', 403, "application/problem+json"), "a")).rejects.toMatchObject({ failure: { code: "forbidden" } });
    await expect(deleteThread(refuse("stream timeout", 504, "text/plain"), "a")).rejects.toMatchObject({ failure: { code: "unavailable" } });
    await expect(deleteThread(refuse("{broken", 500, "application/json"), "a")).rejects.toBeInstanceOf(HttpFailure);
    const away = { token: undefined, fetch: () => Promise.reject(new TypeError("Failed to fetch")) };
    await expect(listThreads(away)).rejects.toMatchObject({ failure: { code: "offline" } });
  });
});
