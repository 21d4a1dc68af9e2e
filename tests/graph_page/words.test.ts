import { expect, it } from "vitest";
import { duration } from "../../middle_core/graph_page/words.js";

it.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [999.7, "1.0 s"],
  [1_000, "1.0 s"],
  [59_949, "59.9 s"],
  [59_960, "1 min 0 s"],
  [125_000, "2 min 5 s"],
  [3_600_000, "1 h 0 min"],
  [7_500_000, "2 h 5 min"],
])("%d ms are %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});
