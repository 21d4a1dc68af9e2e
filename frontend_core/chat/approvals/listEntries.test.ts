import { expect, it } from "vitest";
import { changesOf, moved, problemOf, rewritten, stepsOf, withNew, without } from "./listEntries";

const three = stepsOf(["a", "b", "c"]);
const texts = (steps: readonly { readonly text: string }[]) => steps.map(({ text }) => text);

it("moves, rewrites, removes and adds without touching what was", () => {
  expect(texts(moved(three, 0, 2))).toEqual(["b", "c", "a"]);
  expect(texts(moved(three, 2, 1))).toEqual(["a", "c", "b"]);
  expect(moved(three, 0, -1)).toBe(three);
  expect(moved(three, 2, 3)).toBe(three);
  expect(texts(rewritten(three, 1, "B"))).toEqual(["a", "B", "c"]);
  expect(texts(without(three, 0))).toEqual(["b", "c"]);
  expect(texts(three)).toEqual(["a", "b", "c"]);
});

it("gives each new step a key of its own", () => {
  const steps = withNew(without(withNew(three), 1));
  expect(new Set(steps.map(({ key }) => key)).size).toBe(steps.length);
  expect(withNew([])).toEqual([{ key: 0, text: "" }]);
});

it("says what keeps a list from being sent", () => {
  const rules = { noun: "step", nouns: "steps", least: 1, most: 12, longest: 300 };
  expect(problemOf(three, rules)).toBeUndefined();
  expect(problemOf([], rules)).toBe("At least one step is needed.");
  expect(problemOf([], { ...rules, least: 2 })).toBe("At least 2 steps are needed.");
  expect(problemOf([], { ...rules, least: 0 })).toBeUndefined();
  expect(problemOf(rewritten(three, 1, "  "), rules)).toBe("Step 2 is empty.");
  expect(problemOf(rewritten(three, 2, "x".repeat(301)), rules)).toBe("Step 3 is longer than 300 characters.");
  expect(problemOf(stepsOf(Array.from({ length: 13 }, () => "x")), rules)).toBe("There can be at most 12 steps.");
});

it("sends nothing where nothing was changed", () => {
  expect(changesOf(three, three)).toBeUndefined();
  expect(changesOf(rewritten(three, 0, " a "), three)).toBeUndefined();
  expect(changesOf(moved(three, 0, 1), three)).toEqual(["b", "a", "c"]);
});

it("takes only texts for steps", () => {
  expect(texts(stepsOf(["a", 7, null, "b"]))).toEqual(["a", "b"]);
  expect(stepsOf("a")).toEqual([]);
});
