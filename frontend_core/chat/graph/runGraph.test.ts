import { describe, expect, it } from "vitest";
import { layoutOf } from "./layout";
import { activityOf, advanceGraph, duration, NO_GRAPH, type RunGraph } from "./runGraph";

const TOPOLOGY = {
  nodes: ["__start__", "agent", "tools", "__end__"].map((id) => ({ id, name: id })),
  edges: [
    { source: "__start__", target: "agent", conditional: false },
    { source: "agent", target: "tools", conditional: true },
    { source: "agent", target: "__end__", conditional: true },
    { source: "tools", target: "agent", conditional: true },
    { source: "tools", target: "__end__", conditional: true },
  ],
};
const task = (node: string, taskId: string, more: object = {}) => ({ node, path: [node], taskId, startedAt: 1, ...more });

function played(...events: readonly (readonly [string, unknown])[]): RunGraph {
  return events.reduce((graph, [name, value]) => advanceGraph(graph, `middle_core.${name}`, value), NO_GRAPH);
}

describe("advanceGraph", () => {
  it("follows each task of each node, also several at once", () => {
    const graph = played(
      ["topology", TOPOLOGY],
      ["node_started", task("agent", "1")],
      ["node_completed", task("agent", "1", { latencyMs: 20, outcome: "ok" })],
      ["node_started", task("tools", "2")],
      ["node_started", task("tools", "3")],
      ["node_completed", task("tools", "2", { latencyMs: 5, outcome: "error" })],
    );
    expect(graph.nodes.map(({ id }) => id)).toEqual(["__start__", "agent", "tools", "__end__"]);
    expect(activityOf(graph.tasks, "agent")).toEqual({ outcome: "ok", times: 1, totalMs: 20 });
    expect(activityOf(graph.tasks, "tools")).toEqual({ outcome: "running", times: 2, totalMs: 5 });
    expect(activityOf(graph.tasks, "__end__").outcome).toBe("idle");
  });

  it("begins anew with another run, and not when an idle thread is opened again", () => {
    const run = (runId: string) => ["run", { runId, threadId: "t", agent: "a", attempt: 1 }] as const;
    const first = played(run("r1"), ["topology", TOPOLOGY], ["node_started", task("agent", "1")], ["node_completed", task("agent", "1", { latencyMs: 20, outcome: "ok" })]);
    const opened = [run("r1"), ["topology", TOPOLOGY]] as const;
    expect(opened.reduce((graph, [name, value]) => advanceGraph(graph, `middle_core.${name}`, value), first)).toEqual(first);
    const next = advanceGraph(first, "middle_core.run", { runId: "r2" });
    expect(next).toEqual({ ...first, runId: "r2", tasks: [] });
  });

  it("leaves what it cannot read, and what is not about the graph", () => {
    const graph = played(["topology", TOPOLOGY]);
    for (const [name, value] of [["middle_core.chunk", {}], ["middle_core.node_started", null], ["middle_core.node_started", { node: "a" }]] as const) {
      expect(advanceGraph(graph, name, value)).toBe(graph);
    }
    expect(played(["topology", { nodes: "x", edges: [7, { source: "a" }] }])).toEqual(NO_GRAPH);
    expect(played(["node_completed", task("agent", "1", { outcome: "<b>" })]).tasks[0]?.outcome).toBe("running");
  });
});

describe("layoutOf", () => {
  it("stands in layers from the start to the end, without overlaps", () => {
    const { nodes, edges, height } = layoutOf(played(["topology", TOPOLOGY]).nodes, TOPOLOGY.edges);
    const y = new Map(nodes.map((node) => [node.id, node.y]));
    expect([...y.values()]).toEqual([...y.values()].toSorted((a, b) => a - b));
    expect(new Set(y.values()).size).toBe(4);
    expect(edges).toHaveLength(5);
    for (const node of nodes) expect(node.y + node.size.height / 2).toBeLessThanOrEqual(height);
  });

  it("draws what is inside a subgraph and not its frame; loops and islands too", () => {
    const nodes = [
      { id: "outer", name: "outer", parent: undefined },
      { id: "outer:in", name: "in", parent: "outer" },
      { id: "alone", name: "alone", parent: undefined },
    ];
    const { nodes: drawn, edges } = layoutOf(nodes, [{ source: "outer:in", target: "outer:in", conditional: false }]);
    expect(drawn.map(({ id }) => id)).toEqual(["outer:in", "alone"]);
    expect(edges).toHaveLength(1);
    expect(layoutOf([], [])).toMatchObject({ nodes: [], edges: [] });
  });

  it("is quick with a dense graph", () => {
    const nodes = Array.from({ length: 40 }, (_, n) => ({ id: `${n}`, name: `${n}`, parent: undefined }));
    const edges = nodes.flatMap(({ id }, from) => nodes.slice(from + 1).map((to) => ({ source: id, target: to.id, conditional: false })));
    expect(layoutOf(nodes, edges).nodes).toHaveLength(40);
  });
});

describe("duration", () => {
  it("is for people", () => {
    expect([12.4, 999, 1_234, 61_000].map(duration)).toEqual(["12 ms", "999 ms", "1.2 s", "1 min 1 s"]);
  });
});
