import { expect, it } from "vitest";
import type { ToolMessage } from "@ag-ui/core";
import { DONE, outcomeOf } from "./outcome";

const result = (more: Partial<ToolMessage>): ToolMessage => ({ id: "t", role: "tool", toolCallId: "c", content: "Error: words for the model", ...more });

it("reads an outcome from the metadata alone", () => {
  const middleCoreOutcome = { outcome: "not_run", code: "unknown_tool", message: "There is no such tool." };
  expect(outcomeOf(result({ metadata: { middleCoreOutcome } }))).toEqual(middleCoreOutcome);
  expect(outcomeOf(result({}))).toEqual(DONE);
  expect(outcomeOf(result({ error: "Away." })), "a client that says it in AG-UI's own field").toEqual({ outcome: "failed", code: "tool_error", message: "Away." });
});

it("takes no word that it does not know for a success", () => {
  const middleCoreOutcome = { outcome: "postponed", code: "of_tomorrow", message: 7 };
  expect(outcomeOf(result({ metadata: { middleCoreOutcome } }))).toEqual({ outcome: "unknown", code: null, message: "" });
});
