/**
 * A tool call in words: what is being done, what came of it. Pure.
 *
 * It knows no tool. The product registers a wording for those that it knows; every other tool is described by its name.
 */

import { readObject } from "./results";

export type ToolState = "running" | "done" | "failed" | "stopped";

export interface ToolCallFacts {
  readonly name: string;
  /** As far as it has been streamed; unknown fields are left alone. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: string | undefined;
  /** Whether the run that made the call still goes on. */
  readonly running: boolean;
}

export interface ToolWords {
  readonly state: ToolState;
  readonly title: string;
  /** What came of it, in a few words; "" while there is nothing to say. */
  readonly outcome: string;
}

/** The words for the calls of one tool. The arguments and the result come as they are: check each field's type. */
export interface ToolWording {
  /** The title while the call runs, and after it failed or was stopped. */
  readonly doing: (args: ToolCallFacts["args"]) => string;
  /** The title of a call that is done. */
  readonly did: (args: ToolCallFacts["args"]) => string;
  /** What came of it, from the result's fields; "" for nothing to say. */
  readonly outcome?: (result: Readonly<Record<string, unknown>>) => string;
}

export function describeTool({ name, args, result, running }: ToolCallFacts, wording: ToolWording = wordingFromName(name)): ToolWords {
  if (result === undefined) {
    return running
      ? { state: "running", title: wording.doing(args), outcome: "" }
      : { state: "stopped", title: wording.doing(args), outcome: "stopped" };
  }
  if (isCancelled(result)) return { state: "stopped", title: wording.doing(args), outcome: "stopped" };
  if (isFault(name, result)) return { state: "failed", title: wording.doing(args), outcome: "failed" };
  const data = readObject(result);
  if (typeof data?.error === "string") return { state: "failed", title: wording.doing(args), outcome: "failed" };
  return { state: "done", title: wording.did(args), outcome: data && wording.outcome ? wording.outcome(data) : "" };
}

/** The arguments or a result for reading: JSON laid out, everything else as it is. */
export function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // Not (yet) JSON: shown as it came.
  }
}

/** middle-core answers a call that could not run with a sentence that names the tool. */
function isFault(name: string, result: string): boolean {
  return result.startsWith(`The tool ${name} `) || result.startsWith(`The arguments of ${name} `) || result.startsWith("Error:");
}

/** Why a call failed, for a person: without the words that are for the model. */
export function faultWords(result: string): string {
  const error = readObject(result)?.error;
  return typeof error === "string" ? error : result.replace(/^The tool \w+ could not do this\. /, "");
}

/** What middle-core answers in place of a tool that was stopped. Only its own words count: a document may speak of stops too. */
function isCancelled(result: string): boolean {
  return result.startsWith("This call was not completed");
}

function wordingFromName(name: string): ToolWording {
  const words = name.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return { doing: () => `Using ${words}`, did: () => `Used ${words}` };
}
