/** Registers the status line for every tool that has no card of its own, and tells it how the run stands. */

import { useRenderTool } from "@copilotkit/react-core/v2/headless";
import { createContext, useContext } from "react";
import type { Progress } from "../session/progress";
import { ToolStatus } from "./ToolStatus";

export interface RunState {
  readonly running: boolean;
  readonly progress: ReadonlyMap<string, Progress>;
}

export const RunStateContext = createContext<RunState>({ running: false, progress: new Map() });

interface ToolProps {
  readonly name: string;
  readonly toolCallId: string;
  readonly parameters: unknown;
  readonly result: unknown;
}

export function useToolStatusRenderer(): void {
  useRenderTool({ name: "*", render: (props: ToolProps) => <ToolLine {...props} /> }, []);
}

function ToolLine({ name, toolCallId, parameters, result }: ToolProps) {
  const { running, progress } = useContext(RunStateContext);
  return (
    <ToolStatus
      name={name}
      args={typeof parameters === "object" && parameters !== null ? { ...parameters } : {}}
      result={result === undefined ? undefined : typeof result === "string" ? result : JSON.stringify(result)}
      running={running}
      progress={progress.get(toolCallId)}
    />
  );
}
