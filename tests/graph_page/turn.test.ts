import { describe, expect, it } from "vitest";
import { activityOf } from "../../middle_core/graph_page/run_graph.js";
import { advance, resumed } from "../../middle_core/graph_page/turn.js";
import { completed, ended, head, LOOP, played, ROUND, skipped, started, topology } from "./events";

describe("advance", () => {
  it("follows each visit of each node, also several at once", () => {
    const turn = played(ROUND);
    expect(turn).toMatchObject({ runId: "r1", threadId: "t1" });
    expect(turn.nodes.map(({ id }) => id)).toEqual(["__start__", "agent", "tools", "__end__"]);
    expect(activityOf(turn, "agent")).toEqual({ state: "running", visits: 2, totalMs: 20, since: 1_000 });
    expect(activityOf(turn, "tools")).toEqual({ state: "ok", visits: 2, totalMs: 25, since: undefined });
    expect(activityOf(turn, "__start__").state).toBe("ok");
    expect(activityOf(turn, "__end__").state).toBe("idle");
    expect(activityOf(played([ended("agent", "4"), completed("completed")], turn), "__end__").state).toBe("ok");
  });

  it("counts an event that comes twice once, whatever came between", () => {
    const events = [...ROUND, ended("agent", "4"), skipped("tools"), completed("completed")];
    const turn = played(events);
    expect(played(events.filter(({ type }) => type !== "turn_completed"), turn)).toEqual(turn);
  });

  it.each(["ok", "error", "interrupted", "cancelled"] as const)("keeps the outcome %s", (outcome) => {
    expect(activityOf(played([started("agent", "1"), ended("agent", "1", { outcome })]), "agent").state).toBe(outcome);
  });

  it("knows a skipped node from one that ran, and from one that was not reached", () => {
    const turn = played([LOOP, started("agent", "1"), ended("agent", "1"), skipped("tools"), completed("completed")]);
    expect(activityOf(turn, "tools")).toMatchObject({ state: "skipped", visits: 0 });
    expect(activityOf(played([LOOP]), "tools").state).toBe("idle");
  });

  it("keeps nodes of subgraphs apart by their path", () => {
    const inside = { path: ["outer", "speak"] };
    const turn = played([topology(["outer", "outer:speak", "speak"], []), started("speak", "1", inside), ended("speak", "1", inside)]);
    expect(activityOf(turn, "outer:speak").visits).toBe(1);
    expect(activityOf(turn, "speak").visits).toBe(0);
    expect(turn.nodes.find(({ id }) => id === "outer:speak")).toEqual({ id: "outer:speak", name: "speak", parent: "outer" });
  });

  it("goes on after an answer as one turn, and adds the human waits", () => {
    const asked = { interrupt_id: "i1" };
    const first = played([LOOP, started("tools", "1"), ended("tools", "1", { outcome: "interrupted" }), { ...head, type: "paused", interrupts: [asked] }, completed("paused", { interrupts: [asked] })]);
    expect(first).toMatchObject({ interrupts: [asked], pausedAt: 1_000, humanWaitMs: undefined });
    const next = { run_id: "r2" };
    const second = played([{ ...LOOP, ...next }, started("tools", "1", next), ended("tools", "1", next), { ...completed("completed"), ...next, human_wait_ms: 900 }], resumed(first));
    expect(second).toMatchObject({ runId: "r2", interrupts: [], humanWaitMs: 900 });
    expect(activityOf(second, "tools")).toMatchObject({ state: "ok", visits: 2 });
    expect(played([{ ...completed("completed"), human_wait_ms: 100 }], resumed(second)).humanWaitMs).toBe(1_000);
  });

  it("joins tokens, one paragraph for each message", () => {
    const token = (message_id: string, delta: string) => ({ ...head, type: "token", message_id, delta });
    expect(played([token("m1", "Let me "), token("m1", "see."), token("m2", "It is so.")]).text).toBe("Let me see.\n\nIt is so.");
  });

  it("shows the text that another attempt left standing, then what that attempt says", () => {
    const token = (message_id: string, delta: string) => ({ ...head, type: "token", message_id, delta });
    const said = [token("m1", "One."), token("m2", "Hal")];
    const replaced = (...parts: readonly (readonly [string, string])[]) => ({ ...head, type: "text_replaced", parts: parts.map(([message_id, text]) => ({ type: "text", message_id, text })) });
    expect(played([...said, replaced(["m1", "One."]), token("m3", "Half and whole.")]).text).toBe("One.\n\nHalf and whole.");
    expect(played([...said, replaced(), token("m3", "Anew.")]).text).toBe("Anew.");
    expect(played([...said, replaced(["m1", "One."], ["m4", "Two."])])).toMatchObject({ text: "One.\n\nTwo.", messageId: "m4" });
  });

  it("has the error of an event, or else of the response", () => {
    const error = { code: "internal", message: "No." };
    expect(played([{ ...head, type: "error", ...error }, completed("failed", { error })]).error).toMatchObject(error);
    expect(played([completed("failed", { error })]).error).toEqual(error);
  });

  it("leaves what it does not know", () => {
    const turn = played(ROUND);
    for (const event of [{ type: "new_kind", run_id: "r9" }, {}, { type: 7 }]) expect(advance(turn, event)).toBe(turn);
    for (const event of [{ type: "node_started" }, { type: "graph_topology", nodes: "x", edges: [7, { source: "a" }] }, { type: "paused" }, { type: "turn_completed" }, { type: "token", delta: 7 }]) {
      expect(() => advance(turn, event)).not.toThrow();
    }
  });
});
