import { describe, expect, it } from "vitest";
import { describeTool, faultWords, readable } from "./describeTool";

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
    expect(describeTool({ name: "filter_sources", args: { text: "x" }, result: '{"shown":2,"total":9}', running: false })).toEqual({
      state: "done",
      title: "Filtered the table of sources for “x”",
      outcome: "2 of 9",
    });
    expect(describeTool({ name: "select_sources", args: {}, result: '{"selected":[]}', running: false }).outcome).toBe("all sources");
  });

  it("says that a call failed or was stopped", () => {
    expect(describeTool({ ...facts, result: "The tool search_knowledge could not do this. It is away." }).state).toBe("failed");
    expect(describeTool({ ...facts, result: "The arguments of search_knowledge are not valid, so nothing was run." }).state).toBe("failed");
    expect(describeTool({ ...facts, result: "This call was not completed: the user stopped it." }).state).toBe("stopped");
    expect(describeTool({ ...facts, running: false }).state).toBe("stopped");
  });

  it("tells why, without the words that are for the model", () => {
    expect(faultWords("The tool search_knowledge could not do this. It is away.")).toBe("It is away.");
    expect(faultWords('{"error":"There is no table."}')).toBe("There is no table.");
    expect(describeTool({ ...facts, name: "filter_sources", result: '{"error":"There is no table."}' }).state).toBe("failed");
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
