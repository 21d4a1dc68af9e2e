import { describe, expect, it } from "vitest";
import { activityOf, type EndedStatus, foldGraph, type GraphEvent, NO_GRAPH, type RunGraph, topologyIn } from "../../middle_core/graph_page/run_graph.js";
import { completed, ended, lit, played, ROUND, skipped, started, topology } from "./events";

describe("foldGraph", () => {
  const fold = (...events: readonly GraphEvent[]): RunGraph => events.reduce(foldGraph, NO_GRAPH);
  const start = (id: string, more: object = {}): GraphEvent => ({ kind: "node_started", id, node: "a", name: "a", startedAt: 1, ...more });
  const end = (id: string, more: object = {}): GraphEvent => ({ kind: "node_completed", id, node: "a", name: "a", startedAt: 1, latencyMs: 9, outcome: "ok", ...more });
  const over = (status: EndedStatus): GraphEvent => ({ kind: "ended", status });

  it("draws several edges between the same two nodes as one, dashed only where all are conditional", () => {
    const edge = (source: string, conditional: boolean, label: string) => ({ source, target: "b", conditional, label });
    const graph = fold({ kind: "topology", nodes: [], edges: [edge("a", true, "yes"), edge("a", false, "no"), edge("c", true, ""), edge("c", true, "x")] });
    expect(graph.edges).toEqual([edge("a", false, "yes, no"), edge("c", true, "x")]);
  });

  it("keeps the true times of a task, whichever event tells them", () => {
    const graph = fold(start("1", { startedAt: 7 }), end("1", { startedAt: undefined }), end("2", { startedAt: undefined, at: 30 }), end("3", { startedAt: undefined }));
    expect(graph.tasks.map(({ startedAt }) => startedAt)).toEqual([7, 30, 0]);
  });

  it("is the same object after an event that changes nothing", () => {
    const graph = fold(start("1"), end("1"), over("completed"));
    for (const event of [start("1"), end("1", { outcome: "error" }), over("failed"), { kind: "paused" } as const]) expect(foldGraph(graph, event)).toBe(graph);
  });

  it("takes the first end that it is told", () => {
    expect(fold(over("cancelled"), over("completed")).status).toBe("cancelled");
    expect(fold({ kind: "paused" }, over("completed")).status).toBe("paused");
  });

  it.each([
    ["completed", "ok"],
    ["refused", "ok"],
    ["cancelled", "idle"],
    ["failed", "idle"],
  ] as const)("a run that is %s leaves the end of the graph %s", (status, state) => {
    expect(activityOf(fold(start("1"), end("1"), over(status)), "__end__").state).toBe(state);
    expect(activityOf(fold(over(status)), "__end__").state).toBe("idle");
  });

  it("keeps the newest tasks of a run that loops for long", () => {
    const graph = fold(...Array.from({ length: 600 }, (_, index) => end(`${index}`)));
    expect(graph.tasks).toHaveLength(500);
    expect(graph.tasks.at(-1)?.id).toBe("599");
  });
});

describe("topologyIn", () => {
  it("reads both wires: a node's name or its label, its parent or the one that its id tells", () => {
    const { nodes, edges } = topologyIn({
      nodes: [{ id: "outer" }, { id: "outer:in", name: "in", parent: "outer" }, { id: "outer:out", label: "Out", parent: null }, { name: "no id" }],
      edges: [{ source: "outer:in", target: "outer:out", conditional: true, label: null }, { source: "outer:in" }],
    });
    expect(nodes).toEqual([
      { id: "outer", name: "outer", parent: "" },
      { id: "outer:in", name: "in", parent: "outer" },
      { id: "outer:out", name: "Out", parent: "outer" },
    ]);
    expect(edges).toEqual([{ source: "outer:in", target: "outer:out", conditional: true, label: "" }]);
  });
});

describe("takenEdges", () => {
  it("follows a loop and its end", () => {
    expect(lit(played(ROUND))).toEqual(["__start__>agent", "agent>tools", "tools>agent"]);
    expect(lit(played([...ROUND, ended("agent", "4"), completed("completed")]))).toEqual(["__start__>agent", "agent>__end__", "agent>tools", "tools>agent"]);
  });

  const FORK = topology(["__start__", "a", "b", "c", "join", "other", "__end__"], [
    ["__start__", "a"],
    ["__start__", "b"],
    ["a", "join"],
    ["b", "join"],
    ["join", "other", true],
    ["join", "__end__", true],
    ["other", "__end__"],
  ]);
  const end = [started("join", "3"), ended("join", "3"), skipped("other"), completed("completed")];
  const expected = ["__start__>a", "__start__>b", "a>join", "b>join", "join>__end__"];

  it("follows branches side by side, and no route that was left out", () => {
    expect(lit(played([FORK, started("a", "1"), started("b", "2"), ended("a", "1"), ended("b", "2"), ...end]))).toEqual(expected);
  });

  it("is not misled by a branch that was over before its sibling began", () => {
    expect(lit(played([FORK, started("a", "1"), ended("a", "1"), started("b", "2"), ended("b", "2"), ...end]))).toEqual(expected);
  });

  it("does not say that a turn came to the end when it was stopped", () => {
    expect(lit(played([FORK, started("a", "1"), ended("a", "1", { outcome: "cancelled" }), completed("cancelled")]))).toEqual(["__start__>a"]);
  });
});
