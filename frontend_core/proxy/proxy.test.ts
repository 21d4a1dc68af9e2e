import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Proxy } from "./proxy";
import { all, get, input, post, run, stop, TOKEN } from "./testing/browser";
import { FakeMiddleCore, json, problem, script } from "./testing/fake";

let core: FakeMiddleCore;
let proxy: Proxy;

beforeEach(async () => {
  core = await FakeMiddleCore.start();
  core.log = script(["Hello"]);
  proxy = new Proxy(core.config());
});

afterEach(async () => {
  await proxy.close();
  await core.stop();
});

/** The test's middle-core goes away for one call. */
async function away<T>(call: () => Promise<T>): Promise<T> {
  const { port } = core;
  await core.stop();
  try {
    return await call();
  } finally {
    core = await FakeMiddleCore.start(port);
  }
}

describe("a refused run", () => {
  it.each([
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "not_found"],
    [409, "invalid_request"],
    [404, "interrupt_unknown"],
    [413, "too_large"],
    [422, "invalid_request"],
    [429, "rate_limited"],
    [500, "internal"],
    [503, "model_unavailable"],
  ])("has its real status, %i %s, and JSON with words", async (status, code) => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { problem(response, status, code, { retry_after: 7 }); } });
    const response = await proxy.copilotkit(run());
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(response.headers.get("retry-after")).toBe("7");
    expect(await response.json()).toEqual({ status, code, title: "A title", detail: `Words for ${code}.`, correlation_id: "c0ffee", retry_after: 7 });
    expect(core.seen).toHaveLength(1);
  });

  it("never passes an upstream's text on", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(500, { "content-type": "text/plain" }).end("Traceback: postgres://u:hunter2@db"); } });
    const response = await proxy.copilotkit(run());
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/Traceback|hunter2/);
  });

  it("follows no redirect with the caller's token", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(307, { location: `http://127.0.0.1:${core.port}/elsewhere` }).end(); } });
    expect((await proxy.copilotkit(run())).status).toBe(500);
    expect(core.seen.map((seen) => seen.path)).toEqual(["/copilotkit"]);
  });

  it("on a busy thread is shown in the conversation", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { problem(response, 409, "thread_busy"); } });
    expect(await all(await proxy.copilotkit(run()))).toEqual([
      { type: "RUN_STARTED", threadId: "t1", runId: "r1" },
      { type: "RUN_ERROR", code: "thread_busy", message: "Words for thread_busy.", correlationId: "c0ffee" },
    ]);
  });

  it("is an error within the stream when the answer comes too late for a status", async () => {
    await proxy.close();
    proxy = new Proxy(core.config({ verdictMs: 20 }));
    core.answers.push({ path: /^\/copilotkit$/, answer: async (response, seen) => {
      await Promise.race([seen.left, new Promise((resolve) => setTimeout(resolve, 100))]);
      problem(response, 401, "unauthorized");
    } });
    expect(await all(await proxy.copilotkit(run()))).toMatchObject([{ type: "RUN_STARTED" }, { type: "RUN_ERROR", code: "unauthorized" }]);
  });

  it("while middle-core is away is a 503 where that is known in time", async () => {
    await proxy.close();
    proxy = new Proxy(core.config({ startMs: 60 }));
    const response = await away(() => proxy.copilotkit(run()));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "draining" });
  });
});

describe("what another site could make a browser send", () => {
  const evil = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };

  it.each([
    ["a cross-site text/plain post", { "content-type": "text/plain", ...evil }, 403],
    ["a cross-site JSON post", evil, 403],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["same-origin text/plain", { "content-type": "text/plain" }, 415],
    ["multipart", { "content-type": "multipart/form-data; boundary=x" }, 415],
  ])("%s starts nothing", async (_, headers, status) => {
    for (const request of [run({}, { headers }), stop("t1", "{}", { headers }), post("/api/copilotkit/agent/default/connect", input(), { headers })]) {
      const response = await proxy.copilotkit(request);
      expect(response.status).toBe(status);
      expect(await response.json()).toHaveProperty("detail");
    }
    expect((await proxy.devToken(post("/api/dev/token", { sub: "alice" }, { headers }))).status).toBe(status);
    expect(core.seen).toEqual([]);
  });

  it("a cross-site deletion deletes nothing", async () => {
    const request = new Request("http://localhost:3000/api/threads/t1", { method: "DELETE", headers: { authorization: TOKEN, ...evil } });
    expect((await proxy.thread(request, "t1")).status).toBe(403);
    expect(core.seen).toEqual([]);
  });
});

describe("bad input", () => {
  it.each(["threads", "threads/t1", "threads/t1/messages", "threads/clear", "memories", "memories/recall", "transcribe", "annotate", "inspector-metadata", "inspector-learning", "cpk-debug-events", "agent/default/suggest", "", "x/threads"])(
    "the runtime's own %j does not exist",
    async (path) => {
      expect((await proxy.copilotkit(get(`/api/copilotkit/${path}`))).status).toBe(404);
      expect((await proxy.copilotkit(post(`/api/copilotkit/${path}`, input()))).status).toBe(404);
      expect(core.seen).toEqual([]);
    },
  );

  it("a single-route envelope does not get around the routes", async () => {
    const envelope = { method: "resource/request", params: { path: "/threads", httpMethod: "GET" } };
    expect((await proxy.copilotkit(post("/api/copilotkit", envelope))).status).toBe(404);
  });

  it("30 MB are 413 and reach nobody", async () => {
    const response = await proxy.copilotkit(run({ messages: [{ id: "u", role: "user", content: "x".repeat(30 * 1024 * 1024) }] }));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ code: "too_large" });
    expect(core.seen).toEqual([]);
  });

  it.each([
    ["no JSON", "{", "JSON"],
    ["a list", "[]", "object"],
    ["no thread", { ...input(), threadId: undefined }, "threadId"],
    ["a thread that walks", input({ threadId: "../../admin" }), "threadId"],
    ["a thread with NUL", input({ threadId: "a\0b" }), "threadId"],
    ["a thread of 10 kB", input({ threadId: "x".repeat(10_240) }), "threadId"],
    ["a run that is no text", input({ runId: 5 }), "runId"],
    ["messages that are no list", input({ messages: {} }), "messages"],
    ["a message of no known role", input({ messages: [{ id: "1", role: "root", content: "x" }] }), "messages.0.role"],
    ["a tool without a name", input({ tools: [{ description: "" }] }), "tools.0.name"],
  ])("%s is 422 with a word on what is wrong", async (_, body, word) => {
    const response = await proxy.copilotkit(post("/api/copilotkit/agent/default/run", body));
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: "invalid_request", detail: expect.stringContaining(word) as string });
    expect(core.seen).toEqual([]);
  });

  it("a wrong method is 405", async () => {
    expect((await proxy.copilotkit(get("/api/copilotkit/agent/default/run"))).status).toBe(405);
  });

  it("an agent that does not exist is middle-core's 404", async () => {
    core.answers.push({ path: /nobody$/, answer: (response) => { problem(response, 404, "not_found"); } });
    expect((await proxy.copilotkit(post("/api/copilotkit/agent/nobody/run", input()))).status).toBe(404);
  });
});

describe("threads", () => {
  it("lists with the caller's token and the query", async () => {
    core.answers.push({ path: /^\/threads/, answer: (response) => { json(response, 200, { threads: [], next: null }, { "x-internal": "1" }); } });
    const response = await proxy.threads(get("/api/threads?limit=5&cursor=abc"));
    expect(await response.json()).toEqual({ threads: [], next: null });
    expect(response.headers.get("x-internal")).toBeNull();
    expect(core.seen[0]).toMatchObject({ method: "GET", path: "/threads?limit=5&cursor=abc" });
    expect(core.seen[0]?.headers.authorization).toBe(TOKEN);
  });

  it("passes ETag and If-None-Match through", async () => {
    core.answers.push({ path: /^\/threads\/t1$/, answer: (response) => { response.writeHead(304, { etag: '"v1"', "cache-control": "private, no-cache" }).end(); } });
    const response = await proxy.thread(get("/api/threads/t1", { "if-none-match": '"v1"' }), "t1");
    expect(response.status).toBe(304);
    expect(response.headers.get("etag")).toBe('"v1"');
    expect(response.headers.get("cache-control")).toBe("private, no-cache");
    expect(core.seen[0]?.headers["if-none-match"]).toBe('"v1"');
  });

  it("deletes", async () => {
    core.answers.push({ path: /^\/threads\/t1$/, answer: (response) => { response.writeHead(204).end(); } });
    const headers = { authorization: TOKEN, "sec-fetch-site": "same-origin" };
    const response = await proxy.thread(new Request("http://localhost:3000/api/threads/t1", { method: "DELETE", headers }), "t1");
    expect(response.status).toBe(204);
    expect(core.seen[0]).toMatchObject({ method: "DELETE", path: "/threads/t1" });
  });

  it.each(["..", "../admin", "a/b", "a\0"])("refuses the id %j", async (id) => {
    expect((await proxy.thread(get("/api/threads/x"), id)).status).toBe(422);
    expect(core.seen).toEqual([]);
  });

  it("answers a problem for an upstream error, and 503 while middle-core is away", async () => {
    core.answers.push({ path: /^\/threads/, answer: (response) => { problem(response, 401, "unauthorized"); } });
    const refused = await proxy.threads(get("/api/threads"));
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ code: "unauthorized", detail: "Words for unauthorized." });
    const gone = await away(() => proxy.threads(get("/api/threads")));
    expect(gone.status).toBe(503);
  });
});

describe("info of middle-core", () => {
  it("is passed on to who may have it", async () => {
    core.answers.push({ path: /^\/copilotkit\/info$/, answer: (response) => { json(response, 200, { model: "offline", agents: [] }); } });
    expect(await (await proxy.info(get("/api/info"))).json()).toEqual({ model: "offline", agents: [] });
    core.answers.push({ path: /^\/copilotkit\/info$/, answer: (response) => { problem(response, 401, "unauthorized"); } });
    expect((await proxy.info(get("/api/info"))).status).toBe(401);
  });
});

describe("dev token", () => {
  const ask = (host: string) => proxy.devToken(post("/api/dev/token", { sub: "alice" }, { headers: { host } }));

  it("is middle-core's answer, asked without anybody's token", async () => {
    core.answers.push({ path: /^\/dev\/token$/, answer: (response) => { json(response, 200, { token: "x" }); } });
    expect(await (await ask("localhost:3000")).json()).toEqual({ token: "x" });
    expect(core.seen[0]).toMatchObject({ method: "POST", body: '{"sub":"alice"}' });
    expect(core.seen[0]?.headers).not.toHaveProperty("authorization");
  });

  it("does not exist where middle-core has none", async () => {
    expect((await ask("127.0.0.1:3000")).status).toBe(404);
  });

  it("does not exist under another name, which a page elsewhere could have been given", async () => {
    for (const host of ["chat.example", "127.0.0.1.evil.example", "localhost.evil.example:3000"]) expect((await ask(host)).status).toBe(404);
    expect(core.seen).toEqual([]);
  });
});

describe("health", () => {
  it("tells whether middle-core is there and ready", async () => {
    core.answers.push({ path: /^\/readyz$/, answer: (response) => { json(response, 200, { status: "ready" }); } });
    expect((await proxy.health(get("/api/health"))).status).toBe(200);
    core.answers.push({ path: /^\/readyz$/, answer: (response) => { json(response, 503, { status: "draining" }); } });
    const draining = await proxy.health(get("/api/health"));
    expect(draining.status).toBe(503);
    expect(await draining.json()).toMatchObject({ code: "draining" });
    expect((await away(() => proxy.health(get("/api/health")))).status).toBe(503);
  });
});
