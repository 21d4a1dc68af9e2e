/** The copilot's tool calls in words: what is being done, what was done, what came of it. Pure. */

import type { ToolWording } from "../chat/tools/describeTool";

export const WORDINGS = {
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
} as const satisfies Readonly<Record<string, ToolWording>>;

function quoted(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` for “${short(value)}”` : "";
}

function named(value: unknown): string {
  return typeof value === "string" && value !== "" ? ` “${short(value)}”` : "";
}

function short(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** `value` is a number or a list. "" where it is neither. */
function counted(value: unknown, noun: string, none: string): string {
  const count = Array.isArray(value) ? value.length : value;
  if (typeof count !== "number") return "";
  if (count === 0) return none;
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
