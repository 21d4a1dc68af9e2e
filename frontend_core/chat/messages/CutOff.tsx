/** Says under an answer that the model did not end it, and why; where it helps, offers to go on. */

import type { CutOffReason } from "../../contract";
import { Button } from "../ui/Button";
import styles from "./messages.module.css";

const WORDS: Readonly<Record<CutOffReason, string>> = {
  length: "Cut off at the length limit",
  context: "Cut off: this conversation is as long as the model can read. Start a new one",
  filtered: "Cut off by a filter of the model’s provider",
  paused: "The model paused before it was done",
  failed: "Broken off on the model’s side",
  empty: "The model ended without an answer",
};

/** Where another turn can bring the rest. */
const CONTINUABLE: ReadonlySet<CutOffReason> = new Set(["length", "paused", "failed"]);

/** What "Go on" sends. */
export const GO_ON = "Go on.";

export function CutOff({ reason, onGoOn }: { readonly reason: CutOffReason; readonly onGoOn: (() => void) | undefined }) {
  return (
    <span className={styles.cutOff} data-testid="cut-off" data-reason={reason}>
      {WORDS[reason]}
      {onGoOn !== undefined && CONTINUABLE.has(reason) && <Button onClick={onGoOn}>Go on</Button>}
    </span>
  );
}
