/**
 * What of a conversation goes up with a run: the server's thread is the truth, so only what it may lack.
 *
 * From the last answer on: what was said since (a message that could not be sent yet included), results of the page's tools,
 * and one message that the server knows, by which it sees where the new ones belong.
 */

import type { Message } from "@ag-ui/client";

/** More than this is never new. */
const MOST = 20;

export function upload(messages: readonly Message[]): Message[] {
  const answer = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(Math.max(answer, messages.length - MOST, 0));
}
