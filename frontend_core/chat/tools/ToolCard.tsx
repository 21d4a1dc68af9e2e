/**
 * The registry of cards: which body a tool's line gets, and how the run stands.
 *
 * A tool without an entry gets the line alone. A tool that asks a person has no entry either: it registers itself by
 * name (`useHumanInTheLoop`, `useRenderTool`), and CopilotKit prefers that to the one for all tools below.
 */

import { useRenderTool } from "@copilotkit/react-core/v2/headless";
import { createContext, useContext, type ComponentType } from "react";
import type { Progress } from "../session/progress";
import type { CardProps } from "./toolCard";
import { CitationCards } from "../../knowledge_copilot/citations/CitationCards";
import { Cockpit } from "../../knowledge_copilot/cockpit/Cockpit";
import { describeTool, faultWords } from "./describeTool";
import { FilterCard } from "../../knowledge_copilot/sources/FilterCard";
import { IngestCard } from "../../knowledge_copilot/ingest/IngestCard";
import { SourcesTable } from "../../knowledge_copilot/sources/SourcesTable";
import { ToolStatus } from "./ToolStatus";
import styles from "./tools.module.css";

export interface RunState {
  readonly running: boolean;
  readonly progress: ReadonlyMap<string, Progress>;
}

export const RunStateContext = createContext<RunState>({ running: false, progress: new Map() });

const CARDS: Readonly<Record<string, ComponentType<CardProps>>> = {
  search_knowledge: CitationCards,
  ingest_source: IngestCard,
  cockpit_metrics: Cockpit,
  get_stats: Cockpit,
  list_sources: SourcesTable,
  filter_sources: FilterCard,
};

interface ToolProps {
  readonly name: string;
  readonly toolCallId: string;
  readonly parameters: unknown;
  readonly result: unknown;
}

export function useToolRenderer(): void {
  useRenderTool({ name: "*", render: (props: ToolProps) => <ToolCard {...props} /> }, []);
}

function ToolCard({ name, toolCallId, parameters, result }: ToolProps) {
  const { running, progress } = useContext(RunStateContext);
  const args = typeof parameters === "object" && parameters !== null ? { ...parameters } : {};
  const text = result === undefined ? undefined : typeof result === "string" ? result : JSON.stringify(result);
  const words = describeTool({ name, args, result: text, running });
  const told = progress.get(toolCallId);
  const Body = Object.hasOwn(CARDS, name) ? CARDS[name] : undefined;
  return (
    <section className={styles.card} aria-label={words.title} data-testid="tool-card" data-tool={name} data-state={words.state}>
      <ToolStatus name={name} words={words} args={args} result={text} progress={told} quiet={Body !== undefined} />
      {words.state === "failed" && <p className={styles.fault}>{faultWords(text ?? "")}</p>}
      {words.state !== "failed" && Body !== undefined && <Body state={words.state} args={args} result={text} progress={told} />}
    </section>
  );
}
