import { describe, expect, it } from "vitest";
import { readCitations, sourcesOf } from "./citations";

const result = (value: unknown): string => JSON.stringify(value);

describe("readCitations", () => {
  it("reads what it can show and leaves the rest", () => {
    const read = readCitations(
      result({
        query: "q",
        limited_to: ["a", 7, "b"],
        passages: [{ title: "T › One › Two", location: "p#1", score: 3, text: "words" }, { text: "bare" }, { title: "no text" }, 7],
      }),
    );
    expect(read).toEqual({
      query: "q",
      limitedTo: 2,
      found: [
        { name: "T", section: "One › Two", location: "p#1", score: 1, text: "words" },
        { name: "Untitled", section: "", location: "", score: undefined, text: "bare" },
      ],
    });
    expect(readCitations("The tool failed.")).toBeUndefined();
    expect(readCitations('{"other":1}')).toBeUndefined();
    expect(readCitations(undefined)).toBeUndefined();
  });

  it("names each source once", () => {
    const found = readCitations(result({ passages: ["A › x", "B", "A"].map((title) => ({ title, text: "t" })) }))?.found ?? [];
    expect(sourcesOf(found)).toEqual([
      { name: "A", count: 2 },
      { name: "B", count: 1 },
    ]);
  });
});
