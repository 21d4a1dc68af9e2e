import { describe, expect, it } from "vitest";
import { activityOf, takenEdges } from "../../../middle_core/graph_page/run_graph.js";
import { CUSTOM } from "../../contract";
import { advanceGraph, NO_PANEL_GRAPH, type PanelGraph } from "./runGraph";

type Event = Readonly<Record<string, unknown>>;

const custom = (name: string, value: unknown): Event => ({ type: "CUSTOM", name, value });
const run = (runId: string): Event => custom(CUSTOM.RUN, { runId, threadId: "t", agent: "a", attempt: 1 });
const started = (node: string, taskId: string, more: object = {}): Event => custom(CUSTOM.NODE_STARTED, { node, path: [node], taskId, startedAt: 1, ...more });
const completed = (node: string, taskId: string, more: object = {}): Event =>
  custom(CUSTOM.NODE_COMPLETED, { node, path: [node], taskId, startedAt: 1, latencyMs: 20, outcome: "ok", ...more });
const FINISHED: Event = { type: "RUN_FINISHED", threadId: "t", runId: "c" };

const TOPOLOGY = custom(CUSTOM.TOPOLOGY, {
  nodes: ["__start__", "agent", "tools", "__end__"].map((id) => ({ id, name: id })),
  edges: [
    { source: "__start__", target: "agent", conditional: false },
    { source: "agent", target: "tools", conditional: true },
    { source: "agent", target: "__end__", conditional: true },
    { source: "tools", target: "agent", conditional: true },
    { source: "tools", target: "__end__", conditional: true },
  ],
});
const OPENING = [run("r1"), TOPOLOGY, started("agent", "1"), completed("agent", "1")];

function played(events: readonly Event[], from: PanelGraph = NO_PANEL_GRAPH): PanelGraph {
  return events.reduce(advanceGraph, from);
}

describe("advanceGraph", () => {
  it("follows each task of each node, also several at once", () => {
    const graph = played([...OPENING, started("tools", "2"), started("tools", "3"), completed("tools", "2", { latencyMs: 5, outcome: "error" })]);
    expect(graph.nodes.map(({ id }) => id)).toEqual(["__start__", "agent", "tools", "__end__"]);
    expect(activityOf(graph, "agent")).toMatchObject({ state: "ok", visits: 1, totalMs: 20 });
    expect(activityOf(graph, "tools")).toMatchObject({ state: "running", visits: 2, totalMs: 5 });
    expect([...takenEdges(graph)]).toEqual(["__start__\nagent", "agent\ntools"]);
  });

  it("keeps a task that is inside a subgraph apart from the node around it", () => {
    const graph = played([started("outer", "1"), started("in", "2", { path: ["outer", "in"] })]);
    expect(graph.tasks.map(({ node, name }) => [node, name])).toEqual([["outer", "outer"], ["outer:in", "in"]]);
  });

  it("begins anew with another run, and not when an idle thread is opened again", () => {
    const first = played([...OPENING, FINISHED]);
    expect(played([run("r1"), TOPOLOGY, FINISHED], first)).toEqual(first);
    expect(played([run("r2")], first)).toEqual({ ...first, runId: "r2", tasks: [], status: "open" });
  });

  it("takes a task that another attempt runs again for another task, also where its end was never told", () => {
    const attempt = custom(CUSTOM.ATTEMPT, { attempt: 2, reason: "lost", discardAfterSeq: 3 });
    const before = [...OPENING, started("tools", "2")];
    const graph = played([...before, attempt, started("tools", "2")]);
    expect(activityOf(graph, "tools")).toMatchObject({ state: "running", visits: 2 });
    expect(activityOf(graph, "agent")).toMatchObject({ state: "ok", visits: 1 });
    expect(activityOf(played([completed("tools", "2"), FINISHED], graph), "tools").state).toBe("ok");
    expect(graph.tasks.map(({ outcome }) => outcome)).toEqual(["ok", "cancelled", "running"]);
    expect(played([attempt, started("tools", "2")], graph)).toEqual(graph); // told twice, as after a cut
    expect(played([...before, attempt, started("tools", "2")], graph)).toEqual(graph); // the thread is opened again
    expect(played([run("r2")], graph).attempt).toBe(1);
  });

  it.each([
    ["completed", "ok", [FINISHED]],
    ["refused", "ok", [custom(CUSTOM.REFUSED, { by: "node", reason: "No." }), FINISHED]],
    ["cancelled", "idle", [custom(CUSTOM.RUN_CANCELLED, { by: "user", reason: "" }), FINISHED]],
    ["failed", "idle", [{ type: "RUN_ERROR", code: "internal" }]],
    ["paused", "idle", [{ ...FINISHED, outcome: { type: "interrupt", interrupts: [] } }]],
    ["paused", "idle", [custom(CUSTOM.WAITING, { interrupts: [] }), FINISHED]],
  ] as const)("a run that is %s leaves the end of the graph %s", (status, end, events) => {
    const graph = played(events, played(OPENING));
    expect(graph.status).toBe(status);
    expect(activityOf(graph, "__end__").state).toBe(end);
  });

  it("leaves what it cannot read, and what is not about the graph", () => {
    const graph = played(OPENING);
    const others = [custom("middle_core.chunk", {}), custom(CUSTOM.NODE_STARTED, null), custom(CUSTOM.NODE_STARTED, { node: "a" }), custom(CUSTOM.RUN, {}), { type: "TEXT_MESSAGE_CONTENT" }];
    for (const event of others) expect(advanceGraph(graph, event)).toBe(graph);
    expect(played([custom(CUSTOM.TOPOLOGY, { nodes: "x", edges: [7, { source: "a" }] })])).toEqual(NO_PANEL_GRAPH);
  });
});
