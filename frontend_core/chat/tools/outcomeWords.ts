/** The words for a call that is not done: a few for its line, and a sentence. Pure. A new outcome or code without words is a type error. */

import type { CallOutcome, ErrorCode, OutcomeCode, ToolOutcome } from "../../contract";
import { wordsOf } from "../errors/errorMessages";
import type { ToolState } from "./outcome";

type NotDone = Exclude<ToolOutcome, "done">;

export interface CallNotDone extends CallOutcome {
  readonly outcome: NotDone;
}

export function isNotDone(outcome: CallOutcome): outcome is CallNotDone {
  return outcome.outcome !== "done";
}

/** For a screen reader, before the title of the line. */
export const STATE_WORDS: Readonly<Record<ToolState, string>> = {
  running: "running",
  done: "done",
  failed: "failed",
  refused: "refused",
  not_run: "not carried out",
  cancelled: "cancelled",
  unknown: "unknown",
};

const LINES: Readonly<Record<NotDone, string>> = {
  failed: "failed",
  refused: "refused",
  not_run: "not carried out",
  cancelled: "cancelled",
  unknown: "may have been carried out",
};

/** Where the code tells more than the outcome does. */
const LINES_BY_CODE: Partial<Readonly<Record<OutcomeCode | ErrorCode, string>>> = {
  length: "cut off, not carried out",
  broken_off: "cut off, not carried out",
  unknown_tool: "no such tool",
};

const SENTENCES: Readonly<Record<NotDone, string>> = {
  failed: "This could not be done.",
  refused: "This was refused. Nothing was done.",
  not_run: "This was not carried out.",
  cancelled: "This was cancelled before it was done.",
  unknown: "This was stopped or cut off. It may have been carried out: check before repeating it.",
};

const SENTENCES_BY_CODE: Readonly<Record<OutcomeCode, string>> = {
  tool_error: "The tool could not do this.",
  rejected: "You said no. Nothing was done.",
  nobody_to_ask: "This needs a person’s approval, and nobody can be asked here.",
  length: "The model’s message was cut off at its length limit, so this was not carried out.",
  broken_off: "The model’s message was broken off, so this was not carried out.",
  too_many_calls: "The model asked for too many things at once, so this was not carried out.",
  unknown_tool: "There is no such tool.",
  invalid_arguments: "The assistant’s arguments were not valid, so nothing was run.",
  unanswered: "This was not carried out: the conversation went on without it.",
  withdrawn: "Withdrawn. Nothing was done.",
  expired: "The time for this is over. Nothing was done.",
  changed: "This is not what was approved. Nothing was done.",
  stopped: "You stopped this.",
  cut_off: "This was cut off.",
};

export function lineOf({ outcome, code }: CallNotDone): string {
  return (code === null ? undefined : LINES_BY_CODE[code]) ?? LINES[outcome];
}

/** Why, for a person: the server's own words where it sent some. */
export function sentenceOf({ outcome, code, message }: CallNotDone): string {
  if (message !== "") return message;
  // Of a call that may have taken effect, that is what matters, whatever cut it off.
  if (code === null || outcome === "unknown" || outcome === "cancelled") return SENTENCES[outcome];
  return isOutcomeCode(code) ? SENTENCES_BY_CODE[code] : wordsOf({ code }).text;
}

function isOutcomeCode(code: OutcomeCode | ErrorCode): code is OutcomeCode {
  return Object.hasOwn(SENTENCES_BY_CODE, code);
}
