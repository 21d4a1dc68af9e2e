/** The agent's graph beside the conversation: nodes light up as they run, with their times. */

import { useEffect, useId, useMemo, useRef, type KeyboardEvent } from "react";
import { IconButton } from "../ui/Button";
import { CloseIcon } from "../ui/icons";
import { layoutOf, type Measures, type PlacedNode } from "../../../middle_core/graph_page/layout.js";
import { activityOf, edgeKey, isTerminal, takenEdges, type Activity, type RunGraph, type Task } from "../../../middle_core/graph_page/run_graph.js";
import { duration, readableName, shortName } from "../../../middle_core/graph_page/words.js";
import { isKey } from "../ui/keys";
import styles from "./graph.module.css";

interface GraphPanelProps {
  readonly graph: RunGraph;
  readonly onClose: () => void;
}

/** The panel is narrow, so its graph runs from the top down. */
const MEASURES: Measures = {
  direction: "down",
  sizeOf: (node) => (isTerminal(node) ? { width: 72, height: 28 } : { width: 132, height: 40 }),
  captionHeight: 0,
  gap: { layer: 34, node: 20, lane: 12, arc: 16 },
};
/** Characters of a name that fit into a node. */
const MAX_NAME = 18;

const OUTCOME_WORDS: Readonly<Record<Activity["state"], string>> = {
  idle: "not run",
  running: "running",
  ok: "done",
  skipped: "skipped",
  error: "failed",
  interrupted: "waits for an answer",
  cancelled: "stopped",
};

export function GraphPanel({ graph, onClose }: GraphPanelProps) {
  const headingId = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isKey(event.nativeEvent, "Escape")) return;
    event.preventDefault();
    onClose();
  };
  return (
    <aside id="graph-panel" className={styles.panel} aria-labelledby={headingId} data-testid="graph-panel" onKeyDown={onKeyDown}>
      <div className={styles.bar}>
        <h2 id={headingId} className={styles.heading}>
          Execution graph
        </h2>
        <IconButton label="Close the execution graph" onClick={onClose}>
          <CloseIcon size={16} />
        </IconButton>
      </div>
      {graph.nodes.length === 0 ? (
        <p className={styles.empty}>The graph shows up with the next answer: which step runs, and how long each took.</p>
      ) : (
        <div className={styles.body}>
          <Drawing graph={graph} />
          <Timeline tasks={graph.tasks} />
        </div>
      )}
    </aside>
  );
}

function Drawing({ graph }: { readonly graph: RunGraph }) {
  const titleId = useId();
  const descId = useId();
  const arrowId = useId();
  const layout = useMemo(() => layoutOf(graph.nodes, graph.edges, MEASURES), [graph.nodes, graph.edges]);
  const taken = takenEdges(graph);
  const nodes = layout.nodes.map((node) => ({ node, activity: activityOf(graph, node.id) }));
  return (
    <svg
      className={styles.drawing}
      role="img"
      aria-labelledby={`${titleId} ${descId}`}
      viewBox={`-2 -2 ${layout.width + 4} ${layout.height + 4}`}
      style={{ maxWidth: layout.width * 1.15 }}
      data-testid="graph-drawing"
    >
      <title id={titleId}>The agent as a graph</title>
      <desc id={descId}>{nodes.map(({ node, activity }) => `${readableName(node.name)}: ${OUTCOME_WORDS[activity.state]}`).join("; ")}</desc>
      <defs>
        <marker id={arrowId} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse">
          <path d="M0 0.6 7.4 4 0 7.4Z" className={styles.arrow} />
        </marker>
      </defs>
      {layout.edges.map(({ source, target, conditional, path }) => (
        <path
          key={`${source} ${target}`}
          className={styles.edge}
          d={path}
          data-conditional={conditional}
          data-used={taken.has(edgeKey(source, target))}
          markerEnd={`url(#${arrowId})`}
        />
      ))}
      {nodes.map(({ node, activity }) => (
        <Node key={node.id} node={node} activity={activity} />
      ))}
    </svg>
  );
}

function Node({ node, activity }: { readonly node: PlacedNode; readonly activity: Activity }) {
  const { state, visits, totalMs } = activity;
  const { isTerminal: isEnd, width, height } = node;
  const told = isEnd || visits === 0 ? "" : state === "running" ? "running…" : `${duration(totalMs)}${visits > 1 ? ` · ${visits}×` : ""}`;
  return (
    <g className={styles.node} data-outcome={state} data-end={isEnd} data-node={node.name} data-testid="graph-node" transform={`translate(${node.x} ${node.y})`}>
      <rect x={-width / 2} y={-height / 2} width={width} height={height} rx={isEnd ? height / 2 : 9} />
      <text y={told === "" ? 4.5 : -3} textAnchor="middle" className={styles.nodeName}>
        {shortName(node.name, MAX_NAME)}
      </text>
      {told !== "" && (
        <text y={12} textAnchor="middle" className={styles.nodeTime}>
          {told}
        </text>
      )}
    </g>
  );
}

/** The same as the drawing in words, in the order in which it happened. */
function Timeline({ tasks }: { readonly tasks: readonly Task[] }) {
  const listRef = useRef<HTMLOListElement>(null);
  const count = tasks.length;
  useEffect(() => {
    listRef.current?.lastElementChild?.scrollIntoView({ block: "nearest" });
  }, [count]);
  if (count === 0) return <p className={styles.empty}>Nothing has run yet.</p>;
  return (
    <ol ref={listRef} className={styles.timeline} aria-label="Steps in order" data-testid="graph-timeline">
      {tasks.map((task) => (
        <li key={task.id} data-outcome={task.outcome}>
          <span className={styles.dot} />
          <span className={styles.taskName}>{task.name}</span>
          <span className={styles.taskTime}>{task.latencyMs === undefined ? "…" : duration(task.latencyMs)}</span>
          <span className={task.outcome === "ok" ? "sr-only" : styles.taskOutcome}>{OUTCOME_WORDS[task.outcome]}</span>
        </li>
      ))}
    </ol>
  );
}
