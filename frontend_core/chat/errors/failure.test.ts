import { describe, expect, it } from "vitest";
import { failureOfHttp, failureOfRunError, failureOfThrown, HttpFailure, isAway } from "./failure";
import { ERROR_CODES } from "../../contract";
import { wordsOf } from "./errorMessages";

describe("a failure", () => {
  it("is read from problem+json", () => {
    const body = { code: "rate_limited", detail: "Slow down.", correlation_id: "c1", retry_after: 12 };
    expect(failureOfHttp(429, body)).toEqual({ code: "rate_limited", detail: "Slow down.", correlationId: "c1", retryAfter: 12 });
  });

  it("is known by its status when the body says nothing", () => {
    expect(failureOfHttp(429, "<html>", "7")).toMatchObject({ code: "rate_limited", retryAfter: 7, detail: undefined });
    expect(failureOfHttp(504, undefined).code).toBe("unavailable");
    expect(failureOfHttp(418, null).code).toBe("internal");
  });

  it("is read from RUN_ERROR", () => {
    expect(failureOfRunError({ type: "RUN_ERROR", message: "Gone.", code: "run_lost", correlationId: "c2" })).toMatchObject({
      code: "run_lost",
      detail: "Gone.",
      correlationId: "c2",
    });
    expect(failureOfRunError({ message: "" })).toMatchObject({ code: "internal", detail: undefined });
  });

  it("is read from what was thrown; no status means that the connection broke", () => {
    expect(failureOfThrown(new HttpFailure({ code: "forbidden" })).code).toBe("forbidden");
    expect(failureOfThrown(Object.assign(new Error("HTTP 401: {}"), { status: 401, payload: {} })).code).toBe("unauthorized");
    expect(failureOfThrown(Object.assign(new Error(), { runtimeInfoStatus: 503 })).code).toBe("unavailable");
    expect(failureOfThrown(new TypeError("network error")).code).toBe("offline");
    expect(failureOfThrown(undefined).code).toBe("offline");
  });

  it("is away or an answer", () => {
    expect((["offline", "unavailable", "draining", "connection_lost"] as const).every((code) => isAway({ code }))).toBe(true);
    expect(isAway({ code: "run_lost" })).toBe(false);
  });
});

describe("wordsOf", () => {
  it.each(ERROR_CODES)("has words of its own for %s", (code) => {
    const words = wordsOf({ code });
    expect(words.title).not.toBe("");
    expect(code === "internal" || words.title !== wordsOf({ code: "internal" }).title).toBe(true);
  });

  it("prefers the server's sentence, and names the seconds to wait", () => {
    expect(wordsOf({ code: "forbidden", detail: "Only admins delete." }).text).toBe("Only admins delete.");
    expect(wordsOf({ code: "internal", detail: "The details are in the log." }).text).toBe("The answer could not be finished.");
    expect(wordsOf({ code: "rate_limited", detail: "x", retryAfter: 11.2 }).text).toMatch(/Try again in 12 seconds\.$/);
    expect(wordsOf({ code: "rate_limited", retryAfter: 0.4 }).text).toMatch(/in 1 second\.$/);
  });

  it("has words for a code of a newer server, which tells nothing here", () => {
    expect(wordsOf(failureOfHttp(418, { code: "brand_new" })).title).toBe("Something went wrong");
    expect(failureOfHttp(429, { code: "brand_new" }).code, "its status tells").toBe("rate_limited");
  });
});
