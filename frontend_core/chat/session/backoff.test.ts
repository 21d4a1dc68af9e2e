import { expect, it } from "vitest";
import { delayOf } from "./backoff";

const BOUNDS = { firstMs: 100, maxMs: 1_000 };

it("begins at once, doubles, and is bounded", () => {
  expect([0, 1, 2, 3, 4, 5, 1_000].map((attempt) => delayOf(attempt, BOUNDS))).toEqual([0, 100, 200, 400, 800, 1_000, 1_000]);
});

it("is spread downwards only", () => {
  expect(delayOf(2, BOUNDS, 1)).toBe(150);
});
