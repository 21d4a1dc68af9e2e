import { describe, expect, it } from "vitest";

import { AWAY, byStatus, passes, problemOf, problemResponse, runError } from "./problems";

const SECRET = "postgres://user:hunter2@db/prod";

const upstream = (status: number, type: string, body: string, headers: Record<string, string> = {}) =>
  problemOf(new Response(body, { status, headers: { "content-type": type, ...headers } }));

const ours = { code: "model_rate_limited", title: "The model failed", detail: "Wait a moment.", correlation_id: "c0ffee", retry_after: 7 };

describe("problemOf", () => {
  it("believes a problem with a code of ours", async () => {
    expect(await upstream(429, "application/problem+json", JSON.stringify(ours))).toEqual({
      status: 429, code: "model_rate_limited", title: "The model failed", detail: "Wait a moment.", correlationId: "c0ffee", retryAfter: 7,
    });
  });

  it.each([
    [401, "text/plain", SECRET, "unauthorized"],
    [403, "text/html", `<p>${SECRET}`, "forbidden"],
    [404, "application/json", JSON.stringify({ detail: SECRET }), "not_found"],
    [409, "application/json", JSON.stringify({ code: "SOMETHING", detail: SECRET }), "invalid_request"],
    [413, "text/plain", SECRET, "too_large"],
    [422, "application/json", JSON.stringify({ detail: [{ input: SECRET }] }), "invalid_request"],
    [429, "text/plain", SECRET, "rate_limited"],
    [500, "application/json", JSON.stringify({ detail: SECRET, traceback: SECRET }), "internal"],
    [502, "text/html", SECRET, "draining"],
    [503, "application/problem+json", "{broken", "draining"],
    [504, "text/plain", "stream timeout", "draining"],
    [307, "text/plain", SECRET, "internal"],
    [418, "application/problem+json", "null", "internal"],
    [500, "application/problem+json", "x".repeat(200_000), "internal"],
    [500, "text/plain", JSON.stringify({ ...ours, detail: SECRET }), "internal"],
  ])("knows %i %s by its status alone", async (status, type, body, code) => {
    const problem = await upstream(status, type, body);
    expect(problem.code).toBe(code);
    expect(problem.status).toBeGreaterThanOrEqual(400);
    expect(problem.detail.length).toBeGreaterThan(10);
    expect(JSON.stringify(problem)).not.toMatch(/hunter2|stream timeout|broken/);
  });

  it("takes Retry-After where the body has none, within reason", async () => {
    expect((await upstream(429, "text/plain", "", { "retry-after": "3" })).retryAfter).toBe(3);
    expect((await upstream(429, "text/plain", "", { "retry-after": "99999999" })).retryAfter).toBe(3600);
    expect(await upstream(429, "text/plain", "", { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" })).not.toHaveProperty("retryAfter");
  });
});

describe("a problem's forms", () => {
  it("is JSON that @ag-ui/client parses, with a real status", async () => {
    const response = problemResponse({ ...byStatus(401), correlationId: "c0ffee", retryAfter: 1.2 });
    expect(response.status).toBe(401);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(response.headers.get("www-authenticate")).toContain("Bearer");
    expect(response.headers.get("retry-after")).toBe("2");
    expect(await response.json()).toEqual({ status: 401, code: "unauthorized", title: "Not signed in", detail: "Sign in again to go on.", correlation_id: "c0ffee", retry_after: 1.2 });
  });

  it("is a RUN_ERROR", () => {
    expect(runError({ ...AWAY, correlationId: "c0ffee", retryAfter: 2 })).toEqual({ type: "RUN_ERROR", code: "draining", message: AWAY.detail, correlationId: "c0ffee", retryAfter: 2 });
  });

  it("passes by itself only where somebody is away", () => {
    expect([401, 403, 404, 409, 413, 422, 429, 500].filter((status) => passes(byStatus(status)))).toEqual([]);
    expect([408, 502, 503, 504].every((status) => passes(byStatus(status)))).toBe(true);
  });
});
