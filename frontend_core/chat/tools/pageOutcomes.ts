/**
 * What became of the page's own tool calls, until the server's messages say it.
 *
 * CopilotKit answers a call whose handler threw, or whose arguments were no JSON, with the text "Error: …" and nothing else. Its
 * `onToolExecutionStart` and `onToolExecutionEnd` tell more, so what they say is kept here and put on the call's result: on the way to
 * the screen, and on the way to the server, which keeps it. A call that is not noted here is not touched.
 */

import type { Message } from "@ag-ui/core";
import type { CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { OUTCOME, OUTCOME_CODE, TOOL_OUTCOME, type CallOutcome } from "../../contract";
import { failed, withOutcome } from "./outcome";

const NOT_BEGUN: CallOutcome = { outcome: TOOL_OUTCOME.NOT_RUN, code: OUTCOME_CODE.INVALID_ARGUMENTS, message: "The assistant’s arguments were not valid, so nothing was run." };

export class PageOutcomes {
  readonly #outcomes = new Map<string, CallOutcome>();

  /** Follow the tools that `core` runs; the result ends it. */
  follow(core: Pick<CopilotKitCoreReact, "subscribe">): () => void {
    const begun = new Set<string>();
    const subscription = core.subscribe({
      onToolExecutionStart: ({ toolCallId, args }) => {
        // Told also of a call whose arguments could not be parsed, and then without arguments: its handler is never called.
        if (args !== undefined) begun.add(toolCallId);
      },
      onToolExecutionEnd: ({ toolCallId, error }) => {
        if (error !== undefined) this.note(toolCallId, begun.has(toolCallId) ? failed(error) : NOT_BEGUN);
        begun.delete(toolCallId);
      },
    });
    return () => {
      subscription.unsubscribe();
    };
  }

  /** The call did not do what it was asked for. */
  note(toolCallId: string, outcome: CallOutcome): void {
    this.#outcomes.set(toolCallId, outcome);
  }

  /** The messages with what is known here; the same list where that is nothing. */
  readonly told = (messages: readonly Message[]): readonly Message[] => {
    if (this.#outcomes.size === 0) return messages;
    return messages.map((message) => {
      if (message.role !== "tool" || message.metadata?.[OUTCOME] !== undefined) return message;
      const outcome = this.#outcomes.get(message.toolCallId);
      return outcome === undefined ? message : withOutcome(message, outcome);
    });
  };
}
