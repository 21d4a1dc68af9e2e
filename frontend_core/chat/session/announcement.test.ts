import { describe, expect, it } from "vitest";
import { announcementOf } from "./announcement";
import type { Row } from "./rows";

const answer = (text: string, stopped = false): Row => ({ kind: "assistant", id: "a", text, tools: [], streaming: false, stopped, interrupted: false, cutOff: undefined });
const idle = { phase: "idle" as const, stoppedEmpty: false };

describe("announcementOf", () => {
  it("says that an answer is being written, whatever it says so far", () => {
    expect(announcementOf({ ...idle, phase: "running", rows: [answer("One two")] })).toBe("Answering");
  });

  it("reads the answer when it is there, without its marks", () => {
    expect(announcementOf({ ...idle, rows: [answer("## Title\n\n> **Bold** [link](http://x) `code`")] })).toBe("Answer: Title Bold link code");
  });

  it("says that an answer was stopped", () => {
    expect(announcementOf({ ...idle, rows: [answer("Half", true)] })).toBe("Stopped. Half");
    expect(announcementOf({ ...idle, stoppedEmpty: true, rows: [] })).toBe("Stopped");
  });

  it("reads only the beginning of a long answer", () => {
    expect(announcementOf({ ...idle, rows: [answer("word ".repeat(1_000))] }).length).toBeLessThan(700);
  });

  it("is silent while a conversation loads or has no answer", () => {
    expect(announcementOf({ ...idle, phase: "loading", rows: [answer("old")] })).toBe("");
    expect(announcementOf({ ...idle, rows: [] })).toBe("");
  });
});
