/** How a card looks at this moment, from all that is known of it. Pure. */

import type { InterruptStatus } from "../../contract";
import type { Card, Verdict } from "./approval";

/** sending: this page's answer is on its way. failed: it was approved and could not be done. */
export type Look = Exclude<InterruptStatus, "answered" | "edited" | "executing"> | "sending" | "failed";

export interface Known {
  readonly card: Card;
  readonly verdict: Verdict | undefined;
  /** This page has sent an answer and heard nothing yet. */
  readonly sent: boolean;
  readonly now: number;
}

export function lookOf(known: Known): Look {
  const look = plainLookOf(known);
  // Whether to try again was asked; what comes of that says nothing of the first try.
  const undone = look === "rejected" || look === "withdrawn" || look === "expired";
  return undone && known.card.state === "unknown" ? "indeterminate" : look;
}

function plainLookOf({ card, verdict, sent, now }: Known): Look {
  switch (verdict?.status) {
    case "approved":
    case "edited":
    case "executing":
    case "answered":
      return "approved";
    case "executed":
      return verdict.ok === false ? "failed" : "executed";
    case "rejected":
    case "withdrawn":
    case "expired":
    case "indeterminate":
      return verdict.status;
    case "pending":
    case undefined:
      if (sent) return "sending";
      return card.answerBy !== undefined && now >= card.answerBy ? "expired" : "pending";
  }
}

const WORDS: Readonly<Record<Exclude<Look, "pending">, string>> = {
  sending: "Sending your answer…",
  approved: "Approved. It is being done…",
  executed: "Approved and done.",
  failed: "Approved, but it could not be done.",
  rejected: "Cancelled. Nothing was done.",
  withdrawn: "Withdrawn. Nothing was done.",
  expired: "The time for this is over. Nothing was done.",
  indeterminate: "Approved and begun. Whether it took effect is unknown.",
};

/** What a closed card says. The server's words tell more where a thing went wrong; elsewhere ours are shorter. */
export function wordsOf(look: Exclude<Look, "pending">, verdict: Verdict | undefined): string {
  const told = verdict?.message ?? "";
  const tellsMore = look === "failed" || look === "rejected" || look === "withdrawn" || look === "indeterminate";
  return tellsMore && told !== "" ? told : WORDS[look];
}

/** "12 min left", "0:42 left"; "" where there is no limit. */
export function timeLeft(answerBy: number | undefined, now: number): string {
  if (answerBy === undefined) return "";
  const seconds = Math.max(0, Math.ceil((answerBy - now) / 1000));
  if (seconds >= 5_400) return `${Math.round(seconds / 3_600)} h left`;
  if (seconds > 120) return `${Math.round(seconds / 60)} min left`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
}
