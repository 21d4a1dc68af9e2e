import { describe, expect, it } from "vitest";
import { advance, type Progress } from "./progress";

const told = (...values: unknown[]): ReadonlyMap<string, Progress> => values.reduce<ReadonlyMap<string, Progress>>(advance, new Map());

describe("advance", () => {
  it("keeps the steps that went before, for each call on its own", () => {
    const all = told(
      { label: "Waiting", fraction: 0, toolCallId: "a" },
      { label: "Reading", fraction: 0.2, toolCallId: "a" },
      { label: "Reading", fraction: 0.4, toolCallId: "a" },
      { label: "Fetching", fraction: null, toolCallId: "b" },
      { label: "Indexing", fraction: 7, toolCallId: "a" },
      { label: "Waiting for capacity" },
    );
    expect(all.get("a")).toEqual({ label: "Indexing", fraction: 1, toolCallId: "a", past: ["Waiting", "Reading"] });
    expect(all.get("b")).toEqual({ label: "Fetching", fraction: undefined, toolCallId: "b", past: [] });
    expect(all.get("")?.label).toBe("Waiting for capacity");
  });

  it("leaves what it cannot read", () => {
    const before = told({ label: "Waiting", toolCallId: "a" });
    for (const value of [undefined, null, 7, "x", {}, { label: 7 }]) expect(advance(before, value)).toBe(before);
  });
});
