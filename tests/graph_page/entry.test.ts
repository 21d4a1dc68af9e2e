import { describe, expect, it } from "vitest";
import { NO_ENTRY, outcomeOf, replyOf, waitedMs, workMs } from "../../middle_core/graph_page/entry.js";
import { completed, ended, head, LOOP, played, started } from "./events";

describe("outcomeOf", () => {
  const busy = (turn = NO_ENTRY.turn) => outcomeOf({ message: "", turn, phase: "busy" }).words;

  it("names the nodes that run, up to two of them", () => {
    const two = played([LOOP, started("agent", "1"), started("tools", "2"), started("tools", "3")]);
    expect(busy()).toBe("Sending");
    expect(busy(played([LOOP]))).toBe("Running");
    expect(busy(two)).toBe("Running agent and tools");
    expect(busy(played([started("third", "4")], two))).toBe("Running 3 nodes");
  });

  it.each([
    ["completed", "Completed"],
    ["cancelled", "Stopped"],
    ["refused", "Refused"],
    ["failed", "Failed"],
    ["paused", "Withdrawn"],
    ["of a kind that nobody knows", "Failed"],
  ])("a turn that is %s and over is told as %s", (status, words) => {
    expect(outcomeOf({ message: "", turn: played([completed(status)]), phase: "over" }).words).toBe(words);
  });
});

describe("replyOf", () => {
  it("is what the tokens said until the response says it", () => {
    const streamed = played([{ ...head, type: "token", message_id: "m", delta: "It" }]);
    expect(replyOf(streamed)).toBe("It");
    const reply = { parts: [{ type: "text", text: "It is so." }, { type: "tool_call", name: "x" }, { type: "text", text: "Indeed." }] };
    expect(replyOf(played([completed("completed", { reply })], streamed))).toBe("It is so.\n\nIndeed.");
  });
});

describe("times", () => {
  const at = (node: string, id: string, started_at: number) => started(node, id, { started_at });
  const done = (node: string, id: string, started_at: number, latency_ms: number) => ended(node, id, { started_at, latency_ms });

  it("counts the time at work once where tasks overlap, and no time between them", () => {
    const turn = played([done("a", "1", 1_000, 100), done("b", "2", 1_050, 100), done("c", "3", 5_000, 10)]);
    expect(workMs(turn, 9_000)).toBe(160);
    expect(workMs(played([at("d", "4", 8_000)], turn), 9_000)).toBe(1_160);
  });

  it("knows how long a person has been asked", () => {
    expect(waitedMs(NO_ENTRY.turn, 9_000)).toBeUndefined();
    expect(waitedMs(played([{ ...head, type: "paused", interrupts: [] }]), 9_000)).toBe(8_000);
    expect(waitedMs(played([{ ...head, type: "paused", interrupts: [] }]), 500)).toBe(0);
  });
});
