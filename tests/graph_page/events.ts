/** Events of `/chat` for tests, and turns made of them. */

import { takenEdges } from "../../middle_core/graph_page/run_graph.js";
import { advance, NEW_TURN, type Turn } from "../../middle_core/graph_page/turn.js";

export type Event = Record<string, unknown>;

export const head = { version: "1", run_id: "r1", thread_id: "t1", at: 1_000 };
export const topology = (nodes: readonly string[], edges: readonly (readonly [string, string, boolean?])[]): Event => ({
  ...head,
  type: "graph_topology",
  agent: "a",
  nodes: nodes.map((id) => ({ id, label: id.split(":").at(-1), parent: id.includes(":") ? id.split(":")[0] : null })),
  edges: edges.map(([source, target, conditional = false]) => ({ source, target, conditional, label: null })),
});
export const started = (node: string, task: string, more: Event = {}): Event => ({ ...head, type: "node_started", node, path: [node], task_id: task, started_at: 1_000, ...more });
export const ended = (node: string, task: string, more: Event = {}): Event => ({ ...started(node, task), type: "node_completed", latency_ms: 20, outcome: "ok", ...more });
export const skipped = (node: string): Event => ({ ...head, type: "node_completed", node, path: [node], task_id: null, started_at: null, latency_ms: 0, outcome: "skipped" });
export const completed = (status: string, more: Event = {}): Event => ({ ...head, type: "turn_completed", response: { status, reply: null, interrupts: [], latency: [], error: null, ...more } });
export const played = (events: readonly Event[], from: Turn = NEW_TURN) => events.reduce(advance, from);
export const lit = (turn: Turn) => [...takenEdges(turn)].map((key) => key.replace("\n", ">")).toSorted();

export const LOOP = topology(["__start__", "agent", "tools", "__end__"], [
  ["__start__", "agent"],
  ["agent", "tools", true],
  ["agent", "__end__", true],
  ["tools", "agent", true],
  ["tools", "__end__", true],
]);
export const ROUND = [LOOP, started("agent", "1"), ended("agent", "1"), started("tools", "2"), started("tools", "3"), ended("tools", "3", { latency_ms: 5 }), ended("tools", "2"), started("agent", "4")];
