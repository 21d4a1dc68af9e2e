/** The sources of the knowledge base as a table: read, filtered, sorted. Pure. */

import { fieldsIn, numberIn, readObject, textIn } from "../../chat/tools/results";

export interface Source {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly passages: number;
  /** ISO date, or "". */
  readonly added: string;
}

export interface SourceList {
  /** How many there are; the list may be shorter. */
  readonly total: number;
  readonly sources: readonly Source[];
}

export type Column = "name" | "kind" | "passages" | "added";

export interface Sorting {
  readonly by: Column;
  readonly descending: boolean;
}

/** The result of `list_sources`, or undefined when it is something else. */
export function readSources(result: string | undefined): SourceList | undefined {
  const data = readObject(result);
  if (data === undefined || !Array.isArray(data.sources)) return undefined;
  const sources = fieldsIn(data, "sources").flatMap((one): Source[] => {
    const name = textIn(one, "name");
    if (name === "") return [];
    // Without an id (an older answer) a source can be looked at, and not selected.
    return [{ id: textIn(one, "id"), name, kind: textIn(one, "kind"), passages: numberIn(one, "passages") ?? 0, added: textIn(one, "added") }];
  });
  return { total: numberIn(data, "total") ?? sources.length, sources };
}

/** The sources whose name or kind holds every word of the text. */
export function filterSources(sources: readonly Source[], text: string): readonly Source[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return sources.filter(({ name, kind }) => {
    const hay = `${name} ${kind}`.toLowerCase();
    return words.every((word) => hay.includes(word));
  });
}

export function sortSources(sources: readonly Source[], { by, descending }: Sorting): readonly Source[] {
  const sign = descending ? -1 : 1;
  return sources.toSorted((a, b) => {
    const order = by === "passages" ? a.passages - b.passages : compare(a[by], b[by]);
    return order === 0 ? compare(a.name, b.name) : sign * order;
  });
}

/** A click on a column: another one starts in its natural direction, the same one turns round. */
export function nextSorting(now: Sorting, by: Column): Sorting {
  if (now.by === by) return { by, descending: !now.descending };
  return { by, descending: by === "passages" || by === "added" };
}

function compare(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true, sensitivity: "base" });
}
