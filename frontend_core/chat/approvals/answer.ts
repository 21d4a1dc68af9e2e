/** An answer to an open question, by either channel: what it adds to the agent's next request, and how to take it back. Pure but for the agent. */

import type { HttpAgent, ResumeEntry } from "@ag-ui/client";

export interface Given {
  /** Put the answer in; what the request carries as `resume`. */
  readonly give: (agent: HttpAgent) => ResumeEntry[] | undefined;
  /** The request was refused: as if it had never been given. */
  readonly undo: (agent: HttpAgent) => void;
}

/** The answer to a call of the card tool. */
export function byCard(interruptId: string, payload: unknown): Given {
  const id = `${interruptId}-answer`; // The id that the server gives it, too: one answer, one message.
  let others: HttpAgent["pendingInterrupts"] = [];
  return {
    give: (agent) => {
      // With an open interrupt beside it the client would send nothing; the server tells of it again at the run's end.
      others = agent.pendingInterrupts;
      agent.pendingInterrupts = [];
      agent.addMessage({ id, role: "tool", toolCallId: interruptId, content: JSON.stringify(payload) });
      return undefined;
    },
    undo: (agent) => {
      agent.pendingInterrupts = others;
      agent.setMessages(agent.messages.filter((message) => message.id !== id));
    },
  };
}

/** The answer to an interrupt: its payload, or that there is none. */
export function byInterrupt(interruptId: string, answer: { readonly payload: unknown } | "cancelled"): Given {
  let others: HttpAgent["pendingInterrupts"] = [];
  return {
    give: (agent) => {
      // The client sends nothing before all open ones are answered; the server takes them one by one and tells of the rest.
      others = agent.pendingInterrupts;
      agent.pendingInterrupts = others.filter(({ id }) => id === interruptId);
      return [answer === "cancelled" ? { interruptId, status: "cancelled" } : { interruptId, status: "resolved", payload: answer.payload }];
    },
    undo: (agent) => {
      agent.pendingInterrupts = others;
    },
  };
}
