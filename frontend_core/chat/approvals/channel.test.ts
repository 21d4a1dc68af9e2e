import { beforeEach, expect, it } from "vitest";
import { channelOf } from "./channel";

beforeEach(() => {
  sessionStorage.clear();
});

it("is the card tool, until the address says otherwise, and then for the whole tab", () => {
  expect(channelOf("", sessionStorage)).toBe("card");
  expect(channelOf("?approvals=interrupt", sessionStorage)).toBe("interrupt");
  expect(channelOf("?thread=t", sessionStorage)).toBe("interrupt");
  expect(channelOf("?approvals=nonsense", sessionStorage)).toBe("interrupt");
  expect(channelOf("?approvals=card", sessionStorage)).toBe("card");
  expect(channelOf("", sessionStorage)).toBe("card");
});
