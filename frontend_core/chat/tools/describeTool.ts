/**
 * A tool call in words: what is being done, what came of it. Pure; knows the copilot's tools by name and every other
 * tool by nothing but its name.
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

/** A title for each state; `failed` and `stopped` share the one of the attempt. */
interface Wording {
  readonly doing: (args: ToolCallFacts["args"]) => string;
  readonly did: (args: ToolCallFacts["args"]) => string;
  readonly outcome?: (result: Readonly<Record<string, unknown>>) => string;
}

const WORDINGS: Readonly<Record<string, Wording>> = {
  search_knowledge: {
    doing: ({ query }) => `Searching the knowledge base${quoted(query)}`,
    did: ({ query }) => `Searched the knowledge base${quoted(query)}`,
    outcome: ({ passages }) => counted(passages, "passage", "nothing found"),
  },
  list_sources: {
    doing: () => "Looking up the sources",
    did: () => "Looked up the sources",
    outcome: ({ total, sources }) => counted(typeof total === "number" ? total : sources, "source", "none"),
  },
  get_stats: {
    doing: () => "Reading the statistics",
    did: () => "Read the statistics",
  },
  cockpit_metrics: {
    doing: () => "Reading the cockpit",
    did: () => "Read the cockpit",
  },
  ingest_source: {
    doing: ({ title }) => `Adding a source${named(title)}`,
    did: ({ title }) => `Added a source${named(title)}`,
    outcome: ({ status }) => (status === "running" ? "still being added" : ""),
  },
  select_sources: {
    doing: () => "Changing the selection of sources",
    did: () => "Changed the selection of sources",
    outcome: ({ selected }) => counted(selected, "source", "all sources"),
  },
  filter_sources: {
    doing: ({ text }) => `Filtering the table of sources${quoted(text)}`,
    did: ({ text }) => (text === "" ? "Cleared the filter of the table of sources" : `Filtered the table of sources${quoted(text)}`),
    outcome: ({ shown, total }) => (typeof shown === "number" && typeof total === "number" ? `${shown} of ${total}` : ""),
  },
  delete_source: {
    doing: ({ name }) => `Deleting a source${named(name)}`,
    did: ({ name }) => `Deleted a source${named(name)}`,
  },
};

export function describeTool({ name, args, result, running }: ToolCallFacts): ToolWords {
  const wording = WORDINGS[name] ?? generic(name);
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

function generic(name: string): Wording {
  const words = name.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return { doing: () => `Using ${words}`, did: () => `Used ${words}` };
}

function quoted(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` for “${short(value)}”` : "";
}

function named(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` “${short(value)}”` : "";
}

function short(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function counted(value: unknown, noun: string, none: string): string {
  const count = Array.isArray(value) ? value.length : value;
  if (typeof count !== "number") return "";
  if (count === 0) return none;
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
