import { expect, it } from "vitest";
import { readDraft, writeDraft } from "./draft";

it("keeps a draft per conversation, and forgets an empty one", () => {
  sessionStorage.clear();
  writeDraft(sessionStorage, "a", "half a thought");
  writeDraft(sessionStorage, "b", "another");
  expect(readDraft(sessionStorage, "a")).toBe("half a thought");
  writeDraft(sessionStorage, "a", "");
  expect(readDraft(sessionStorage, "a")).toBe("");
  expect(readDraft(sessionStorage, "b")).toBe("another");
  expect(sessionStorage.length).toBe(1);
});

it("does not fill the storage with a book", () => {
  sessionStorage.clear();
  writeDraft(sessionStorage, "a", "x".repeat(100_000));
  expect(sessionStorage.length).toBe(0);
});
