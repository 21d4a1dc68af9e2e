import { describe, expect, it } from "vitest";
import { dayLabel, inWords, readMetrics, topOf } from "./metrics";

describe("readMetrics", () => {
  it("takes the figures and days that are there", () => {
    const read = readMetrics(JSON.stringify({ sources: 2, passages: "many", queries_served: 0, last_days: [{ day: "2026-11-30", queries: 4 }, { day: "soon" }, 7] }));
    expect(read?.figures).toEqual([
      { label: "Sources", value: 2 },
      { label: "Questions served", value: 0 },
    ]);
    expect(read?.days).toEqual([{ day: "2026-11-30", queries: 4, ingested: 0 }]);
    expect(readMetrics("{}")).toBeUndefined();
    expect(readMetrics("The tool get_stats failed.")).toBeUndefined();
  });
});

describe("the plot", () => {
  it("has a round top above all values", () => {
    expect([[], [0], [4], [5], [11], [40], [41], [120], [999]].map(topOf)).toEqual([4, 4, 4, 5, 20, 40, 50, 200, 1000]);
  });

  it("is told in a sentence", () => {
    const days = [
      { day: "2026-11-29", queries: 1, ingested: 0 },
      { day: "2026-11-30", queries: 5, ingested: 2 },
    ];
    expect(inWords(days)).toBe("In 2 days: 6 questions, most of them on 30 Nov (5); 2 sources added.");
    expect(inWords([{ day: "2026-11-30", queries: 0, ingested: 0 }])).toBe("In 1 days: 0 questions; 0 sources added.");
    expect(dayLabel("2026-01-02")).toBe("2 Jan");
  });
});
