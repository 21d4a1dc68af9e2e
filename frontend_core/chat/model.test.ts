import { expect, it } from "vitest";
import { modelOf } from "./model";

it("names the model, and says when it is the offline one", () => {
  expect(modelOf({ model: "offline" })).toEqual({ label: "Offline model", offline: true });
  expect(modelOf({ model: "cerebras:gpt-oss-120b" })).toEqual({ label: "gpt-oss-120b", offline: false });
  expect(modelOf({})).toBeUndefined();
  expect(modelOf(null)).toBeUndefined();
});
