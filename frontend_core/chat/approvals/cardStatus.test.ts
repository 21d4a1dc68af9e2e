import { describe, expect, it } from "vitest";
import { INTERRUPT_STATUSES, type InterruptStatus } from "../../contract";
import { readCard, type Card } from "./approval";
import { lookOf, timeLeft, wordsOf, type Look } from "./cardStatus";

function card(answerBy: number | null): Card {
  const read = readCard({ interruptId: "i", title: "t", answerBy });
  if (read === undefined) throw new Error("unreachable");
  return read;
}

const verdict = (status: InterruptStatus, ok?: boolean, message = "") => ({ status, ok, message });

describe("lookOf", () => {
  it("has one look for each status", () => {
    const looks = INTERRUPT_STATUSES.map((status): [InterruptStatus, Look] => [status, lookOf({ card: card(null), verdict: verdict(status), sent: false, now: 0 })]);
    expect(Object.fromEntries(looks)).toEqual({
      pending: "pending",
      answered: "approved",
      approved: "approved",
      edited: "approved",
      executing: "approved",
      executed: "executed",
      rejected: "rejected",
      withdrawn: "withdrawn",
      expired: "expired",
      indeterminate: "indeterminate",
    });
  });

  it("never says of what was begun before that nothing was done", () => {
    const again: Card = { ...card(5), state: "unknown" };
    for (const status of ["rejected", "withdrawn", "expired"] as const) {
      expect(lookOf({ card: again, verdict: verdict(status), sent: false, now: 0 })).toBe("indeterminate");
    }
    expect(lookOf({ card: again, verdict: undefined, sent: false, now: 9 })).toBe("indeterminate");
    expect(lookOf({ card: again, verdict: verdict("executed"), sent: false, now: 0 })).toBe("executed");
  });

  it("tells what was refused from what was done", () => {
    expect(lookOf({ card: card(null), verdict: verdict("executed", false), sent: false, now: 0 })).toBe("failed");
  });

  it("is over when the time is, but not while an answer is under way", () => {
    expect(lookOf({ card: card(5), verdict: undefined, sent: false, now: 4 })).toBe("pending");
    expect(lookOf({ card: card(5), verdict: undefined, sent: false, now: 5 })).toBe("expired");
    expect(lookOf({ card: card(5), verdict: undefined, sent: true, now: 5 })).toBe("sending");
    expect(lookOf({ card: card(5), verdict: verdict("executed"), sent: false, now: 9 })).toBe("executed");
  });
});

it("uses the server's words where something went wrong, and never shows data", () => {
  expect(wordsOf("failed", verdict("executed", false, "The source is in use."))).toBe("The source is in use.");
  expect(wordsOf("executed", verdict("executed", true, '{"deleted":true}'))).toBe("Approved and done.");
  expect(wordsOf("withdrawn", verdict("withdrawn", false, "The user group is gone."))).toBe("The user group is gone.");
  expect(wordsOf("rejected", verdict("rejected", false, "permission denied: admin role required"))).toBe("permission denied: admin role required");
  expect(wordsOf("rejected", verdict("rejected"))).toBe("Cancelled. Nothing was done.");
});

it.each([
  [undefined, ""],
  [-5_000, "0:00 left"],
  [41_200, "0:42 left"],
  [120_000, "2:00 left"],
  [121_000, "2 min left"],
  [899_000, "15 min left"],
  [7_200_000, "2 h left"],
])("says how much time is left: %s ms -> %j", (ms, words) => {
  expect(timeLeft(ms === undefined ? undefined : 1_000 + ms, 1_000)).toBe(words);
});
