/**
 * A tool call in words: what is being done, what came of it. Pure.
 *
 * It knows no tool. The product registers a wording for those that it knows; every other tool is described by its name.
 */

import type { CallOutcome } from "../../contract";
import type { ToolState } from "./outcome";
import { isNotDone, lineOf, sentenceOf } from "./outcomeWords";
import { readObject } from "./results";

export interface ToolCallFacts {
  readonly name: string;
  /** As far as it has been streamed; unknown fields are left alone. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: string | undefined;
  /** Undefined while the call runs. */
  readonly outcome: CallOutcome | undefined;
}

export interface ToolWords {
  readonly state: ToolState;
  readonly title: string;
  /** What came of it, in a few words; "" while there is nothing to say. */
  readonly outcome: string;
  /** Why it is not done, in a sentence; "" while it runs and where it is done. */
  readonly reason: string;
}

/** The words for the calls of one tool. The arguments and the result come as they are: check each field's type. */
export interface ToolWording {
  /** The title while the call runs, and of a call that is not done. */
  readonly doing: (args: ToolCallFacts["args"]) => string;
  /** The title of a call that is done. */
  readonly did: (args: ToolCallFacts["args"]) => string;
  /** What came of it, from the result's fields; "" for nothing to say. */
  readonly outcome?: (result: Readonly<Record<string, unknown>>) => string;
}

export function describeTool({ name, args, result, outcome }: ToolCallFacts, wording: ToolWording = wordingFromName(name)): ToolWords {
  if (outcome === undefined) return { state: "running", title: wording.doing(args), outcome: "", reason: "" };
  if (isNotDone(outcome)) return { state: outcome.outcome, title: wording.doing(args), outcome: lineOf(outcome), reason: sentenceOf(outcome) };
  const data = readObject(result);
  return { state: "done", title: wording.did(args), outcome: data && wording.outcome ? wording.outcome(data) : "", reason: "" };
}

/** The arguments or a result for reading: JSON laid out, everything else as it is. */
export function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // Not (yet) JSON: shown as it came.
  }
}

function wordingFromName(name: string): ToolWording {
  const words = name.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return { doing: () => `Using ${words}`, did: () => `Used ${words}` };
}
