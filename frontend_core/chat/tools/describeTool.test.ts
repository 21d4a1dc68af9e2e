import { describe, expect, it } from "vitest";
import { describeTool, faultWords, readable, type ToolWording } from "./describeTool";

const facts = { name: "find_books", args: { author: "Ann" }, result: undefined, running: true };
const wording: ToolWording = {
  doing: ({ author }) => `Looking for books of ${String(author)}`,
  did: ({ author }) => `Looked for books of ${String(author)}`,
  outcome: ({ books }) => `${String(books)} books`,
};

describe("describeTool", () => {
  it("says what is being done and what came of it, in the registered words", () => {
    expect(describeTool(facts, wording)).toEqual({ state: "running", title: "Looking for books of Ann", outcome: "" });
    expect(describeTool({ ...facts, result: '{"books":2}' }, wording)).toEqual({ state: "done", title: "Looked for books of Ann", outcome: "2 books" });
    expect(describeTool({ ...facts, result: "two" }, wording).outcome, "there are no fields to read").toBe("");
  });

  it("describes a tool without a wording by its name", () => {
    const call = { name: "send_weeklyReport", args: {}, result: "ok", running: false };
    expect(describeTool(call)).toEqual({ state: "done", title: "Used send weekly report", outcome: "" });
    expect(describeTool({ ...call, result: undefined, running: true }).title).toBe("Using send weekly report");
  });

  it("says that a call failed or was stopped", () => {
    expect(describeTool({ ...facts, result: "The tool find_books could not do this. It is away." }).state).toBe("failed");
    expect(describeTool({ ...facts, result: "The arguments of find_books are not valid, so nothing was run." }).state).toBe("failed");
    expect(describeTool({ ...facts, result: '{"error":"There is no shelf."}' }).state).toBe("failed");
    expect(describeTool({ ...facts, result: "This call was not completed: the user stopped it." }).state).toBe("stopped");
    expect(describeTool({ ...facts, running: false }).state).toBe("stopped");
  });

  it("does not take a document that speaks of stops for a call that was stopped", () => {
    const result = JSON.stringify({ passages: [{ text: 'A tool call that was cut gets the result "cancelled by the user".' }] });
    expect(describeTool({ ...facts, result }).state).toBe("done");
  });

  it("tells why, without the words that are for the model", () => {
    expect(faultWords("The tool find_books could not do this. It is away.")).toBe("It is away.");
    expect(faultWords('{"error":"There is no shelf."}')).toBe("There is no shelf.");
  });
});

describe("readable", () => {
  it("lays JSON out and leaves the rest alone", () => {
    expect(readable('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(readable('{"a":')).toBe('{"a":');
  });
});
