/**
 * The adapter of AG-UI's events to the fold of a run's graph, which this panel shares with the graph page. Pure.
 *
 * A run names itself first: another name is another run, whose tasks begin anew. A thread that is idle tells its agent's
 * topology too, and which run was the last.
 */

import { CUSTOM } from "../../contract";
import { isObject, numberIn, textIn, textsIn } from "../../../middle_core/graph_page/json.js";
import { endedOutcome, foldGraph, NO_GRAPH, topologyIn, type GraphEvent, type RunGraph, type Task } from "../../../middle_core/graph_page/run_graph.js";

/** runId: the run that the tasks are of; "" before there is one. attempt: of that run, the one that is told now. */
export interface PanelGraph extends RunGraph {
  readonly runId: string;
  readonly attempt: number;
}

export const NO_PANEL_GRAPH: PanelGraph = { ...NO_GRAPH, runId: "", attempt: 1 };

type Fields = Readonly<Record<string, unknown>>;

/** The graph after one AG-UI event; the same object where the event says nothing about it. */
export function advanceGraph(graph: PanelGraph, event: Fields): PanelGraph {
  switch (event.type) {
    case "CUSTOM":
      return isObject(event.value) ? advanceByCustom(graph, textIn(event, "name"), event.value) : graph;
    case "RUN_FINISHED":
      return foldGraph(graph, isObject(event.outcome) && event.outcome.type === "interrupt" ? { kind: "paused" } : { kind: "ended", status: "completed" });
    case "RUN_ERROR":
      return foldGraph(graph, { kind: "ended", status: "failed" });
    default:
      return graph;
  }
}

function advanceByCustom(graph: PanelGraph, name: string, value: Fields): PanelGraph {
  switch (name) {
    case CUSTOM.RUN: {
      const runId = textIn(value, "runId");
      if (runId === "") return graph;
      const attempt = numberIn(value, "attempt") ?? 1;
      // The log of a run that is told again, as when its thread is opened again, begins with its first attempt.
      if (runId === graph.runId) return attempt === graph.attempt ? graph : { ...graph, attempt };
      return { ...NO_PANEL_GRAPH, nodes: graph.nodes, edges: graph.edges, runId, attempt };
    }
    case CUSTOM.ATTEMPT: {
      // The process that did the work is gone, and its tasks with it.
      const attempt = numberIn(value, "attempt") ?? graph.attempt;
      return attempt <= graph.attempt ? graph : { ...graph, attempt, tasks: graph.tasks.map((task) => cutOff(task, attempt)) };
    }
    case CUSTOM.TOPOLOGY:
      return foldGraph(graph, topologyIn(value));
    case CUSTOM.NODE_STARTED:
    case CUSTOM.NODE_COMPLETED: {
      const event = taskIn(value, name === CUSTOM.NODE_COMPLETED, graph.attempt);
      return event === undefined ? graph : foldGraph(graph, event);
    }
    // What is asked through the card tool is told here; RUN_FINISHED looks like that of a completed run then.
    case CUSTOM.WAITING:
      return foldGraph(graph, { kind: "paused" });
    case CUSTOM.REFUSED:
      return foldGraph(graph, { kind: "ended", status: "refused" });
    case CUSTOM.RUN_CANCELLED:
      return foldGraph(graph, { kind: "ended", status: "cancelled" });
    default:
      return graph;
  }
}

/** attempt: LangGraph makes a task's id of the checkpoint, so another attempt repeats it, and it is another task all the same. */
function taskIn(value: Fields, isCompleted: boolean, attempt: number): GraphEvent | undefined {
  const taskId = textIn(value, "taskId");
  const name = textIn(value, "node");
  if (taskId === "" || name === "") return undefined;
  const id = taskId + suffix(attempt);
  const facts = { id, node: textsIn(value, "path").join(":") || name, name, startedAt: numberIn(value, "startedAt") };
  if (!isCompleted) return { kind: "node_started", ...facts };
  return { kind: "node_completed", ...facts, latencyMs: numberIn(value, "latencyMs") ?? 0, outcome: endedOutcome(textIn(value, "outcome")) };
}

function suffix(attempt: number): string {
  return attempt === 1 ? "" : `~${attempt}`;
}

/** A task of an earlier attempt that has no end has one now. attempt: the one that begins. */
function cutOff(task: Task, attempt: number): Task {
  return task.outcome === "running" && !task.id.endsWith(suffix(attempt)) ? { ...task, latencyMs: 0, outcome: "cancelled" } : task;
}
