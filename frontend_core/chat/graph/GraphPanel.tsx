/** The agent's graph beside the conversation: nodes light up as they run, with their times. */

import { useEffect, useId, useMemo, useRef, type KeyboardEvent } from "react";
import { IconButton } from "../ui/Button";
import { CloseIcon } from "../ui/icons";
import styles from "./graph.module.css";
import { layoutOf, type PlacedNode } from "./layout";
import { activityOf, duration, type NodeActivity, type RunGraph, type Task } from "./runGraph";

interface GraphPanelProps {
  readonly graph: RunGraph;
  readonly running: boolean;
  readonly onClose: () => void;
}

const OUTCOME_WORDS: Readonly<Record<NodeActivity["outcome"], string>> = {
  idle: "not run",
  running: "running",
  ok: "done",
  error: "failed",
  interrupted: "waits for an answer",
  cancelled: "stopped",
};

/** Names that LangGraph gives to where a graph begins and ends. */
const ENDS: Readonly<Record<string, string>> = { __start__: "Start", __end__: "End" };

export function GraphPanel({ graph, running, onClose }: GraphPanelProps) {
  const headingId = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
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
          <Drawing graph={graph} running={running} />
          <Timeline tasks={graph.tasks} />
        </div>
      )}
    </aside>
  );
}

function Drawing({ graph, running }: { readonly graph: RunGraph; readonly running: boolean }) {
  const titleId = useId();
  const descId = useId();
  const arrowId = useId();
  const layout = useMemo(() => layoutOf(graph.nodes, graph.edges), [graph.nodes, graph.edges]);
  const activities = new Map(layout.nodes.map((node) => [node.id, activityFor(graph, node.id, running)]));
  const ran = (id: string): boolean => (activities.get(id)?.outcome ?? "idle") !== "idle";
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
      <desc id={descId}>{layout.nodes.map(({ id, name }) => `${nameOf(name)}: ${OUTCOME_WORDS[activities.get(id)?.outcome ?? "idle"]}`).join("; ")}</desc>
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
          data-used={ran(source) && ran(target)}
          markerEnd={`url(#${arrowId})`}
        />
      ))}
      {layout.nodes.map((node) => (
        <Node key={node.id} node={node} activity={activities.get(node.id) ?? { outcome: "idle", times: 0, totalMs: 0 }} />
      ))}
    </svg>
  );
}

function Node({ node, activity }: { readonly node: PlacedNode; readonly activity: NodeActivity }) {
  const { outcome, times, totalMs } = activity;
  const { isEnd, size } = node;
  const told = isEnd || times === 0 ? "" : outcome === "running" ? "running…" : `${duration(totalMs)}${times > 1 ? ` · ${times}×` : ""}`;
  return (
    <g className={styles.node} data-outcome={outcome} data-end={isEnd} data-node={node.name} data-testid="graph-node" transform={`translate(${node.x} ${node.y})`}>
      <rect x={-size.width / 2} y={-size.height / 2} width={size.width} height={size.height} rx={isEnd ? size.height / 2 : 9} />
      <text y={told === "" ? 4.5 : -3} textAnchor="middle" className={styles.nodeName}>
        {short(nameOf(node.name))}
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

/** Start and end run no task: they are reached when the run begins, and when it is over. */
function activityFor(graph: RunGraph, id: string, running: boolean): NodeActivity {
  const reached = graph.tasks.length > 0 && (id === "__start__" || (id === "__end__" && !running && graph.tasks.every(({ outcome }) => outcome === "ok")));
  return reached ? { outcome: "ok", times: 0, totalMs: 0 } : activityOf(graph.tasks, id);
}

function nameOf(name: string): string {
  return ENDS[name] ?? name;
}

function short(name: string): string {
  return name.length > 18 ? `${name.slice(0, 17)}…` : name;
}
