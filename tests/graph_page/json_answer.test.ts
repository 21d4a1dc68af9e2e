import { describe, expect, it } from "vitest";
import { turnOf } from "../../middle_core/graph_page/json_answer.js";
import { activityOf } from "../../middle_core/graph_page/run_graph.js";
import { lit } from "./events";

describe("turnOf", () => {
  const run = (node: string, started_at: number, latency_ms: number, outcome = "ok") => ({ node, path: [node], task_id: `${node}-${started_at}`, started_at, latency_ms, outcome });
  const response = {
    thread_id: "t1",
    run_id: "r1",
    status: "completed",
    reply: null,
    interrupts: [],
    error: null,
    latency: [run("plan", 100, 50), run("left", 151, 40), run("right", 152, 90), run("join", 243, 5), run("plan", 250, 10), { ...run("escalate", 0, 0, "skipped"), started_at: null, task_id: null }],
  };

  it("draws the graph from what ran, in the order in which it began", () => {
    const turn = turnOf(response);
    expect(turn.nodes.map(({ id }) => id)).toEqual(["__start__", "plan", "left", "right", "join", "escalate", "__end__"]);
    expect(turn.edges.map(({ source, target }) => `${source}>${target}`)).toEqual(["__start__>plan", "plan>left", "plan>right", "left>join", "right>join", "join>plan", "plan>__end__"]);
    expect(activityOf(turn, "plan")).toEqual({ state: "ok", visits: 2, totalMs: 60, since: undefined });
    expect(activityOf(turn, "escalate").state).toBe("skipped");
    expect(lit(turn)).toHaveLength(7);
    expect(turn).toMatchObject({ runId: "r1", threadId: "t1", response });
  });

  it("takes an answer without any node", () => {
    expect(turnOf({ status: "failed", error: { message: "No." } })).toMatchObject({ tasks: [], error: { message: "No." } });
  });
});
