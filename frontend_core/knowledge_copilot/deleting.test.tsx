/** A deletion on the screen, from the server's messages to the words: only one that is done reads as done. */

import type { Message } from "@ag-ui/core";
import { CopilotKitContext, CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { CopilotChatConfigurationProvider } from "@copilotkit/react-core/v2/headless";
import { cleanup, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import { AssistantMessage } from "../chat/messages/AssistantMessage";
import { RegistryProvider } from "../chat/registry";
import { buildRows } from "../chat/session/rows";
import { RunStateContext, useToolRenderer } from "../chat/tools/ToolCard";
import { KNOWLEDGE_COPILOT } from "./registry";

afterEach(cleanup);

const CALL: Message = {
  id: "a",
  role: "assistant",
  toolCalls: [{ id: "c", type: "function", function: { name: "delete_source", arguments: '{"name":"Otters"}' } }],
};

/** The call's result as a snapshot has it. content: for the model; the page must not read it. */
const result = (outcome: string, code: string | null, message: string, content = '{"deleted":true}'): Message => ({
  id: "r",
  role: "tool",
  toolCallId: "c",
  content,
  metadata: { middleCoreOutcome: { outcome, code, message } },
});

function Conversation({ messages, running }: { readonly messages: readonly Message[]; readonly running: boolean }) {
  useToolRenderer();
  return (
    <RunStateContext value={{ running, progress: new Map() }}>
      {buildRows({ messages, running, stopped: new Set() }).map((row) => row.kind === "assistant" && <AssistantMessage key={row.id} row={row} onGoOn={undefined} />)}
    </RunStateContext>
  );
}

function Page(props: Parameters<typeof Conversation>[0]) {
  const [copilotkit] = useState(() => new CopilotKitCoreReact({ runtimeUrl: "/", deferInitialConnection: true }));
  return (
    <CopilotKitContext value={{ copilotkit, executingToolCallIds: new Set() }}>
      <CopilotChatConfigurationProvider agentId="default" threadId="t">
        <RegistryProvider registry={KNOWLEDGE_COPILOT}>
          <Conversation {...props} />
        </RegistryProvider>
      </CopilotChatConfigurationProvider>
    </CopilotKitContext>
  );
}

const show = (messages: readonly Message[], running = false): HTMLElement => {
  render(<Page messages={messages} running={running} />);
  return screen.getByTestId("tool-card");
};

it.each([
  ["refused", "forbidden", "Deleting needs the role admin.", "refused"],
  ["not_run", "length", "The answer was cut off at its length limit.", "cut off, not carried out"],
  ["not_run", "unknown_tool", "There is no tool with this name.", "no such tool"],
  ["not_run", "unanswered", "This was not carried out: the conversation went on without it.", "not carried out"],
  ["cancelled", "stopped", "Stopped before it was done.", "cancelled"],
  ["unknown", "stopped", "Stopped while it ran. It may have been carried out: check before repeating it.", "may have been carried out"],
  ["failed", "tool_error", "The source is in use.", "failed"],
])("says of a deletion that is %s (%s) what became of it", (outcome, code, message, line) => {
  const card = show([CALL, result(outcome, code, message)]);
  expect(card.dataset.state).toBe(outcome);
  expect(card.textContent).toContain(`Deleting a source “Otters” · ${line}`);
  expect(card.textContent).toContain(message);
  expect(card.textContent).not.toContain("Deleted");
});

it.each([["Error: that is the name of the source"], ["This call was not completed"], ['{"error":"none"}'], ['{"deleted":true}']])(
  "says that it is deleted where it is, whatever the tool returned: %s",
  (content) => {
    const card = show([CALL, result("done", null, "", content)]);
    expect(card.dataset.state).toBe("done");
    expect(card.textContent).toContain("Deleted a source “Otters”");
  },
);

it("says that it runs while it does", () => {
  const card = show([CALL], true);
  expect(card.dataset.state).toBe("running");
  expect(card.textContent).toContain("Deleting a source “Otters”");
});

it("claims nothing of a call whose run is over without a result", () => {
  const card = show([CALL]);
  expect(card.dataset.state).toBe("unknown");
  expect(card.textContent).toContain("check before repeating it");
});
