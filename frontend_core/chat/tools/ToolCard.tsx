/**
 * One tool call in the conversation: its line, and below it the card that the product registered for the tool.
 *
 * A tool without a card gets the line alone. A tool that asks a person is not in the registry: it registers itself by
 * name (`useHumanInTheLoop`, `useRenderTool`), and CopilotKit prefers that to the renderer for all tools below.
 */

import { useRenderTool } from "@copilotkit/react-core/v2/headless";
import { createContext, useContext } from "react";
import { TOOL_OUTCOME, type CallOutcome } from "../../contract";
import { useRegistry } from "../registry";
import type { Progress } from "../session/progress";
import { describeTool } from "./describeTool";
import { UNANSWERED, type ToolState } from "./outcome";
import { ToolStatus } from "./ToolStatus";
import styles from "./tools.module.css";

export interface RunState {
  /** The run goes on, or waits for a person's answer: a call without a result may still get one. */
  readonly running: boolean;
  readonly progress: ReadonlyMap<string, Progress>;
}

export const RunStateContext = createContext<RunState>({ running: false, progress: new Map() });

/** What became of the call that is drawn below, from its row; undefined where it has no result. */
export const ToolOutcomeContext = createContext<CallOutcome | undefined>(undefined);

/** There is nothing that a card could draw; the line says why. */
const NOTHING_DONE: ReadonlySet<ToolState> = new Set(["failed", "refused", TOOL_OUTCOME.NOT_RUN, "cancelled"]);

interface ToolProps {
  readonly name: string;
  readonly toolCallId: string;
  readonly parameters: unknown;
  readonly result: unknown;
}

export function useToolRenderer(): void {
  useRenderTool({ name: "*", render: (props: ToolProps) => <ToolCard {...props} /> }, []);
}

export function ToolCard({ name, toolCallId, parameters, result }: ToolProps) {
  const { tools } = useRegistry();
  const { running, progress } = useContext(RunStateContext);
  const outcome = useContext(ToolOutcomeContext) ?? (running ? undefined : UNANSWERED);
  const args = typeof parameters === "object" && parameters !== null ? { ...parameters } : {};
  const text = result === undefined ? undefined : typeof result === "string" ? result : JSON.stringify(result);
  const { card: Body, wording } = Object.hasOwn(tools, name) ? (tools[name] ?? {}) : {};
  const words = describeTool({ name, args, result: text, outcome }, wording);
  const told = progress.get(toolCallId);
  return (
    <section className={styles.card} aria-label={words.title} data-testid="tool-card" data-tool={name} data-state={words.state}>
      <ToolStatus name={name} words={words} args={args} result={text} progress={told} quiet={Body !== undefined} />
      {words.reason !== "" && <p className={styles.fault}>{words.reason}</p>}
      {Body !== undefined && !NOTHING_DONE.has(words.state) && <Body state={words.state} args={args} result={text} progress={told} />}
    </section>
  );
}
