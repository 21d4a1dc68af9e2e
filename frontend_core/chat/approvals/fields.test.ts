import { expect, it } from "vitest";
import { draftOf, editsOf, isChanged, labelOf, problemOf, readField, valueOf, type Field } from "./fields";

function field(more: object): Field {
  const [read] = readField({ name: "max_age", nullable: false, ...more });
  if (read === undefined) throw new Error("This is no field.");
  return read;
}

const text = field({ kind: "text", minLength: 2, maxLength: 4 });
const number = field({ kind: "number", minimum: 0.5, maximum: 9 });
const whole = field({ kind: "integer" });
const flag = field({ kind: "boolean" });
const choice = field({ kind: "choice", options: ["", 0, false, "0"] });
const list = field({ kind: "list", maxItems: 2 });
const empty = field({ kind: "integer", nullable: true });

it("reads what the server says of a field, and no other", () => {
  expect(readField({ name: "a", kind: "date" })).toEqual([]);
  expect(readField({ kind: "text" })).toEqual([]);
  expect(readField(7)).toEqual([]);
  expect(labelOf("max_age")).toBe("Max age");
});

it("leaves what was not touched as it was, whatever it was", () => {
  for (const one of [text, number, whole, flag, choice, list, empty]) {
    for (const value of [undefined, null, "", "x", 0, 1.5, false, true, ["a"], [7], {}]) {
      expect(isChanged(one, draftOf(one, value), value)).toBe(false);
    }
  }
});

it.each<[Field, string, unknown]>([
  [text, "abc", "abc"],
  [number, "1.50", 1.5],
  [number, ".5", 0.5],
  [number, "1e0", 1],
  [whole, " -3 ", -3],
  [whole, "0", 0],
  [flag, "0", true],
  [flag, "1", false],
  [choice, "0", ""],
  [choice, "1", 0],
  [choice, "2", false],
  [choice, "3", "0"],
  [empty, " ", null],
])("sends each value as what it is: %#", (one, draft, value) => {
  expect(problemOf(one, draft)).toBeUndefined();
  expect(valueOf(one, draft)).toStrictEqual(value);
});

it.each<[Field, string, string]>([
  [text, " ", "Max age is empty."],
  [text, "a", "Max age: at least 2 characters are needed."],
  [text, "😀😀😀😀😀", "Max age: at most 4 characters are possible."],
  [number, "", "Max age: a number is needed."],
  [number, "0x10", "Max age: a number is needed."],
  [number, "1e999", "Max age: a number is needed."],
  [number, "0.4", "Max age: at least 0.5 is needed."],
  [number, "10", "Max age: at most 9 is possible."],
  [whole, "1.5", "Max age: a whole number is needed."],
  [whole, "9007199254740993", "Max age: a whole number is needed."],
  [flag, "", "Max age: choose one."],
])("says in words what cannot be sent: %#", (one, draft, words) => {
  expect(problemOf(one, draft)).toBe(words);
});

it("sends what was changed, and nothing else", () => {
  const fields = [{ ...text, name: "a" }, { ...whole, name: "b" }, { ...list, name: "c" }];
  const before = { a: "abc", b: 1, c: ["x"] };
  const drafts = { a: "abc", b: "1", c: [{ key: 0, text: " x " }] };
  expect(editsOf(fields, drafts, before)).toBeUndefined();
  expect(editsOf(fields, { ...drafts, b: "2", c: [] }, before)).toEqual({ b: 2, c: [] });
});
