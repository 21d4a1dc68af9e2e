import { expect, it } from "vitest";
import { changesOf, LONGEST_STEP, MOST_STEPS, moved, problemOf, rewritten, stepsOf, withNew, without } from "./steps";

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

it("says what keeps a plan from being sent", () => {
  expect(problemOf(three)).toBeUndefined();
  expect(problemOf([])).toBe("A plan needs at least one step.");
  expect(problemOf(rewritten(three, 1, "  "))).toBe("Step 2 is empty.");
  expect(problemOf(rewritten(three, 2, "x".repeat(LONGEST_STEP + 1)))).toBe("Step 3 is longer than 300 characters.");
  expect(problemOf(stepsOf(Array.from({ length: MOST_STEPS + 1 }, () => "x")))).toBe("A plan has at most 12 steps.");
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
