import { describe, expect, it } from "vitest";

import { checkId, readJson, routeOf, sameOrigin } from "./guard";
import { Refused } from "./problems";

const BASE = "/api/copilotkit";

/** The status that a refusal has; 200 where nothing is refused. */
function statusOf(call: () => unknown): number {
  try {
    call();
    return 200;
  } catch (error) {
    if (error instanceof Refused) return error.problem.status;
    throw error;
  }
}

async function readingOf(body: BodyInit | null, headers: Record<string, string>, max = 100): Promise<number | string> {
  const request = new Request("http://localhost/", { method: "POST", headers, body, duplex: "half" } as RequestInit);
  try {
    return (await readJson(request, max)).text;
  } catch (error) {
    if (error instanceof Refused) return error.problem.status;
    throw error;
  }
}

describe("routeOf", () => {
  it.each([
    ["GET", "/info", { kind: "info" }],
    ["POST", "/agent/default/run", { kind: "run", agent: "default" }],
    ["POST", "/agent/my-agent_1.2/connect", { kind: "connect", agent: "my-agent_1.2" }],
    ["POST", "/agent/default/stop/t%3A1", { kind: "stop", agent: "default", thread: "t:1" }],
  ] as const)("knows %s %s", (method, path, route) => {
    expect(routeOf(method, BASE + path, BASE)).toEqual(route);
  });

  it.each([
    "", "/", "/threads", "/threads/t1", "/threads/t1/messages", "/threads/t1/events", "/threads/t1/state", "/threads/t1/archive", "/threads/clear", "/threads/subscribe",
    "/memories", "/memories/recall", "/memories/subscribe", "/memories/m1", "/transcribe", "/annotate", "/inspector-metadata", "/inspector-learning", "/cpk-debug-events",
    "/agent/default/suggest", "/agent/default", "/agent/default/run/more", "/agent/default/stop", "/agent/default/stop/t1/more", "/agent//run", "/agent/../run", "/agent/..%2f../run",
    "/agent/default%2f..%2fx/run", "/agent/a?b/run", "/agent/%00/run", "/agent/%zz/run", "/x/info", "/info/info", "/threads/info", "/agent/x/run/info",
  ])("answers 404 for %j", (path) => {
    for (const method of ["GET", "POST", "PATCH", "DELETE"]) expect(statusOf(() => routeOf(method, BASE + path, BASE))).toBe(404);
  });

  it.each(["/api/copilotkit-evil/info", "/info", "/api/copilotkitinfo"])("answers 404 outside of its base: %s", (path) => {
    expect(statusOf(() => routeOf("GET", path, BASE))).toBe(404);
  });

  it.each([["POST", "/info"], ["GET", "/agent/default/run"], ["DELETE", "/agent/default/connect"], ["PATCH", "/agent/default/stop/t1"]])("answers 405 for %s %s", (method, path) => {
    expect(statusOf(() => routeOf(method, BASE + path, BASE))).toBe(405);
  });

  it.each(["..", ".", "..%2f..%2fadmin", "%00", "a%20b", "%E4%BD%A0", "x".repeat(129)])("refuses the thread id %j", (id) => {
    expect(statusOf(() => routeOf("POST", `${BASE}/agent/default/stop/${id}`, BASE))).toBe(422);
  });
});

describe("checkId", () => {
  it.each(["t1", "0197c3a2-0000-7000-8000-000000000001", "a.b:c@d_e~f-g", "0", "x".repeat(128)])("takes %j", (id) => {
    expect(checkId("runId", id)).toBe(id);
  });

  it.each(["", ".", "..", "a/b", "a\\b", "a\0", "a\nb", "x".repeat(129), "-a", ".a", "a\n", "你", 5, null, undefined, {}])("refuses %j, naming the field", (id) => {
    expect(() => checkId("runId", id)).toThrow(/^runId: /);
  });
});

describe("sameOrigin", () => {
  const own = { host: "chat.example:3000" };
  it.each([
    ["the page's own request", { ...own, origin: "http://chat.example:3000", "sec-fetch-site": "same-origin" }, 200],
    ["the page's own behind a hop that rewrites the host", { host: "10.0.0.4", origin: "https://chat.example", "sec-fetch-site": "same-origin" }, 200],
    ["a program", { ...own }, 200],
    ["an older browser's own page", { ...own, origin: "http://chat.example:3000" }, 200],
    ["another site", { ...own, origin: "https://evil.example", "sec-fetch-site": "cross-site" }, 403],
    ["another site without Origin", { ...own, "sec-fetch-site": "cross-site" }, 403],
    ["a sibling site", { ...own, origin: "http://other.example", "sec-fetch-site": "same-site" }, 403],
    ["an address typed by hand", { ...own, "sec-fetch-site": "none" }, 403],
    ["another site in an older browser", { ...own, origin: "https://evil.example" }, 403],
    ["another port", { ...own, origin: "http://chat.example:4000" }, 403],
    ["a sandboxed frame", { ...own, origin: "null" }, 403],
    ["a name that only begins the same", { ...own, origin: "http://chat.example:3000.evil.example" }, 403],
  ] as const)("%s", (_, headers, status) => {
    const request = { headers: new Headers(headers) } as Request; // `Request` itself refuses to carry these headers in some runtimes.
    expect(statusOf(() => { sameOrigin(request); })).toBe(status);
  });
});

describe("readJson", () => {
  const type = { "content-type": "application/json" };

  it.each([
    ["JSON", '{"a":1}', type, '{"a":1}'],
    ["JSON with a charset", '{"a":1}', { "content-type": "Application/JSON; charset=utf-8" }, '{"a":1}'],
    ["nothing", "", type, ""],
    ["text/plain", '{"a":1}', { "content-type": "text/plain" }, 415],
    ["a form", "a=1", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["a type that begins the same", "{}", { "content-type": "application/jsonp" }, 415],
    ["another JSON type", "{}", { "content-type": "application/json+evil" }, 415],
    ["broken JSON", "{", type, 422],
    ["a list", "[]", type, 422],
    ["a text", '"x"', type, 422],
    ["null", "null", type, 422],
    ["what is no UTF-8", Uint8Array.of(0x22, 0xff, 0xfe, 0x22), type, 422],
    ["half a character at the end", Uint8Array.of(0x22, 0xe4, 0xbd), type, 422],
    ["more than the bound", `{"a":"${"x".repeat(200)}"}`, type, 413],
    ["more than the bound, as it says itself", "{}", { ...type, "content-length": "101" }, 413],
  ])("%s", async (_, body, headers, result) => {
    expect(await readingOf(body, headers)).toBe(result);
  });

  it("refuses an endless upload without taking it in", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1000;
        controller.enqueue(new Uint8Array(1000).fill(0x20));
      },
    });
    expect(await readingOf(endless, type, 10_000)).toBe(413);
    expect(sent).toBeLessThan(20_000);
  });
});
