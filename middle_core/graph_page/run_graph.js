// @ts-check
/**
 * The graph of an agent and what its nodes did: the one fold of a run's graph, for this page and for the panel beside the chat.
 *
 * Pure, and without any wire's names. Two adapters bring their events into the five kinds of `GraphEvent`: `turn.js` those of
 * `/chat`, and frontend_core/chat/graph/runGraph.ts those of AG-UI.
 */

import { ENDED_OUTCOMES } from "./contract.js";
import { objectsIn, textIn } from "./json.js";
/** @import { ENDED_STATUSES } from "./contract.js" */
/** @import { Json } from "./json.js" */

/** @typedef {(typeof ENDED_OUTCOMES)[number]} EndedOutcome */
/** @typedef {"running" | EndedOutcome} Outcome */
/** @typedef {(typeof ENDED_STATUSES)[number]} EndedStatus */
/** open: the run goes on, or nobody has said that it ended. @typedef {"open" | "paused" | EndedStatus} RunStatus */

/** @typedef {{ id: string, name: string, parent: string }} GraphNode  parent: the id of the node around it, "" for none. */
/** @typedef {{ source: string, target: string, conditional: boolean, label: string }} GraphEdge */
/**
 * One task of a node. A node may have several tasks, also at the same time.
 * node: the node's id. startedAt: in milliseconds since 1970. latencyMs: undefined while the task runs. wave: tasks with the
 * same number ran side by side.
 * @typedef {{ id: string, node: string, name: string, startedAt: number, latencyMs: number | undefined, outcome: Outcome, wave: number }} Task
 */
/**
 * tasks: in the order in which they began.
 * @typedef {{ nodes: readonly GraphNode[], edges: readonly GraphEdge[], tasks: readonly Task[], status: RunStatus }} RunGraph
 */

/** @typedef {{ kind: "topology", nodes: readonly GraphNode[], edges: readonly GraphEdge[] }} TopologyEvent */
/**
 * What both events of a task have. id: of the task. node: the node's id. at: when the event happened, for a task whose start is not told.
 * @typedef {{ id: string, node: string, name: string, startedAt: number | undefined, at?: number | undefined }} TaskFacts
 */
/** @typedef {TaskFacts & { kind: "node_started" }} NodeStartedEvent */
/** @typedef {TaskFacts & { kind: "node_completed", latencyMs: number, outcome: EndedOutcome }} NodeCompletedEvent */
/** @typedef {TopologyEvent | NodeStartedEvent | NodeCompletedEvent | { kind: "paused" } | { kind: "ended", status: EndedStatus }} GraphEvent */

/** @type {RunGraph} */
export const NO_GRAPH = Object.freeze({ nodes: [], edges: [], tasks: [], status: "open" });

/** LangGraph's names for where a graph begins and ends. */
export const START = "__start__";
export const END = "__end__";

/** A run may loop for long; a drawing needs the newest tasks only. */
const MAX_TASKS = 500;

/**
 * The graph after one event; the same object where the event changes nothing. An event that comes twice counts once.
 * Of several ends the first counts: a cancelled run's last event may look like that of a completed one.
 * @template {RunGraph} G
 * @param {G} graph
 * @param {GraphEvent} event
 * @returns {G}
 */
export function foldGraph(graph, event) {
  switch (event.kind) {
    case "topology":
      return { ...graph, nodes: event.nodes, edges: withoutParallels(event.edges) };
    case "node_started":
    case "node_completed": {
      const tasks = withTask(graph.tasks, event);
      return tasks === graph.tasks ? graph : { ...graph, tasks };
    }
    case "paused":
      return graph.status === "open" ? { ...graph, status: "paused" } : graph;
    case "ended":
      return graph.status === "open" ? { ...graph, status: event.status } : graph;
  }
}

/**
 * A topology as both wires have it: `{nodes: [{id, name or label, parent?}], edges: [{source, target, conditional, label?}]}`.
 * @param {Json} value
 * @returns {TopologyEvent}
 */
export function topologyIn(value) {
  const nodes = objectsIn(value, "nodes").flatMap((one) => {
    const id = textIn(one, "id");
    const { name, parent } = partsOf(id);
    return id === "" ? [] : [{ id, name: textIn(one, "label") || textIn(one, "name") || name, parent: textIn(one, "parent") || parent }];
  });
  const edges = objectsIn(value, "edges").flatMap((one) => {
    const [source, target] = [textIn(one, "source"), textIn(one, "target")];
    return source === "" || target === "" ? [] : [{ source, target, conditional: one.conditional === true, label: textIn(one, "label") }];
  });
  return { kind: "topology", nodes, edges };
}

/** The name and the parent that a node's id tells: "outer:inner" is "inner" inside "outer". @param {string} id */
export function partsOf(id) {
  const parts = id.split(":");
  return { name: parts.at(-1) ?? id, parent: parts.slice(0, -1).join(":") };
}

/** @param {string} text @returns {EndedOutcome} "ok" for an outcome that is not known here */
export function endedOutcome(text) {
  return ENDED_OUTCOMES.find((outcome) => outcome === text) ?? "ok";
}

/** Whether a node is where its graph begins or ends. @param {GraphNode} node */
export function isTerminal({ name }) {
  return name === START || name === END;
}

/** Several edges between the same two nodes are drawn as one. @param {readonly GraphEdge[]} edges @returns {readonly GraphEdge[]} */
function withoutParallels(edges) {
  /** @type {Map<string, GraphEdge>} */
  const merged = new Map();
  for (const { source, target, conditional, label } of edges) {
    const key = edgeKey(source, target);
    const before = merged.get(key);
    const labels = [before?.label, label].filter(Boolean).join(", ");
    merged.set(key, { source, target, conditional: conditional && (before?.conditional ?? true), label: labels });
  }
  return [...merged.values()];
}

/** @param {readonly Task[]} tasks @param {NodeStartedEvent | NodeCompletedEvent} event @returns {readonly Task[]} */
function withTask(tasks, event) {
  const index = tasks.findIndex(({ id }) => id === event.id);
  const before = tasks[index];
  if (before !== undefined && (before.outcome !== "running" || event.kind === "node_started")) return tasks;
  const task = {
    id: event.id,
    node: event.node,
    name: event.name,
    startedAt: event.startedAt ?? before?.startedAt ?? event.at ?? 0,
    latencyMs: event.kind === "node_completed" ? event.latencyMs : undefined,
    outcome: event.kind === "node_completed" ? event.outcome : /** @type {const} */ ("running"),
    wave: before?.wave ?? nextWave(tasks),
  };
  return before === undefined ? [...tasks, task].slice(-MAX_TASKS) : tasks.with(index, task);
}

/** A task that begins while others run stands beside them, else it comes after them. @param {readonly Task[]} tasks */
function nextWave(tasks) {
  const last = tasks.at(-1);
  if (last === undefined) return 0;
  return tasks.some(({ outcome }) => outcome === "running") ? last.wave : last.wave + 1;
}

/**
 * visits: tasks that ran. totalMs: of those that ended. since: when the task that runs now began.
 * @typedef {{ state: Outcome | "idle", visits: number, totalMs: number, since: number | undefined }} Activity
 */

/** What a node did in all its tasks. @param {RunGraph} graph @param {string} id @returns {Activity} */
export function activityOf(graph, id) {
  const own = graph.tasks.filter(({ node }) => node === id);
  const running = own.find(({ outcome }) => outcome === "running");
  const visits = own.filter(({ outcome }) => outcome !== "skipped");
  const totalMs = own.reduce((sum, { latencyMs }) => sum + (latencyMs ?? 0), 0);
  const ended = visits.at(-1)?.outcome ?? own.at(-1)?.outcome;
  const state = running ? "running" : (ended ?? (isReached(graph, id) ? "ok" : "idle"));
  return { state, visits: visits.length, totalMs, since: running?.startedAt };
}

/**
 * Start and end run no task: the start is reached when the first task begins, the end when the graph came to it.
 * @param {RunGraph} graph
 * @param {string} id
 */
function isReached(graph, id) {
  return graph.tasks.length > 0 && (id === START || (id === END && cameToItsEnd(graph)));
}

/** A refusal is an answer too: the graph ran to its end. @param {RunGraph} graph */
function cameToItsEnd({ status }) {
  return status === "completed" || status === "refused";
}

/** How an edge is called in the result of `takenEdges`. @param {string} source @param {string} target */
export function edgeKey(source, target) {
  return `${source}\n${target}`;
}

/**
 * The keys of the edges that were taken: from each task to the nearest later tasks that its node leads to. No event tells
 * of edges, so they are inferred from the order of the tasks.
 * @param {RunGraph} graph
 * @returns {ReadonlySet<string>}
 */
export function takenEdges(graph) {
  const ran = graph.tasks.filter(({ outcome }) => outcome !== "skipped");
  /** @type {Pick<Task, "node" | "wave">[]} */
  const steps = [...(ran.length > 0 ? [{ node: START, wave: -1 }] : []), ...ran];
  if (cameToItsEnd(graph)) steps.push({ node: END, wave: Infinity });
  /** @type {Map<string, Set<string>>} */
  const targets = new Map();
  for (const { source, target } of graph.edges) targets.set(source, (targets.get(source) ?? new Set()).add(target));
  /** @type {Set<string>} */
  const taken = new Set();
  for (const from of steps) {
    const after = steps.filter(({ node, wave }) => wave > from.wave && targets.get(from.node)?.has(node));
    const nearest = Math.min(...after.map(({ wave }) => wave));
    for (const { node, wave } of after) if (wave === nearest) taken.add(edgeKey(from.node, node));
  }
  // A task that was over before its sibling began looks like a step before that sibling, so nothing leads to the sibling yet.
  for (const to of steps) {
    const before = steps.filter(({ node, wave }) => wave < to.wave && targets.get(node)?.has(to.node));
    if (before.some(({ node }) => taken.has(edgeKey(node, to.node)))) continue;
    const nearest = Math.max(...before.map(({ wave }) => wave));
    for (const { node, wave } of before) if (wave === nearest) taken.add(edgeKey(node, to.node));
  }
  return taken;
}
