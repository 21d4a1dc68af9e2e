import { describe, expect, it } from "vitest";
import { describeTool, readable } from "./describe";
import { readPassages } from "./Passages";

const facts = { name: "search_knowledge", args: { query: "stop" }, result: undefined, running: true };

describe("describeTool", () => {
  it("says what is being done", () => {
    expect(describeTool(facts)).toEqual({ state: "running", title: "Searching the knowledge base for “stop”", outcome: "" });
  });

  it("says what came of it", () => {
    const passages = (count: number) => JSON.stringify({ query: "stop", passages: Array.from({ length: count }, () => ({ text: "x" })) });
    expect(describeTool({ ...facts, result: passages(5) })).toEqual({
      state: "done",
      title: "Searched the knowledge base for “stop”",
      outcome: "5 passages",
    });
    expect(describeTool({ ...facts, result: passages(1) }).outcome).toBe("1 passage");
    expect(describeTool({ ...facts, result: passages(0) }).outcome).toBe("nothing found");
    expect(describeTool({ name: "list_sources", args: {}, result: '{"total":21,"sources":[]}', running: false }).outcome).toBe("21 sources");
    expect(describeTool({ name: "get_stats", args: {}, result: '{"sources":2,"passages":1}', running: false }).outcome).toBe("2 sources, 1 passage");
  });

  it("says that a call failed or was stopped", () => {
    expect(describeTool({ ...facts, result: "The tool search_knowledge could not do this. It is away." }).state).toBe("failed");
    expect(describeTool({ ...facts, result: "The arguments of search_knowledge are not valid, so nothing was run." }).state).toBe("failed");
    expect(describeTool({ ...facts, result: "This call was not completed: the user stopped it." }).state).toBe("stopped");
    expect(describeTool({ ...facts, running: false }).state).toBe("stopped");
  });

  it("does not take a document that speaks of stops for a call that was stopped", () => {
    const result = JSON.stringify({ passages: [{ text: 'A tool call that was cut gets the result "cancelled by the user".' }] });
    expect(describeTool({ ...facts, result })).toMatchObject({ state: "done", outcome: "1 passage" });
  });

  it("speaks of a tool that it does not know by its name", () => {
    expect(describeTool({ name: "send_weeklyReport", args: {}, result: "ok", running: false })).toEqual({
      state: "done",
      title: "Used send weekly report",
      outcome: "",
    });
  });

  it("shortens a long query and takes arguments as they come", () => {
    expect(describeTool({ ...facts, args: { query: "x".repeat(500) } }).title.length).toBeLessThan(130);
    expect(describeTool({ ...facts, args: { query: 7 } }).title).toBe("Searching the knowledge base");
  });
});

describe("readable", () => {
  it("lays JSON out and leaves the rest alone", () => {
    expect(readable('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(readable('{"a":')).toBe('{"a":');
  });
});

describe("readPassages", () => {
  it("reads what it can show and leaves the rest", () => {
    const result = JSON.stringify({ passages: [{ title: "T", location: "p. 1", text: "words" }, { text: "bare" }, { title: "no text" }, 7] });
    expect(readPassages(result)).toEqual([
      { title: "T", location: "p. 1", text: "words" },
      { title: "", location: "", text: "bare" },
    ]);
    expect(readPassages("The tool failed.")).toBeUndefined();
    expect(readPassages('{"other":1}')).toBeUndefined();
  });
});
