import { describe, expect, it } from "vitest";
import { readAsked, readQuestion, valueOfTyped } from "./question";

const values = (raw: unknown, schema?: unknown) => readQuestion(raw, schema).choices.map(({ value }) => value);
const labels = (raw: unknown, schema?: unknown) => readQuestion(raw, schema).choices.map(({ label }) => label);

describe("readQuestion", () => {
  it("takes words as they are, without what hides in them", () => {
    expect(readQuestion("What \u202ecolour?\u0000")).toEqual({ words: "What colour?", data: "", choices: [], wanted: "text" });
    expect(readQuestion({ message: "Which?", reason: "r" })).toEqual({ words: "Which?", data: "", choices: [], wanted: "text" });
  });

  it("offers choices with the values that the graph gave, falsy ones included", () => {
    const options = ["", 0, false, null, "red", { label: "Dark blue", value: { hex: "#008" } }];
    expect(values({ question: "Which?", options })).toStrictEqual(["", 0, false, null, "red", { hex: "#008" }]);
    expect(labels({ question: "Which?", options })).toEqual(["(empty)", "0", "No", "(nothing)", "red", "Dark blue"]);
    expect(labels("Sure?", { type: "boolean" })).toEqual(["Yes", "No"]);
    expect(values("Which?", { enum: ["a", 1] })).toEqual(["a", 1]);
  });

  it("shows as data what it does not know", () => {
    expect(readQuestion({ action: { args: { to: "x" } } })).toEqual({
      words: "The assistant asks for an answer.",
      data: '{\n  "action": {\n    "args": {\n      "to": "x"\n    }\n  }\n}',
      choices: [],
      wanted: "text",
    });
    expect(readQuestion(null).data).toBe("null");
    expect(readQuestion([1, 2]).data).toBe("[\n  1,\n  2\n]");
    expect(readQuestion({ question: "?", options: [{ name: "no value" }] })).toMatchObject({ choices: [], data: expect.stringContaining("no value") as string });
  });

  it("asks for what the schema wants", () => {
    expect(readQuestion("How many?", { type: "integer" }).wanted).toBe("integer");
    expect(readQuestion({ question: "Where?", response_schema: { type: "object" } }).wanted).toBe("json");
  });
});

it("makes of what was typed what is wanted, or says why not", () => {
  expect(valueOfTyped("text", " blue ")).toEqual({ value: "blue" });
  expect(valueOfTyped("text", "0")).toEqual({ value: "0" });
  expect(valueOfTyped("number", "0")).toEqual({ value: 0 });
  expect(valueOfTyped("json", "false")).toEqual({ value: false });
  expect(valueOfTyped("json", "{")).toEqual({ problem: "This is not JSON." });
  expect(valueOfTyped("integer", "1.5")).toEqual({ problem: "A whole number is needed." });
  expect(valueOfTyped("number", "x")).toEqual({ problem: "A number is needed." });
  expect(valueOfTyped("text", "  ")).toEqual({ problem: "Type an answer." });
});

it("reads a question that is over, with its answer in words", () => {
  const content = { interruptId: "i", status: "answered", question: { question: "Which?", options: [{ label: "None", value: null }, 0] } };
  expect(readAsked({ ...content, answer: null })?.answer).toBe("None");
  expect(readAsked({ ...content, answer: 0 })?.answer).toBe("0");
  expect(readAsked({ ...content, answer: "other" })?.answer).toBe("other");
  expect(readAsked({ ...content, status: "withdrawn" })).toMatchObject({ status: "withdrawn", answer: undefined });
  expect(readAsked({ status: "answered" })).toBeUndefined();
});
