/**
 * The agent's graph and what its nodes did in a run, from middle-core's CUSTOM events. Pure.
 *
 * A run names itself first: another name is another run, whose tasks begin anew. A thread that is idle tells its agent's
 * topology too, and who ran last. A node may work several times, and at the same time several times over (one task for each
 * tool call).
 */

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  readonly parent: string | undefined;
}

export interface GraphEdge {
  readonly source: string;
  readonly target: string;
  readonly conditional: boolean;
}

export type TaskOutcome = "running" | "ok" | "error" | "interrupted" | "cancelled";

/** One task of a node. Times in milliseconds. */
export interface Task {
  readonly id: string;
  /** The node's id in the topology. */
  readonly node: string;
  readonly name: string;
  readonly startedAt: number;
  readonly latencyMs: number | undefined;
  readonly outcome: TaskOutcome;
}

export interface RunGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** In the order in which they began. */
  readonly tasks: readonly Task[];
  /** The run that the tasks are of; "" before there is one. */
  readonly runId: string;
}

export const NO_GRAPH: RunGraph = { nodes: [], edges: [], tasks: [], runId: "" };

const MOST_TASKS = 200;
const OUTCOMES: ReadonlySet<string> = new Set(["ok", "error", "interrupted", "cancelled"]);

/** The graph after one CUSTOM event; the same object where the event says nothing about it. */
export function advanceGraph(graph: RunGraph, name: string, value: unknown): RunGraph {
  if (name === "middle_core.run") {
    const runId = text(isRecord(value) ? value : {}, "runId") ?? graph.runId;
    return runId === graph.runId ? graph : { ...graph, runId, tasks: [] };
  }
  if (name === "middle_core.topology") return { ...graph, ...readTopology(value) };
  if (name !== "middle_core.node_started" && name !== "middle_core.node_completed") return graph;
  const task = readTask(value);
  if (task === undefined) return graph;
  const known = graph.tasks.findIndex(({ id }) => id === task.id);
  const tasks = known === -1 ? [...graph.tasks, task].slice(-MOST_TASKS) : graph.tasks.with(known, task);
  return { ...graph, tasks };
}

function readTopology(value: unknown): Pick<RunGraph, "nodes" | "edges"> {
  const nodes = items(value, "nodes").flatMap((one) => {
    const id = text(one, "id");
    return id === undefined ? [] : [{ id, name: text(one, "name") ?? id, parent: text(one, "parent") }];
  });
  const edges = items(value, "edges").flatMap((one) => {
    const source = text(one, "source");
    const target = text(one, "target");
    return source === undefined || target === undefined ? [] : [{ source, target, conditional: one.conditional === true }];
  });
  return { nodes, edges };
}

function readTask(value: unknown): Task | undefined {
  if (!isRecord(value)) return undefined;
  const id = text(value, "taskId");
  const name = text(value, "node");
  if (id === undefined || name === undefined) return undefined;
  const path = Array.isArray(value.path) ? value.path.filter((part) => typeof part === "string") : [];
  const outcome = text(value, "outcome");
  return {
    id,
    node: path.length > 0 ? path.join(":") : name,
    name,
    startedAt: typeof value.startedAt === "number" ? value.startedAt : 0,
    latencyMs: typeof value.latencyMs === "number" ? value.latencyMs : undefined,
    outcome: outcome !== undefined && OUTCOMES.has(outcome) ? (outcome as TaskOutcome) : "running",
  };
}

/** What a node did in all its tasks: how it stands, how often it worked, how long in all. */
export interface NodeActivity {
  readonly outcome: TaskOutcome | "idle";
  readonly times: number;
  readonly totalMs: number;
}

export function activityOf(tasks: readonly Task[], nodeId: string): NodeActivity {
  const own = tasks.filter(({ node }) => node === nodeId || node.startsWith(`${nodeId}:`));
  const direct = own.filter(({ node }) => node === nodeId);
  const counted = direct.length > 0 ? direct : own;
  const running = own.some(({ outcome }) => outcome === "running");
  return {
    outcome: running ? "running" : (own.at(-1)?.outcome ?? "idle"),
    times: counted.length,
    totalMs: counted.reduce((sum, { latencyMs }) => sum + (latencyMs ?? 0), 0),
  };
}

/** A time for people. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

function items(value: unknown, key: string): readonly Readonly<Record<string, unknown>>[] {
  const found = isRecord(value) ? value[key] : undefined;
  return Array.isArray(found) ? found.filter(isRecord) : [];
}

function text(value: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const found = value[key];
  return typeof found === "string" && found !== "" ? found : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
