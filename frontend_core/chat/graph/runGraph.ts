/**
 * The adapter of AG-UI's events to the fold of a run's graph, which this panel shares with the graph page. Pure.
 *
 * A run names itself first: another name is another run, whose tasks begin anew. A thread that is idle tells its agent's
 * topology too, and which run was the last.
 */

import { CUSTOM } from "../../contract";
import { isObject, numberIn, textIn, textsIn } from "../../../middle_core/graph_page/json.js";
import { endedOutcome, foldGraph, NO_GRAPH, topologyIn, type GraphEvent, type RunGraph } from "../../../middle_core/graph_page/run_graph.js";

/** runId: the run that the tasks are of; "" before there is one. */
export interface PanelGraph extends RunGraph {
  readonly runId: string;
}

export const NO_PANEL_GRAPH: PanelGraph = { ...NO_GRAPH, runId: "" };

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
      return runId === "" || runId === graph.runId ? graph : { ...NO_PANEL_GRAPH, nodes: graph.nodes, edges: graph.edges, runId };
    }
    case CUSTOM.TOPOLOGY:
      return foldGraph(graph, topologyIn(value));
    case CUSTOM.NODE_STARTED:
    case CUSTOM.NODE_COMPLETED: {
      const event = taskIn(value, name === CUSTOM.NODE_COMPLETED);
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

function taskIn(value: Fields, isCompleted: boolean): GraphEvent | undefined {
  const id = textIn(value, "taskId");
  const name = textIn(value, "node");
  if (id === "" || name === "") return undefined;
  const facts = { id, node: textsIn(value, "path").join(":") || name, name, startedAt: numberIn(value, "startedAt") };
  if (!isCompleted) return { kind: "node_started", ...facts };
  return { kind: "node_completed", ...facts, latencyMs: numberIn(value, "latencyMs") ?? 0, outcome: endedOutcome(textIn(value, "outcome")) };
}
