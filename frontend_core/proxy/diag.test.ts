/** `/api/diag`: timed events pass as they come, also through silence, and a leaving passes the other way. */

import type { ServerResponse } from "node:http";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Proxy } from "./proxy";
import { FakeMiddleCore, json, problem, STREAM_HEADERS } from "./testing/fake";
import { within } from "./testing/wait";

let core: FakeMiddleCore;
let proxy: Proxy;

beforeEach(async () => {
  core = await FakeMiddleCore.start();
  proxy = new Proxy(core.config({}, { diag: true }));
});

afterEach(async () => {
  await proxy.close();
  await core.stop();
});

const ask = (path: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  proxy.diag(new Request(`http://localhost:3000${path}`, { headers: { authorization: "Bearer t", ...headers }, ...(signal && { signal }) }));

/** middle-core's next stream, in the test's hands. */
function held(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    core.answers.push({ path: /^\/diag\/stream/, answer: (response) => {
      response.writeHead(200, STREAM_HEADERS);
      response.write(": middle-core\n\n");
      resolve(response);
    } });
  });
}

async function reading(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const next = async () => {
    const { done, value } = await within("a chunk", reader.read());
    return done ? null : new TextDecoder().decode(value);
  };
  expect([await next(), await next()]).toEqual([": hello\n\n", ": middle-core\n\n"]);
  return { reader, next };
}

describe("a stream", () => {
  it("passes piece by piece, with the headers that keep it so, and with nothing added in a silence", async () => {
    await proxy.close();
    proxy = new Proxy(core.config({ heartbeatMs: 10, silenceMs: 20 }, { diag: true })); // Both would show, if they were asked.
    const upstream = held();
    const response = await ask("/api/diag/stream?n=2&gap_ms=5");
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const { next } = await reading(response);
    const source = await upstream;
    source.write("data: 1\n\n");
    expect(await next()).toBe("data: 1\n\n");
    await new Promise((resolve) => setTimeout(resolve, 100)); // The silence itself: ten heartbeats and five patiences long.
    source.end("data: 2\n\n");
    expect(await next()).toBe("data: 2\n\n");
    expect(await next()).toBeNull();
    expect(core.seen[0]).toMatchObject({ method: "GET", path: "/diag/stream?n=2&gap_ms=5", headers: { authorization: "Bearer t", accept: "text/event-stream" } });
  });

  it("ends at middle-core when its reader leaves", async () => {
    const upstream = held();
    const { reader } = await reading(await ask("/api/diag/stream"));
    await upstream;
    await reader.cancel();
    await within("middle-core sees it", core.seen[0]?.left ?? Promise.reject(new Error("it was not asked")));
  });

  it("ends at middle-core when its request is given up", async () => {
    const given = new AbortController();
    const upstream = held();
    await reading(await ask("/api/diag/stream", {}, given.signal));
    await upstream;
    given.abort();
    await within("middle-core sees it", core.seen[0]?.left ?? Promise.reject(new Error("it was not asked")));
  });

  it("breaks off where middle-core's breaks off", async () => {
    const upstream = held();
    const { next } = await reading(await ask("/api/diag/stream"));
    (await upstream).socket?.destroy();
    await expect(next()).rejects.toThrow();
  });

  it("ends with a drain, and no new one begins", async () => {
    const upstream = held();
    const { next } = await reading(await ask("/api/diag/stream"));
    await upstream;
    proxy.drain();
    await expect(next().catch(() => null)).resolves.toBeNull();
    expect((await ask("/api/diag/stream")).status).toBe(503);
  });
});

describe("what else there is", () => {
  it("carries the diag key, and no other header of the caller", async () => {
    core.answers.push({ path: /^\/diag\/runs\//, answer: (response) => { json(response, 200, { state: "running" }); } });
    const response = await ask("/api/diag/runs/diag-0197c3a2", { "x-diag-key": "k", cookie: "c=1", "x-evil": "1" });
    expect(await response.json()).toEqual({ state: "running" });
    expect(core.seen[0]?.headers).toMatchObject({ "x-diag-key": "k", authorization: "Bearer t" });
    expect(core.seen[0]?.headers).not.toHaveProperty("cookie");
    expect(core.seen[0]?.headers).not.toHaveProperty("x-evil");
  });

  it.each([401, 404, 422, 429, 503])("a refusal keeps its status: %i", async (status) => {
    core.answers.push({ path: /^\/diag/, answer: (response) => { problem(response, status, status === 401 ? "unauthorized" : "invalid_request"); } });
    const response = await ask("/api/diag/stream");
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toContain("application/json");
  });

  it.each(["/api/diag", "/api/diag/", "/api/diag/other", "/api/diag/stream/more", "/api/diag/runs/", "/api/diag/runs/..%2f..%2freadyz", "/api/diag/runs/x", `/api/diag/stream?${"n".repeat(600)}`])(
    "%s does not exist",
    async (path) => {
      expect((await ask(path)).status).toBe(404);
      expect(core.seen).toEqual([]);
    },
  );

  it("nothing exists where it is not switched on", async () => {
    await proxy.close();
    proxy = new Proxy(core.config());
    expect((await ask("/api/diag/stream")).status).toBe(404);
    expect((await ask("/api/diag/runs/diag-0197c3a2")).status).toBe(404);
    expect(core.seen).toEqual([]);
  });
});
