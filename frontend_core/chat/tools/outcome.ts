/**
 * What became of a tool call: read from its result's metadata, and put there for the page's own tools. Pure.
 *
 * It never looks at a result's text: that is for the model, and a tool may return any text.
 */

import type { ToolMessage } from "@ag-ui/core";
import { ERROR_CODES, OUTCOME, OUTCOME_CODE, OUTCOME_CODES, TOOL_OUTCOMES, type CallOutcome, type ToolOutcome } from "../../contract";
import { isFields, textIn } from "./results";

/** A call that has no outcome yet is running. */
export type ToolState = "running" | ToolOutcome;

export const DONE: CallOutcome = { outcome: "done", code: null, message: "" };
/** Of a call whose run is over and that has no result: nobody knows. */
export const UNANSWERED: CallOutcome = { outcome: "unknown", code: null, message: "" };

/** What the result says. One that says nothing is done, or has failed where it carries AG-UI's `error`. */
export function outcomeOf(result: ToolMessage): CallOutcome {
  const told: unknown = result.metadata?.[OUTCOME];
  if (isFields(told)) {
    return {
      // A word of a newer server is not taken for a success.
      outcome: TOOL_OUTCOMES.find((one) => one === told.outcome) ?? "unknown",
      code: [...OUTCOME_CODES, ...ERROR_CODES].find((one) => one === told.code) ?? null,
      message: textIn(told, "message"),
    };
  }
  return result.error === undefined ? DONE : failed(result.error);
}

export function failed(message: string): CallOutcome {
  return { outcome: "failed", code: OUTCOME_CODE.TOOL_ERROR, message };
}

/** The result with an outcome, for the screen and for the server. */
export function withOutcome(result: ToolMessage, outcome: CallOutcome): ToolMessage {
  return { ...result, metadata: { ...result.metadata, [OUTCOME]: outcome } };
}

export function sameOutcome(a: CallOutcome | undefined, b: CallOutcome | undefined): boolean {
  return a?.outcome === b?.outcome && a?.code === b?.code && a?.message === b?.message;
}
