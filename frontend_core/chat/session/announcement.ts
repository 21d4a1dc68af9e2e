/** What a screen reader is told: that an answer has begun, and the whole answer when it is there. Never word by word. Pure. */

import type { SessionView } from "./threadSession";

/** A longer answer is announced by its beginning; the whole of it stands in the conversation. */
const LONGEST = 600;

export function announcementOf({ phase, rows, stoppedEmpty }: Pick<SessionView, "phase" | "rows" | "stoppedEmpty">): string {
  if (phase === "loading") return "";
  if (phase === "reconnecting") return "Reconnecting";
  if (phase === "running") return "Answering";
  const last = rows.findLast((row) => row.kind !== "reasoning");
  if (stoppedEmpty) return "Stopped";
  if (last?.kind !== "assistant" || last.text === "") return "";
  const text = last.text.length > LONGEST ? `${last.text.slice(0, LONGEST)}…` : last.text;
  return last.stopped ? `Stopped. ${text}` : `Answer: ${text}`;
}
