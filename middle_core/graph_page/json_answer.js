// @ts-check
/**
 * A turn out of the JSON answer of `/chat` alone, for where events cannot be had. Pure.
 *
 * The answer tells which nodes ran, and when, but no edges. So the drawing shows the nodes in the order in which they ran.
 */

import { objectsIn, textIn } from "./json.js";
import { edgeKey, END, foldGraph, NO_GRAPH, partsOf, START } from "./run_graph.js";
import { completed, NEW_TURN, taskIn } from "./turn.js";
/** @import { Json } from "./json.js" */
/** @import { GraphEdge, Task } from "./run_graph.js" */
/** @import { Turn } from "./turn.js" */

/**
 * @param {Json} response a ChatResponse
 * @returns {Turn}
 */
export function turnOf(response) {
  const tasks = tasksIn(response);
  const skipped = tasks.filter(({ outcome }) => outcome === "skipped");
  const ran = inWaves(tasks.filter(({ outcome }) => outcome !== "skipped"));
  const ids = [START, ...new Set([...ran, ...skipped].map(({ node }) => node)), END];
  const nodes = ids.map((id) => ({ id, ...partsOf(id) }));
  const known = { ...NEW_TURN, runId: textIn(response, "run_id"), threadId: textIn(response, "thread_id") };
  return completed({ ...known, nodes, edges: edgesBetween(ran), tasks: [...ran, ...skipped] }, response, undefined);
}

/** @param {Json} response @returns {readonly Task[]} */
function tasksIn(response) {
  let graph = NO_GRAPH;
  objectsIn(response, "latency").forEach((entry, index) => {
    const event = taskIn({ run_id: response.run_id, ...entry, task_id: entry.task_id ?? `${index}` });
    if (event !== undefined) graph = foldGraph(graph, event);
  });
  return graph.tasks;
}

/** The waves of tasks that are known by their times only. @param {readonly Task[]} tasks @returns {readonly Task[]} */
function inWaves(tasks) {
  let wave = -1;
  let lastEnd = -Infinity;
  return tasks
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((task) => {
      if (wave < 0 || task.startedAt === 0 || task.startedAt >= lastEnd) wave += 1;
      lastEnd = Math.max(lastEnd, task.startedAt + (task.latencyMs ?? 0));
      return { ...task, wave };
    });
}

/** From each node of a wave to each node of the next one. @param {readonly Task[]} tasks @returns {GraphEdge[]} */
function edgesBetween(tasks) {
  /** @type {Map<number, string[]>} */
  const waves = new Map([[-1, [START]]]);
  for (const { wave, node } of tasks) waves.set(wave, [...(waves.get(wave) ?? []), node]);
  waves.set(Infinity, [END]);
  const rows = [...waves.values()];
  /** @type {Map<string, GraphEdge>} */
  const edges = new Map();
  rows.forEach((row, index) => {
    for (const source of row) for (const target of rows[index + 1] ?? []) edges.set(edgeKey(source, target), { source, target, conditional: false, label: "" });
  });
  return [...edges.values()];
}
