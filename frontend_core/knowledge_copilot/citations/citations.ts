/** What a search of the knowledge base found, as citations. Pure. */

import { fieldsIn, numberIn, readObject, textIn, textsIn, type Fields } from "../../chat/tools/results";

export interface Citation {
  /** The source's name, and the section within it ("" where there is none). */
  readonly name: string;
  readonly section: string;
  readonly location: string;
  /** 0..1; comparable within one search. */
  readonly score: number | undefined;
  readonly text: string;
}

export interface Citations {
  readonly query: string;
  /** How many sources the search was limited to; 0: all. */
  readonly limitedTo: number;
  readonly found: readonly Citation[];
}

/** The result of `search_knowledge`, or undefined when it is something else. */
export function readCitations(result: string | undefined): Citations | undefined {
  const data = readObject(result);
  if (data === undefined || !Array.isArray(data.passages)) return undefined;
  const found = fieldsIn(data, "passages").filter((one) => typeof one.text === "string");
  return { query: textIn(data, "query"), limitedTo: textsIn(data, "limited_to").length, found: found.map(readCitation) };
}

function readCitation(fields: Fields): Citation {
  const title = textIn(fields, "title");
  const [name = "", ...rest] = title.split(" › ");
  const score = numberIn(fields, "score");
  return {
    name: name === "" ? "Untitled" : name,
    section: rest.join(" › "),
    location: textIn(fields, "location"),
    score: score === undefined ? undefined : Math.min(1, Math.max(0, score)),
    text: textIn(fields, "text"),
  };
}

/** The sources that were found, best first, with how many passages each. */
export function sourcesOf(found: readonly Citation[]): readonly { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const { name } of found) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => ({ name, count }));
}
