/**
 * By which of CopilotKit's two ways this tab gets its approvals: as calls of the page's card tool, or as interrupts.
 *
 * The page offers the card tool, unless its address says `?approvals=interrupt`; the tab remembers that until the
 * address says `?approvals=card`. The server works with either, also in turns within one conversation.
 */

export type Channel = "card" | "interrupt";

const PARAM = "approvals";
const KEY = "middle-core.approvals";

export function channelOf(search: string, memory: Pick<Storage, "getItem" | "setItem">): Channel {
  const asked = new URLSearchParams(search).get(PARAM);
  if (asked === "card" || asked === "interrupt") memory.setItem(KEY, asked);
  return memory.getItem(KEY) === "interrupt" ? "interrupt" : "card";
}
