/** An answer to a card, by either channel: what it adds to the agent's next request, and how to take it back. Pure but for the agent. */

import type { HttpAgent, ResumeEntry } from "@ag-ui/client";
import type { Channel } from "./channel";

export interface Given {
  /** Put the answer in; what the request carries as `resume`. */
  readonly give: (agent: HttpAgent) => ResumeEntry[] | undefined;
  /** The request was refused: as if it had never been given. */
  readonly undo: (agent: HttpAgent) => void;
}

export function answerOf(channel: Channel, interruptId: string, payload: unknown): Given {
  if (channel === "card") {
    const id = `${interruptId}-answer`; // The id that the server gives it, too: one answer, one message.
    return {
      give: (agent) => {
        agent.addMessage({ id, role: "tool", toolCallId: interruptId, content: JSON.stringify(payload) });
        return undefined;
      },
      undo: (agent) => {
        agent.setMessages(agent.messages.filter((message) => message.id !== id));
      },
    };
  }
  let others: HttpAgent["pendingInterrupts"] = [];
  return {
    give: (agent) => {
      // The client sends nothing before all open ones are answered; the server takes them one by one and tells of the rest.
      others = agent.pendingInterrupts;
      agent.pendingInterrupts = others.filter(({ id }) => id === interruptId);
      return [{ interruptId, status: "resolved", payload }];
    },
    undo: (agent) => {
      agent.pendingInterrupts = others;
    },
  };
}
