import { describe, expect, it } from "vitest";
import { ERROR_CODES, OUTCOME_CODES, TOOL_OUTCOMES } from "../../contract";
import { describeTool, readable, type ToolWording } from "./describeTool";
import { DONE } from "./outcome";

const facts = { name: "find_books", args: { author: "Ann" }, result: undefined, outcome: undefined };
const wording: ToolWording = {
  doing: ({ author }) => `Looking for books of ${String(author)}`,
  did: ({ author }) => `Looked for books of ${String(author)}`,
  outcome: ({ books }) => `${String(books)} books`,
};

describe("describeTool", () => {
  it("says what is being done and what came of it, in the registered words", () => {
    expect(describeTool(facts, wording)).toEqual({ state: "running", title: "Looking for books of Ann", outcome: "", reason: "" });
    const done = { ...facts, outcome: DONE };
    expect(describeTool({ ...done, result: '{"books":2}' }, wording)).toEqual({ state: "done", title: "Looked for books of Ann", outcome: "2 books", reason: "" });
    expect(describeTool({ ...done, result: "two" }, wording).outcome, "there are no fields to read").toBe("");
  });

  it("describes a tool without a wording by its name", () => {
    const call = { name: "send_weeklyReport", args: {}, result: "ok", outcome: DONE };
    expect(describeTool(call)).toEqual({ state: "done", title: "Used send weekly report", outcome: "", reason: "" });
    expect(describeTool({ ...call, outcome: undefined }).title).toBe("Using send weekly report");
  });

  it.each([
    ["Error: the sum is 4."],
    ['{"error":"There is no shelf."}'],
    ["The tool find_books could not do this. It is away."],
    ["This call was not completed: the user stopped it."],
    ["permission denied"],
  ])("takes a real result for what it is, whatever its words are: %s", (result) => {
    expect(describeTool({ ...facts, result, outcome: DONE }, wording)).toMatchObject({ state: "done", title: "Looked for books of Ann" });
  });

  it.each(TOOL_OUTCOMES.filter((outcome) => outcome !== "done"))("never says of a call that is %s that it was done", (outcome) => {
    for (const code of [null, ...OUTCOME_CODES, ...ERROR_CODES]) {
      const words = describeTool({ ...facts, result: '{"books":2}', outcome: { outcome, code, message: "" } }, wording);
      expect(words).toMatchObject({ state: outcome, title: "Looking for books of Ann" });
      expect([words.outcome, words.reason].every((one) => one !== "")).toBe(true);
    }
  });

  it.each([
    ["refused", "forbidden", "Deleting needs the role admin.", "refused", "Deleting needs the role admin."],
    ["not_run", "length", "", "cut off, not carried out", "The model’s message was cut off at its length limit, so this was not carried out."],
    ["not_run", "unknown_tool", "", "no such tool", "There is no such tool."],
    ["not_run", "unanswered", "", "not carried out", "This was not carried out: the conversation went on without it."],
    ["cancelled", "stopped", "", "cancelled", "This was cancelled before it was done."],
    ["failed", "backend_unavailable", "", "failed", "The knowledge service cannot be reached right now."],
    ["unknown", "stopped", "", "may have been carried out", "This was stopped or cut off. It may have been carried out: check before repeating it."],
  ] as const)("says of %s by %s why", (outcome, code, message, line, reason) => {
    expect(describeTool({ ...facts, outcome: { outcome, code, message } }, wording)).toMatchObject({ outcome: line, reason });
  });
});

describe("readable", () => {
  it("lays JSON out and leaves the rest alone", () => {
    expect(readable('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(readable('{"a":')).toBe('{"a":');
  });
});
