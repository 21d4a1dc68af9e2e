/**
 * CopilotKit's core for everything below: agents, tools, readables, approvals.
 *
 * CopilotKit's own provider does the same and brings its whole set of components with it (400 kB of script,
 * compressed). This page has its own, so it takes the core and the headless hooks, through the entries that
 * CopilotKit publishes for that. Nothing of a team's code changes: `useFrontendTool`, `useHumanInTheLoop`,
 * `useInterrupt`, `useAgentContext`, `useRenderTool` and `useAgent` from `@copilotkit/react-core/v2/headless` work here.
 */

import { CopilotKitContext, CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { useEffect, useMemo, useState, type ReactNode } from "react";

import { upload } from "./session/messageFilter";
import { PageOutcomes } from "./tools/pageOutcomes";
import { PageOutcomesContext } from "./tools/usePageTool";

const RUNTIME_URL = "/api/copilotkit";

interface CopilotProviderProps {
  readonly headers: Record<string, string>;
  readonly children: ReactNode;
}

export function CopilotProvider({ headers, children }: CopilotProviderProps) {
  const [outcomes] = useState(() => new PageOutcomes());
  const [copilotkit] = useState(
    () =>
      new CopilotKitCoreReact({
        runtimeUrl: RUNTIME_URL,
        runtimeTransport: "rest",
        deferInitialConnection: true,
        headers,
        messageFilter: upload,
      }),
  );
  const [executing, setExecuting] = useState<ReadonlySet<string>>(() => new Set());

  useEffect(() => {
    const subscription = copilotkit.subscribe({
      // A session sees each failure of its thread itself, and shows it there.
      onToolExecutionStart: ({ toolCallId }) => {
        setExecuting((before) => new Set(before).add(toolCallId));
      },
      onToolExecutionEnd: ({ toolCallId }) => {
        setExecuting((before) => new Set([...before].filter((id) => id !== toolCallId)));
      },
    });
    return () => {
      subscription.unsubscribe();
    };
  }, [copilotkit]);

  useEffect(() => outcomes.follow(copilotkit), [outcomes, copilotkit]);

  useEffect(() => {
    copilotkit.setHeaders(headers);
    copilotkit.connect();
  }, [copilotkit, headers]);

  const value = useMemo(() => ({ copilotkit, executingToolCallIds: executing }), [copilotkit, executing]);
  return (
    <CopilotKitContext value={value}>
      <PageOutcomesContext value={outcomes}>{children}</PageOutcomesContext>
    </CopilotKitContext>
  );
}
