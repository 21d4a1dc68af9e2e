/** What could be asked next, by rules: from the tools that the last answer used and what they returned. Pure. */

import type { Row, ToolRow } from "../chat/session/rows";
import { readCitations } from "./citations/citations";
import { readObject, textIn } from "../chat/tools/results";
import { readSources } from "./sources/sources";

const MOST = 3;
const SHORTEST_WORD = 5;

/** At most three prompts for the conversation as it stands; none while there is no whole answer. */
export function suggestionsFor(rows: readonly Row[]): readonly string[] {
  const from = rows.findLastIndex(({ kind }) => kind === "user");
  const answer = rows.slice(from + 1).filter((row) => row.kind === "assistant");
  const last = answer.at(-1);
  if (from === -1 || last === undefined || last.stopped || last.streaming || last.text === "") return [];
  const asked = rows[from]?.text.trim().toLowerCase();
  const tools = answer.flatMap((row) => row.tools);
  const offered = tools.toReversed().flatMap(afterTool);
  const general = ["Which documents are there?", "Show the cockpit"];
  return [...new Set([...offered, ...general])].filter((prompt) => prompt.toLowerCase() !== asked).slice(0, MOST);
}

function afterTool({ call, result, outcome }: ToolRow): readonly string[] {
  const text = result?.content;
  if (typeof text !== "string" || outcome?.outcome !== "done") return [];
  switch (call.function.name) {
    case "search_knowledge":
      return afterSearch(text);
    case "list_sources": {
      const word = tellingWord(readSources(text)?.sources.map(({ name }) => name) ?? []);
      return [...(word === undefined ? [] : [`Filter the table to ${word}`]), "What am I looking at?", "Show the cockpit"];
    }
    case "filter_sources":
      return ["Clear the filter", "What am I looking at?"];
    case "select_sources":
      return ["What am I looking at?", "Search everywhere"];
    case "ingest_source": {
      const name = textIn(readObject(text) ?? {}, "name");
      return name === "" ? [] : [`What does “${name}” say?`, "Which documents are there?"];
    }
    default:
      return [];
  }
}

function afterSearch(text: string): readonly string[] {
  const found = readCitations(text);
  if (found === undefined) return [];
  const everywhere = found.limitedTo > 0 ? ["Search everywhere"] : [];
  const best = found.found[0];
  if (best === undefined) return [...everywhere, "Which documents are there?"];
  return ["Tell me more", ...everywhere, ...(found.limitedTo > 0 ? [] : [`Search only in ${best.name}`]), `Which sources mention ${found.query.split(" ").slice(-2).join(" ")}?`];
}

/** A word that stands in some names and not in all: a filter that does something. */
function tellingWord(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) {
    for (const word of new Set(name.toLowerCase().match(/\p{L}+/gu))) if (word.length >= SHORTEST_WORD) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const fitting = [...counts].filter(([, count]) => count > 1 && count < names.length);
  return fitting.toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b))[0]?.[0];
}
