import { describe, expect, it } from "vitest";
import { Store } from "../../chat/ui/store";
import { EMPTY_DESK, filterTable, pageInWords, selectionInWords } from "./SourcesProvider";
import { filterSources, nextSorting, readSources, sortSources } from "./sources";

const source = (name: string, more: object = {}) => ({ id: name.toLowerCase(), name, kind: "document", passages: 1, added: "2026-01-01", ...more });
const SOURCES = [source("Streams", { passages: 10 }), source("Stop", { passages: 9, kind: "text" }), source("0010 Log"), source("0009 Log")];
const names = (list: readonly { name: string }[]): readonly string[] => list.map(({ name }) => name);

describe("readSources", () => {
  it("takes what has a name", () => {
    expect(readSources('{"total":9,"sources":[{"name":"A","passages":2},{"id":"x"},7]}')).toEqual({
      total: 9,
      sources: [{ id: "", name: "A", kind: "", passages: 2, added: "" }],
    });
    expect(readSources("The tool list_sources failed.")).toBeUndefined();
  });
});

describe("the table", () => {
  it("is filtered by every word, in names and kinds", () => {
    expect(names(filterSources(SOURCES, " LOG  00 "))).toEqual(["0010 Log", "0009 Log"]);
    expect(names(filterSources(SOURCES, "text"))).toEqual(["Stop"]);
    expect(filterSources(SOURCES, "")).toHaveLength(4);
  });

  it("is sorted by numbers as numbers, and turns round", () => {
    expect(names(sortSources(SOURCES, { by: "passages", descending: true }))).toEqual(["Streams", "Stop", "0009 Log", "0010 Log"]);
    expect(names(sortSources(SOURCES, { by: "name", descending: false }))).toEqual(["0009 Log", "0010 Log", "Stop", "Streams"]);
    const byName = { by: "name", descending: false } as const;
    expect(nextSorting(byName, "name")).toEqual({ by: "name", descending: true });
    expect(nextSorting(byName, "passages")).toEqual({ by: "passages", descending: true });
  });
});

describe("filterTable", () => {
  it("says what is shown, or that there is no table", () => {
    const desk = new Store(EMPTY_DESK);
    expect(() => filterTable(desk, "log")).toThrow("Call list_sources first");
    expect(desk.get().filter).toBe("");
    desk.patch({ sources: SOURCES });
    expect(filterTable(desk, " log ")).toEqual({ filter: "log", shown: 2, total: 4, names: ["0010 Log", "0009 Log"] });
    expect(desk.get().filter).toBe("log");
  });
});

describe("what the agent is told", () => {
  it("names what is selected and what is open", () => {
    expect(selectionInWords(new Set(), SOURCES)).toContain("all sources");
    expect(selectionInWords(new Set(["stop", "gone"]), SOURCES)).toBe("Stop; gone");
    expect(selectionInWords(new Set(Array.from({ length: 30 }, (_, n) => `s${n}`)), undefined)).toMatch(/; and 10 more$/);
    expect(pageInWords(undefined, "")).toBe("this conversation");
    expect(pageInWords(SOURCES, "log")).toContain("2 of 4 are shown");
  });
});
