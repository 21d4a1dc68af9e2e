/** What a screen reader is told: that an answer has begun, and the whole answer when it is there. Never word by word. Pure. */

import type { SessionView } from "./viewModel";

/** A longer answer is announced by its beginning; the whole of it stands in the conversation. */
const LONGEST = 600;

export function announcementOf({ phase, rows, stoppedEmpty }: Pick<SessionView, "phase" | "rows" | "stoppedEmpty">): string {
  if (phase === "loading") return "";
  if (phase === "reconnecting") return "Reconnecting";
  if (phase === "running") return "Answering";
  const last = rows.findLast((row) => row.kind !== "reasoning");
  if (stoppedEmpty) return "Stopped";
  if (last?.kind !== "assistant" || last.text === "") return "";
  const plain = spoken(last.text);
  const text = plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
  return last.stopped ? `Stopped. ${text}` : `Answer: ${text}`;
}

/** Markdown without the marks that a voice would read aloud. */
function spoken(text: string): string {
  return text
    .replaceAll(/^\s*(?:#{1,6}|>|[-*+])\s+/gm, "")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[*_`~]{1,3}/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
