import { describe, expect, it } from "vitest";
import { relativeTime } from "./relativeTime";

const at = (text: string): number => new Date(text).getTime();
const NOW = at("2026-11-30T15:00:00");

describe("relativeTime", () => {
  it.each([
    ["2026-11-30T15:00:30", "just now"],
    ["2026-11-30T14:59:30", "just now"],
    ["2026-11-30T14:59:00", "1 min ago"],
    ["2026-11-30T14:00:01", "59 min ago"],
    ["2026-11-30T14:00:00", "1 h ago"],
    ["2026-11-30T00:00:00", "15 h ago"],
    ["2026-11-29T23:59:00", "yesterday"],
    ["2026-11-29T00:00:00", "yesterday"],
    ["2026-11-28T23:59:00", "Saturday"],
    ["2026-11-23T12:00:00", "23 Nov"],
    ["2025-11-30T15:00:00", "30 Nov 2025"],
  ])("%s is %s", (then, words) => {
    expect(relativeTime(at(then), NOW, "en-GB")).toBe(words);
  });
});
